//! The tests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use hyper::Method;
use k8s_openapi::ByteString;
use manager::testing::eventually;
use serde_json::{Value, json};

use super::site::{CRD, GUESTS, MUTATING, NAMESPACE, SECRET, Site, VALIDATING, guest};
use crate::{replica::LONG, world::World};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// The status that a request is refused with.
pub async fn refused<T>(call: impl Future<Output = kube::Result<T>>) -> anyhow::Result<Value> {
    match call.await {
        Err(kube::Error::Api(status)) => Ok(serde_json::to_value(status)?),
        Err(error) => Err(error.into()),
        Ok(_) => anyhow::bail!("a request was admitted that is to be refused"),
    }
}

pub async fn an_api_server_is_answered_by_webhooks(world: &mut World) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    site.start(1).await?;
    site.admitting().await?;

    let made = site
        .create(GUESTS, &guest("james", &json!({ "first": "James" })))
        .await?;
    anyhow::ensure!(made["spec"]["nights"] == 1, "not defaulted: {made}");
    let by = &made["metadata"]["annotations"]["hotel.example.com/by"];
    anyhow::ensure!(by == "admin", "made by {by}");

    let bad = guest("nobody", &json!({ "nights": 0 }));
    let status = refused(site.call(Method::POST, GUESTS, JSON, &bad)).await?;
    let causes = json!([
        { "reason": "FieldValueRequired", "message": "Required value: who is it", "field": "spec.first" },
        { "reason": "FieldValueInvalid", "message": "Invalid value: 0: must be at least 1", "field": "spec.nights" },
    ]);
    anyhow::ensure!(status["details"]["causes"] == causes, "{status}");
    anyhow::ensure!(
        status["code"] == 422 && status["reason"] == "Invalid",
        "{status}"
    );
    let message = "admission webhook \"validate-guest.hotel.example.com\" denied the request: \
        Guest.hotel.example.com \"nobody\" is invalid: [spec.first: Required value: who is it, \
        spec.nights: Invalid value: 0: must be at least 1]";
    anyhow::ensure!(status["message"] == message, "{}", status["message"]);

    let james = format!("{GUESTS}/james");
    let rename = json!({ "spec": { "first": "Jim" } });
    let status = refused(site.call(Method::PATCH, &james, MERGE, &rename)).await?;
    anyhow::ensure!(
        status["details"]["causes"][0]["field"] == "spec.first",
        "{status}"
    );

    let request = hyper::Request::post(GUESTS).header("content-type", JSON);
    let long = guest("long", &json!({ "first": "a", "nights": 200 }));
    let request = request.body(kube::client::Body::from(long.to_string().into_bytes()))?;
    let answer = site.client.send(request).await?;
    let warning = answer
        .headers()
        .get("warning")
        .context("a warning")?
        .to_str()?
        .to_owned();
    anyhow::ensure!(warning.contains("that is a long stay"), "{warning}");

    let owes = json!({ "metadata": { "labels": { "owes": "" } } });
    site.call(Method::PATCH, &james, MERGE, &owes).await?;
    let status = refused(site.call(Method::DELETE, &james, JSON, &Value::Null)).await?;
    let text = status["message"].as_str().unwrap_or_default();
    anyhow::ensure!(
        status["code"] == 403 && text.ends_with("the bill is open"),
        "{status}"
    );
    let paid = json!({ "metadata": { "labels": { "owes": null } } });
    site.call(Method::PATCH, &james, MERGE, &paid).await?;
    site.call(Method::DELETE, &james, JSON, &Value::Null)
        .await?;
    site.call(
        Method::DELETE,
        &format!("{GUESTS}/long"),
        JSON,
        &Value::Null,
    )
    .await?;
    Ok("defaulted, refused with two fields, warned, refused on delete".to_owned())
}

pub async fn objects_of_three_versions_are_read_in_each(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    site.start(2).await?;
    site.admitting().await?;
    let at = |version: &str, name: &str| {
        format!("/apis/hotel.example.com/{version}/namespaces/{NAMESPACE}/guests/{name}")
    };
    let specs = [
        ("v1", json!({ "name": "Ada Lovelace" })),
        (
            "v2",
            json!({ "first": "Ada", "last": "Lovelace", "nights": 3 }),
        ),
        ("v3", json!({ "names": ["Ada", "Lovelace"], "nights": 3 })),
    ];
    for (version, spec) in &specs {
        let name = format!("by-{version}");
        let object = json!({
            "apiVersion": format!("hotel.example.com/{version}"), "kind": "Guest",
            "metadata": { "name": name, "annotations": { "a": "b", "hotel.example.com/nights": "3" } },
            "spec": spec,
        });
        site.apply(&at(version, &name), &object).await?;
    }
    let check = async || {
        for (version, spec) in &specs {
            for by in ["by-v1", "by-v2", "by-v3"] {
                let found = site.get(&at(version, by)).await?;
                anyhow::ensure!(found["spec"] == *spec, "{version} of {by}: {found}");
                anyhow::ensure!(found["metadata"]["annotations"]["a"] == "b", "{found}");
            }
            let all = site.get(at(version, "").trim_end_matches('/')).await?;
            anyhow::ensure!(all["items"].as_array().is_some_and(|all| all.len() == 3));
        }
        Ok(())
    };
    check().await?;
    for stored in ["v1", "v3", "v2"] {
        site.deploy(stored).await?;
        for by in ["by-v1", "by-v2", "by-v3"] {
            let touch = json!({ "metadata": { "labels": { "stored": stored } } });
            site.call(Method::PATCH, &at("v3", by), MERGE, &touch)
                .await?;
        }
        check()
            .await
            .with_context(|| format!("stored as {stored}"))?;
    }
    let bad = guest("unspeakable", &json!({ "first": "unspeakable" }));
    site.create(GUESTS, &bad).await?;
    let request = hyper::Request::get(at("v1", "unspeakable")).body(Vec::new())?;
    let status = refused(site.client.request::<Value>(request)).await?;
    let text = status["message"].as_str().unwrap_or_default();
    anyhow::ensure!(text.contains("some names cannot be said"), "{text}");
    for name in ["by-v1", "by-v2", "by-v3", "unspeakable"] {
        site.call(Method::DELETE, &at("v2", name), JSON, &Value::Null)
            .await?;
    }
    Ok("9 readings after each of 4 stored versions".to_owned())
}

