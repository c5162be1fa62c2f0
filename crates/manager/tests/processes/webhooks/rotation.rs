//! Test self-managed certificates: creation, corruption, rotation under load, and redeployment.

use anyhow::Context as _;
use hyper::Method;
use k8s_openapi::ByteString;
use kbr_testing::eventually;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};

use super::{
    guests::{configuration, crd},
    site::{CRD, Guests, MUTATING, NAMESPACE, SECRET, Site, VALIDATING, converted},
    tests::{JSON, Load, MERGE},
};
use crate::{replica::LONG, world::World};

/// The certificate in the Secret.
pub async fn certificate(site: &Site) -> anyhow::Result<Option<Value>> {
    let secret = site.get(SECRET).await?;
    let certificate = secret["data"]["tls.crt"].clone();
    Ok(Some(certificate).filter(|text| text.as_str().is_some_and(|text| !text.is_empty())))
}

/// Waits until all replicas serve another certificate than `old`, and its CA is in the bundles.
pub async fn rotated(site: &Site, old: &Value, served: &[usize]) -> anyhow::Result<()> {
    eventually(LONG, "another certificate is in the Secret", async || {
        Ok(certificate(site).await?.filter(|new| new != old))
    })
    .await?;
    eventually(LONG, "all replicas serve it", async || {
        let all = site
            .replicas
            .iter()
            .zip(served)
            .all(|(it, before)| it.served() > *before);
        Ok(all.then_some(()))
    })
    .await
}

pub async fn certificates_need_no_manual_steps(world: &mut World) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    let started = std::time::Instant::now();
    site.start(3).await?;
    site.admitting().await?;
    let first = started.elapsed();

    let load = Load::start(&site);
    let damages = damages()?;
    let rounds = world.either(4, 10);
    for damage in damages.iter().cycle().take(rounds) {
        let served: Vec<_> = site.replicas.iter().map(Guests::served).collect();
        let old = certificate(&site).await?.context("a certificate")?;
        match damage {
            (_, None) => {
                site.call(Method::DELETE, SECRET, JSON, &Value::Null)
                    .await?
            }
            (_, Some(data)) => {
                let patch = json!({ "data": data });
                site.call(Method::PATCH, SECRET, MERGE, &patch).await?
            }
        };
        rotated(&site, &old, &served)
            .await
            .with_context(|| damage.0)?;
    }
    let requests = load.end().await?;

    for path in [MUTATING, VALIDATING, CRD] {
        let object = site.get(path).await?;
        let entries = object["metadata"]["managedFields"].as_array();
        let mut managers = entries.into_iter().flatten().map(|entry| &entry["manager"]);
        anyhow::ensure!(
            managers.all(|name| name == "kubectl" || name == "kube-apiserver"),
            "{path}: {}",
            object["metadata"]["managedFields"]
        );
    }
    // If several replicas try to create one at the same time, only one succeeds.
    let made: usize = site.replicas.iter().map(Guests::made).sum();
    anyhow::ensure!(made == 1 + rounds, "{made} certificates in {rounds} rounds");
    deployed_again(&site).await?;
    let again = replaced(&site).await?;
    of_another_form(&mut site).await?;
    Ok(format!(
        "{} ms from start to the first admitted request; {rounds} rotations, {requests} requests; \
         {again:?} ms from no trust to the next, while nothing else happens and in a rotation",
        first.as_millis()
    ))
}

/// Deploys without conversion and without a webhook, and then with both: the other CA bundles stay.
async fn deployed_again(site: &Site) -> anyhow::Result<()> {
    let mut none = crd("v2", site.spread.port)?;
    none["spec"]["conversion"] = json!({ "strategy": "None" });
    site.apply(CRD, &none)
        .await
        .context("conversion is switched off")?;
    let mut none = configuration(true, site.spread.port);
    none["webhooks"] = json!([]);
    site.apply(MUTATING, &none)
        .await
        .context("the webhook is removed")?;
    let bundle = site.get(VALIDATING).await?["webhooks"][0]["clientConfig"]["caBundle"].clone();
    site.deploy("v2").await.context("both are back")?;
    let after = site.get(VALIDATING).await?["webhooks"][0]["clientConfig"]["caBundle"].clone();
    anyhow::ensure!(
        bundle.is_string() && bundle == after,
        "the authority was lost"
    );
    site.admitting().await?;
    eventually(LONG, "the CRD is told again", async || {
        let crd = site.get(CRD).await?;
        let bundle = &crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"];
        Ok(bundle.is_string().then_some(()))
    })
    .await
}

