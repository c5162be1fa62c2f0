//! The tests.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use hyper::Method;
use kbr_testing::eventually;
use serde_json::{Value, json};

use super::site::{GUESTS, NAMESPACE, Site, guest};
use crate::{replica::LONG, world::World};

pub const JSON: &str = "application/json";
pub const MERGE: &str = "application/merge-patch+json";

/// The status of a rejected request.
pub async fn refused<T>(call: impl Future<Output = kube::Result<T>>) -> anyhow::Result<Value> {
    match call.await {
        Err(kube::Error::Api(status)) => Ok(serde_json::to_value(status)?),
        Err(error) => Err(error.into()),
        Ok(_) => anyhow::bail!("a request was admitted that is to be refused"),
    }
}

pub async fn webhooks_answer_a_real_api_server(world: &mut World) -> anyhow::Result<String> {
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

pub async fn objects_of_three_versions_can_be_read_in_each_version(
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

/// Sends requests without a pause until it is ended.
pub struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    failed: Arc<Mutex<Vec<String>>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    pub fn start(site: &Site) -> Self {
        let object = guest("load", &json!({ "first": "a" }));
        Self::of(site, 4, &format!("{GUESTS}?dryRun=All"), &object)
    }

    /// Posts this object, from this many tasks.
    pub fn of(site: &Site, tasks: usize, path: &str, object: &Value) -> Self {
        let (client, path, object) = (site.client.clone(), path.to_owned(), object.to_string());
        Self::calling(tasks, move || {
            let request = hyper::Request::post(&path).header("content-type", JSON);
            let (client, request) = (client.clone(), request.body(object.clone().into_bytes()));
            async move {
                client.request::<Value>(request?).await?;
                Ok(())
            }
        })
    }

    /// Repeats `call` in this many tasks.
    pub fn calling<R>(tasks: usize, call: impl Fn() -> R + Clone + Send + 'static) -> Self
    where
        R: Future<Output = anyhow::Result<()>> + Send,
    {
        let (stop, done) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicUsize::new(0)),
        );
        let failed = Arc::<Mutex<Vec<String>>>::default();
        let tasks = (0..tasks).map(|_| {
            let (stop, done, failed) = (stop.clone(), done.clone(), failed.clone());
            let call = call.clone();
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    if let Err(error) = call().await {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.push(format!("{error:#}"));
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        Self {
            tasks: tasks.collect(),
            stop,
            done,
            failed,
        }
    }

    /// Waits until this many more requests are answered.
    pub async fn more(&self, count: usize) -> anyhow::Result<()> {
        let enough = self.done.load(Ordering::Relaxed) + count;
        eventually(LONG, "requests are answered", async || {
            Ok((self.done.load(Ordering::Relaxed) >= enough).then_some(()))
        })
        .await
    }

    /// The number of admitted requests; fails if any was rejected.
    pub async fn end(self) -> anyhow::Result<usize> {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await?;
        }
        let done = self.done.load(Ordering::Relaxed);
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        anyhow::ensure!(
            failed.is_empty(),
            "{} of {done} requests failed, the first: {}",
            failed.len(),
            failed[0]
        );
        Ok(done)
    }
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
            // Like in a cluster: the replica gets SIGTERM, and calls stop only later.
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
