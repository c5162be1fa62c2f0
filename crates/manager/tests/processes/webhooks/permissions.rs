//! Test that the operator needs each permission for its certificates.

use anyhow::Context as _;
use hyper::Method;
use k8s_openapi::ByteString;
use kbr_testing::eventually;
use serde_json::{Value, json};

use super::{
    site::{CRD, LOCAL, MUTATING, RBAC, SECRET, Site, VALIDATING},
    tests::{JSON, MERGE},
};
use crate::{replica::LONG, world::World};

/// How often, at most, to change an object that the replica lacks the permission to watch. A replica that checks it for
/// another reason repairs it, and on a busy machine does so several times in a row.
const ROUNDS: usize = 8;

/// Removes one permission after the other. Without it, certificates fail, or a corrupted object is not repaired. With
/// it again, everything is reconciled, and the replica was not restarted.
pub async fn each_permission_of_the_certificate_rotator_is_needed(
    world: &mut World,
) -> anyhow::Result<String> {
    let site = Site::new(world).await?;
    let role = "webhook-certificate-role";
    let roles = [
        format!("{RBAC}/clusterroles/guests-{role}"),
        format!("{LOCAL}/roles/guests-{role}"),
    ];
    let mut taken = 0;
    for path in &roles {
        let whole = site.get(path).await?["rules"].clone();
        let each = whole.as_array().context("rules")?;
        anyhow::ensure!(
            each.len() == if path.contains("cluster") { 3 } else { 1 },
            "{whole}"
        );
        for (at, rule) in each.iter().enumerate() {
            let verbs = rule["verbs"].as_array().context("verbs")?;
            for verb in verbs.iter().filter_map(Value::as_str) {
                let rest: Vec<_> = verbs.iter().filter(|it| *it != verb).collect();
                let mut without = whole.clone();
                without[at]["verbs"] = json!(rest);
                let right = Right {
                    role: path,
                    rule,
                    verb,
                };
                right
                    .is_needed(&site, &without, &whole)
                    .await
                    .with_context(|| format!("without `{verb}` on {}", rule["resources"]))?;
                taken += 1;
            }
        }
    }
    anyhow::ensure!(taken == 17, "{taken} rights");
    Ok(format!("{taken} rights, each of them needed"))
}

/// One verb of one rule.
struct Right<'a> {
    role: &'a str,
    rule: &'a Value,
    verb: &'a str,
}

impl Right<'_> {
    async fn is_needed(&self, site: &Site, without: &Value, whole: &Value) -> anyhow::Result<()> {
        forget(site).await?;
        self.grant(site, without, false).await?;
        let replica = site.spawn()?;
        let refused = || self.rejections(&replica.log());
        let again = async |before: usize| {
            eventually(LONG, "a replica is refused", async || {
                Ok((refused() > before).then_some(()))
            })
            .await
            .with_context(|| replica.log())
        };
        if ["list", "watch"].contains(&self.verb) {
            again(0).await?;
            healthy(site).await?;
            let mut spoilt = false;
            for _ in 0..ROUNDS {
                self.spoil(site).await?;
                again(refused()).await?;
                spoilt = !is_healthy(site).await?;
                if spoilt {
                    break;
                }
            }
            anyhow::ensure!(spoilt, "what is spoilt is mended");
        } else {
            again(1).await?;
            anyhow::ensure!(!is_healthy(site).await?, "all is trusted");
        }
        self.grant(site, whole, true).await?;
        healthy(site).await.with_context(|| replica.log())
    }

    /// How often the API server has reported that this permission is missing.
    fn rejections(&self, log: &str) -> usize {
        let verb = format!("cannot {} resource", self.verb);
        let resource = self.rule["resources"][0].as_str().unwrap_or_default();
        let rejections = log.lines().filter(|line| line.contains(&verb));
        rejections.filter(|line| line.contains(resource)).count()
    }

    /// Gives the role these rules, and waits until the API server applies them.
    async fn grant(&self, site: &Site, rules: &Value, allowed: bool) -> anyhow::Result<()> {
        site.call(Method::PATCH, self.role, MERGE, &json!({ "rules": rules }))
            .await?;
        let namespaced = self.rule["resources"][0] == "secrets";
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": "system:serviceaccount:guests-system:guests-controller-manager",
                "resourceAttributes": {
                    "group": self.rule["apiGroups"][0], "resource": self.rule["resources"][0],
                    "name": self.rule["resourceNames"][0], "verb": self.verb,
                    "namespace": if namespaced { "guests-system" } else { "" },
                },
            },
        });
        eventually(LONG, "the API server goes by a role", async || {
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            let answer = site.create(path, &review).await?;
            Ok((answer["status"]["allowed"] == allowed).then_some(()))
        })
        .await
    }

    /// Breaks the object of the rule: deletes the Secret, or removes the CA bundles of an object.
    async fn spoil(&self, site: &Site) -> anyhow::Result<()> {
        match self.rule["resources"][0].as_str() {
            Some("secrets") => {
                site.call(Method::DELETE, SECRET, JSON, &Value::Null)
                    .await?;
            }
            Some("mutatingwebhookconfigurations") => site.untrust(MUTATING).await?,
            Some("validatingwebhookconfigurations") => site.untrust(VALIDATING).await?,
            _ => site.untrust(CRD).await?,
        }
        Ok(())
    }
}

/// Removes all CA bundles and the Secret.
async fn forget(site: &Site) -> anyhow::Result<()> {
    // A Secret that does not exist is fine.
    let _ = site.call(Method::DELETE, SECRET, JSON, &Value::Null).await;
    for path in [MUTATING, VALIDATING, CRD] {
        site.untrust(path).await?;
    }
    Ok(())
}

/// Whether the CA in the Secret is in every bundle.
async fn is_healthy(site: &Site) -> anyhow::Result<bool> {
    let Ok(secret) = site.get(SECRET).await else {
        return Ok(false);
    };
    let bytes = |value: &Value| -> Vec<u8> {
        let bytes: Result<ByteString, _> = serde_json::from_value(value.clone());
        bytes.map(|bytes| bytes.0).unwrap_or_default()
    };
    let authority = bytes(&secret["data"]["ca.crt"]);
    let (mutating, validating) = (site.get(MUTATING).await?, site.get(VALIDATING).await?);
    let crd = site.get(CRD).await?;
    let configs = [
        &mutating["webhooks"][0]["clientConfig"],
        &validating["webhooks"][0]["clientConfig"],
        &crd["spec"]["conversion"]["webhook"]["clientConfig"],
    ];
    let mut configs = configs.into_iter();
    Ok(!authority.is_empty()
        && configs.all(|config| bytes(&config["caBundle"]).starts_with(&authority)))
}

async fn healthy(site: &Site) -> anyhow::Result<()> {
    eventually(
        LONG,
        "what is in the Secret is trusted everywhere",
        async || Ok(is_healthy(site).await?.then_some(())),
    )
    .await
}