/// A CA that was removed from all bundles is added again, also during a rotation; returns how many milliseconds later.
async fn replaced(site: &Site) -> anyhow::Result<[u128; 2]> {
    let (path, object) = converted();
    let mut times = [0; 2];
    for (rotating, time) in [false, true].into_iter().zip(&mut times) {
        if rotating {
            let old = certificate(site).await?.context("a certificate")?;
            site.call(Method::DELETE, SECRET, JSON, &Value::Null)
                .await?;
            eventually(LONG, "there is another one", async || {
                Ok(certificate(site).await?.filter(|new| *new != old))
            })
            .await?;
        }
        for path in [MUTATING, VALIDATING, CRD] {
            site.untrust(path).await?;
        }
        let started = std::time::Instant::now();
        eventually(LONG, "a guest is admitted", async || {
            site.create(&path, &object).await.map(Some)
        })
        .await?;
        *time = started.elapsed().as_millis();
    }
    Ok(times)
}

/// The Secret was replaced by another program. Another type of Secret works as well. An immutable Secret is reported,
/// and deleting it helps.
async fn of_another_form(site: &mut Site) -> anyhow::Result<()> {
    for immutable in [false, true] {
        site.replicas.clear();
        site.call(Method::DELETE, SECRET, JSON, &Value::Null)
            .await?;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": immutable,
            "metadata": { "name": "guests-webhook-certificate" }, "data": { "x": "" },
        });
        let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        site.create(&secrets, &secret).await?;
        if immutable {
            let replica = site.spawn()?;
            eventually(
                LONG,
                "it is said that the Secret cannot be changed",
                async || {
                    let log = replica.log();
                    let mut lines = log.lines().filter(|line| line.contains("cannot keep"));
                    Ok(lines.find(|line| line.contains("immutable")).map(|_| ()))
                },
            )
            .await
            .with_context(|| replica.log())?;
            site.call(Method::DELETE, SECRET, JSON, &Value::Null)
                .await?;
            site.replicas.push(replica);
            site.ready().await?;
        } else {
            site.start(2).await?;
        }
        site.admitting().await?;
    }
    Ok(())
}

/// Ways to corrupt the Secret, and the data for each; without data, it is deleted.
fn damages() -> anyhow::Result<Vec<(&'static str, Option<Value>)>> {
    let other = pair(false, false)?;
    let nonsense = ByteString(b"nonsense".to_vec());
    Ok(vec![
        ("deleted", None),
        ("an authority that is over", Some(pair(true, false)?)),
        (
            "the key of another certificate",
            Some(json!({ "tls.key": other["tls.key"] })),
        ),
        (
            "empty",
            Some(json!({ "ca.crt": "", "tls.crt": "", "tls.key": "" })),
        ),
        ("a certificate that is over", Some(pair(false, true)?)),
        ("no authority", Some(json!({ "ca.crt": null }))),
        ("nonsense for a key", Some(json!({ "tls.key": nonsense }))),
        (
            "nonsense for a certificate",
            Some(json!({ "tls.crt": nonsense })),
        ),
        (
            "bytes that are no text",
            Some(json!({ "ca.crt": ByteString(vec![0xff, 0xfe]) })),
        ),
        (
            "the authority of another certificate",
            Some(json!({ "ca.crt": other["ca.crt"] })),
        ),
    ])
}

/// The data of a Secret with a certificate for all names; the CA or the certificate may be expired.
fn pair(authority_is_over: bool, certificate_is_over: bool) -> anyhow::Result<Value> {
    let params = |names: &[&str], over: bool| {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names)?;
        if over {
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        }
        anyhow::Ok(params)
    };
    let mut authority = params(&[], authority_is_over)?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let names = ["127.0.0.1", "localhost", "guests-webhook.guests-system.svc"];
    let server = params(&names, certificate_is_over)?;
    let data = |text: String| json!(ByteString(text.into_bytes()));
    Ok(json!({
        "ca.crt": data(authority.pem()),
        "tls.crt": data(server.signed_by(&key, &authority)?.pem()),
        "tls.key": data(key.serialize_pem()),
    }))
}