/// Requests without a pause, until it is dropped.
struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    tasks: Vec<tokio::task::JoinHandle<anyhow::Result<()>>>,
}

impl Load {
    fn start(site: &Site) -> Self {
        let (stop, done) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicUsize::new(0)),
        );
        let tasks = (0..4).map(|_| {
            let (client, stop, done) = (site.client.clone(), stop.clone(), done.clone());
            tokio::spawn(async move {
                let object = guest("load", &json!({ "first": "a" })).to_string();
                while !stop.load(Ordering::Relaxed) {
                    let request = hyper::Request::post(format!("{GUESTS}?dryRun=All"));
                    let request = request.header("content-type", JSON);
                    client
                        .request::<Value>(request.body(object.clone().into_bytes())?)
                        .await?;
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            })
        });
        Self {
            tasks: tasks.collect(),
            stop,
            done,
        }
    }

    /// How many requests were admitted; the first that was not is the error.
    async fn end(self) -> anyhow::Result<usize> {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await?.context("under load, a request failed")?;
        }
        Ok(self.done.load(Ordering::Relaxed))
    }
}

/// The certificate that is in the Secret now.
async fn certificate(site: &Site) -> anyhow::Result<Option<Value>> {
    let secret = site.get(SECRET).await?;
    let certificate = secret["data"]["tls.crt"].clone();
    Ok(Some(certificate).filter(|text| text.as_str().is_some_and(|text| !text.is_empty())))
}

/// Waits until another one than `old` is served by all replicas, and trusted.
async fn rotated(site: &Site, old: &Value, served: &[usize]) -> anyhow::Result<()> {
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

pub async fn certificates_need_nobody(world: &mut World) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    let started = std::time::Instant::now();
    site.start(3).await?;
    site.admitting().await?;
    let first = started.elapsed();

    let load = Load::start(&site);
    let rounds = world.either(3, 10);
    for round in 0..rounds {
        let served: Vec<_> = site
            .replicas
            .iter()
            .map(super::site::Guests::served)
            .collect();
        let old = certificate(&site).await?.context("a certificate")?;
        let garbled = json!({ "data": { "tls.key": ByteString(b"nonsense".to_vec()) } });
        match round % 3 {
            0 => {
                site.call(Method::DELETE, SECRET, JSON, &Value::Null)
                    .await?
            }
            1 => site.call(Method::PATCH, SECRET, MERGE, &garbled).await?,
            _ => {
                site.call(Method::PATCH, SECRET, MERGE, &json!({ "data": expired()? }))
                    .await?
            }
        };
        rotated(&site, &old, &served).await?;
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
    deployed_again(&site).await?;
    Ok(format!(
        "{} ms from start to the first admitted request; {rounds} rotations, {requests} requests",
        first.as_millis()
    ))
}

/// Deploys without conversion and without a webhook, and then with both: the rest stays trusted.
async fn deployed_again(site: &Site) -> anyhow::Result<()> {
    let mut crd = super::guests::crd("v2", site.spread.port)?;
    crd["spec"]["conversion"] = json!({ "strategy": "None" });
    site.apply(CRD, &crd)
        .await
        .context("conversion is switched off")?;
    let mut none = super::guests::configuration(true, site.spread.port);
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

/// The data of a Secret whose certificates are over.
fn expired() -> anyhow::Result<Value> {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    let past = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names)?;
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        anyhow::Ok(params)
    };
    let mut authority = past(&[])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let server = past(&["127.0.0.1", "localhost", "guests-webhook.guests-system.svc"])?;
    let data = |text: String| json!(ByteString(text.into_bytes()));
    Ok(json!({
        "ca.crt": data(authority.pem()),
        "tls.crt": data(server.signed_by(&key, &authority)?.pem()),
        "tls.key": data(key.serialize_pem()),
    }))
}

pub async fn no_call_fails_while_replicas_are_replaced(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    site.start(2).await?;
    site.admitting().await?;
    let load = Load::start(&site);
    let rounds = world.either(2, 10);
    for _ in 0..rounds {
        for _ in 0..2 {
            site.start(1).await?;
            let old = site.replicas.remove(0);
            // As a cluster does: it is told to end, and only later is it sent no more calls.
            let ending = tokio::spawn(old.end());
            tokio::time::sleep(Duration::from_millis(300)).await;
            site.route();
            anyhow::ensure!(ending.await??, "a replica did not end well");
        }
    }
    let requests = load.end().await?;
    Ok(format!(
        "{} replicas replaced, {requests} requests, none failed",
        rounds * 2
    ))
}
