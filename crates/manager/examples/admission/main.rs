//! Measures the webhook server; `tests/bench/admission` runs it against a real API server.
//!
//! It starts itself a second time as the server, to measure the memory of the server alone. First it calls the server
//! like the API server does. Then it creates objects through the real API server: with the webhooks, with webhooks that
//! do nothing, and without any, in turn.

mod answer;
mod server;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::{Parser, Subcommand};
use futures_util::future::try_join_all;
use k8s_openapi::{ByteString, api::core::v1::ConfigMap};
use kbr_testing::{FakeApi, eventually};
use kube::Client;
use manager::{
    Options,
    webhook::{Defaulter, Rejection, Request, Validator, Warnings},
};
use serde_json::{Value, json};

use self::server::Server;

/// How many connections call concurrently.
const CONNECTIONS: usize = 64;

/// The number of keys in an object of 1 kB, and in one of 10 kB.
const SMALL: usize = 10;
const LARGE: usize = 100;

/// The number of objects in a conversion review.
const CONVERTED: usize = 1000;

/// Measures the server of webhooks
#[derive(Debug, Parser)]
struct Cli {
    /// How many requests the server is sent
    #[arg(long, default_value_t = 200_000)]
    requests: usize,
    /// The one core that the server runs on; without it, it takes all
    #[arg(long)]
    core: Option<String>,
    /// How many objects are made through the API server, with the webhooks and without; 0 for none
    #[arg(long, default_value_t = 2000)]
    created: usize,
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Is the server
    Serve { port: u16, folder: PathBuf },
    /// Is a server that answers without looking at what it was sent
    Answer { port: u16, folder: PathBuf },
}

mod v1 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "bench.example.com", version = "v1", kind = "Thing")]
    pub struct ThingSpec {
        pub text: String,
    }
}

mod v2 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
    #[kube(group = "bench.example.com", version = "v2", kind = "Thing")]
    pub struct ThingSpec {
        pub words: Vec<String>,
    }
}

impl From<v1::Thing> for v2::Thing {
    fn from(thing: v1::Thing) -> Self {
        let words = thing.spec.text.split(' ').map(str::to_owned).collect();
        Self {
            metadata: thing.metadata,
            spec: v2::ThingSpec { words },
        }
    }
}

impl From<v2::Thing> for v1::Thing {
    fn from(thing: v2::Thing) -> Self {
        Self {
            metadata: thing.metadata,
            spec: v1::ThingSpec {
                text: thing.spec.words.join(" "),
            },
        }
    }
}

struct Webhook;

impl Defaulter<ConfigMap> for Webhook {
    async fn default(
        &self,
        map: &mut ConfigMap,
        _cx: &Request<ConfigMap>,
    ) -> Result<(), Rejection> {
        map.immutable.get_or_insert(false);
        Ok(())
    }
}

impl Validator<ConfigMap> for Webhook {
    async fn validate_create(
        &self,
        map: &ConfigMap,
        _cx: &Request<ConfigMap>,
    ) -> Result<Warnings, Rejection> {
        if map.immutable.is_none() {
            return Err(Rejection::forbidden("it has no default"));
        }
        Ok(Warnings::new())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    match cli.task {
        Some(Task::Serve { port, folder }) => return serve(port, folder).await,
        Some(Task::Answer { port, folder }) => return answer::serve(port, &folder).await,
        None => {}
    }
    let server = Server::start(cli.core.as_deref(), "serve").await?;
    let core = cli.core.as_ref().map_or("all cores", |_| "one core");
    row(
        "server alone, over TLS",
        &format!("{CONNECTIONS} connections, {core}"),
    );
    let floor = Server::start(cli.core.as_deref(), "answer").await?;
    let without_looking = alone(&floor, "mutate", cli.requests).await?;
    row("a server that answers without looking", &without_looking);
    // Warm up caches and allocators.
    alone(&server, "mutate", cli.requests / 10).await?;
    let before = server.memory()?;
    for task in ["mutate", "validate"] {
        let measured = alone(&server, task, cli.requests).await?;
        row(&format!("{task}, {} requests", cli.requests), &measured);
    }
    let after = server.memory()?;
    row(
        &format!("memory before and after {} requests", cli.requests * 2),
        &format!("{before:.1} MB, {after:.1} MB"),
    );
    convert(&server).await?;
    if cli.created > 0 {
        through_the_api_server(&server, &floor, cli.created).await?;
    }
    Ok(())
}

fn row(what: &str, value: &str) {
    println!("{what:<58} {value}");
}

async fn serve(port: u16, folder: PathBuf) -> anyhow::Result<()> {
    let mut options = Options::default();
    options.health_probe_bind_address = "0".parse().map_err(anyhow::Error::msg)?;
    options.webhook_host = Some("127.0.0.1".to_owned());
    options.webhook_port = port;
    options.webhook_cert_path = Some(folder);
    let mut manager = FakeApi::new().manager_with(options);
    manager.defaulter::<ConfigMap>(Webhook);
    manager.validator::<ConfigMap>(Webhook);
    manager.spoke::<v2::Thing, v1::Thing>();
    manager.run_until(std::future::pending()).await
}

/// An object with this many keys, 100 bytes each.
fn object(namespace: &str, keys: usize) -> Value {
    let data = |at| (format!("key-{at}"), json!("x".repeat(90)));
    let data: serde_json::Map<_, _> = (0..keys).map(data).collect();
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "bench", "namespace": namespace }, "data": data,
    })
}

async fn alone(server: &Server, task: &str, requests: usize) -> anyhow::Result<String> {
    let mut object = object("default", LARGE);
    object["immutable"] = match task {
        "mutate" => Value::Null,
        _ => json!(false),
    };
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "2f7a8a52-7a7f-4b73-9d7d-3f6d3c1a7b10", "name": "bench", "namespace": "default",
            "kind": { "group": "", "version": "v1", "kind": "ConfigMap" },
            "operation": "CREATE", "object": object, "userInfo": { "username": "admin" },
        },
    });
    let (review, path) = (
        review.to_string(),
        format!("/{task}--v1-configmap?timeout=10s"),
    );
    let (next, started, cpu) = (AtomicUsize::new(0), Instant::now(), server.cpu()?);
    let call = async || {
        let (mut connection, mut times) = (server.connect().await?, Vec::new());
        while next.fetch_add(1, Ordering::Relaxed) < requests {
            let started = Instant::now();
            let answer = connection.post(&path, review.as_bytes()).await?;
            times.push(started.elapsed());
            let allowed = br#""allowed":true"#;
            let allowed = answer.windows(allowed.len()).any(|part| part == allowed);
            ensure!(allowed, "{}", String::from_utf8_lossy(&answer));
        }
        Ok(times)
    };
    let times = try_join_all((0..CONNECTIONS).map(|_| call())).await?;
    #[expect(clippy::cast_precision_loss, reason = "they are no more than millions")]
    let count = requests as f64;
    let (rate, cpu) = (
        count / started.elapsed().as_secs_f64(),
        (server.cpu()? - cpu) / count * 1e6,
    );
    let times = Times::of(times.concat());
    Ok(format!(
        "{rate:.0} a second, {times}, {cpu:.0} us of CPU each"
    ))
}

async fn convert(server: &Server) -> anyhow::Result<()> {
    let thing = |at| {
        json!({
            "apiVersion": "bench.example.com/v1", "kind": "Thing",
            "metadata": { "name": format!("thing-{at}"), "namespace": "default", "uid": format!("u-{at}") },
            "spec": { "text": "a few words that are to be told apart" },
        })
    };
    let objects: Vec<_> = (0..CONVERTED).map(thing).collect();
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": { "uid": "u", "desiredAPIVersion": "bench.example.com/v2", "objects": objects },
    });
    let (review, mut connection) = (review.to_string(), server.connect().await?);
    let mut times = Vec::new();
    for _ in 0..50 {
        let started = Instant::now();
        let answer = connection
            .post("/convert?timeout=30s", review.as_bytes())
            .await?;
        times.push(started.elapsed());
        let answer: Value = serde_json::from_slice(&answer)?;
        let converted = answer["response"]["convertedObjects"].as_array();
        ensure!(
            converted.is_some_and(|all| all.len() == CONVERTED),
            "{answer}"
        );
    }
    row(
        &format!("{CONVERTED} objects converted in one review"),
        &Times::of(times).to_string(),
    );
    Ok(())
}

async fn through_the_api_server(
    server: &Server,
    floor: &Server,
    created: usize,
) -> anyhow::Result<()> {
    let client = Client::try_default().await?;
    let send = async |path: &str, object: &Value| {
        let request = hyper::Request::post(path).header("content-type", "application/json");
        let request = request.body(object.to_string().into_bytes())?;
        anyhow::Ok(client.request::<Value>(request).await?)
    };
    for name in ["hooked", "floored", "plain"] {
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        send("/api/v1/namespaces", &namespace).await?;
    }
    for (namespace, server) in [("hooked", server), ("floored", floor)] {
        for (kind, plural, task) in [
            (
                "MutatingWebhookConfiguration",
                "mutatingwebhookconfigurations",
                "mutate",
            ),
            (
                "ValidatingWebhookConfiguration",
                "validatingwebhookconfigurations",
                "validate",
            ),
        ] {
            let url = format!("https://127.0.0.1:{}/{task}--v1-configmap", server.port);
            let authority = ByteString(server.authority.clone().into_bytes());
            let configuration = json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": namespace },
                "webhooks": [{
                    "name": format!("{task}.bench.example.com"), "admissionReviewVersions": ["v1"],
                    "clientConfig": { "url": url, "caBundle": authority }, "sideEffects": "None",
                    "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
                    "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"] }],
                }],
            });
            let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
            send(&path, &configuration).await?;
        }
    }
    let create = async |namespace: &str, keys| {
        let (object, path) = (
            object(namespace, keys),
            format!("/api/v1/namespaces/{namespace}/configmaps?dryRun=All"),
        );
        let started = Instant::now();
        let made = send(&path, &object).await?;
        anyhow::Ok((started.elapsed(), made["immutable"] == false))
    };
    let within = Duration::from_secs(60);
    for namespace in ["hooked", "floored"] {
        let hooked = async || Ok(create(namespace, SMALL).await?.1.then_some(()));
        eventually(within, "the API server calls the webhooks", hooked).await?;
    }
    for keys in [SMALL, LARGE] {
        let (mut with, mut least, mut without) = (Vec::new(), Vec::new(), Vec::new());
        // In turn, so that other load on the machine affects all of them.
        for _ in 0..created {
            with.push(create("hooked", keys).await?.0);
            least.push(create("floored", keys).await?.0);
            without.push(create("plain", keys).await?.0);
        }
        let [with, least, without] = [with, least, without].map(Times::of);
        let what = format!("create {} kB through the API server", keys / 10);
        row(&format!("{what}, no webhook"), &without.to_string());
        row(&format!("{what}, both webhooks"), &with.to_string());
        row("added by both webhooks", &with.over(&without).to_string());
        row(
            "added by two that answer without looking",
            &least.over(&without).to_string(),
        );
    }
    Ok(())
}

/// The durations of requests, in milliseconds.
struct Times {
    p50: f64,
    p99: f64,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
        Self {
            p50: at(50),
            p99: at(99),
        }
    }
}

impl Times {
    fn over(&self, other: &Self) -> Self {
        Self {
            p50: self.p50 - other.p50,
            p99: self.p99 - other.p99,
        }
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p50 {:.2} ms, p99 {:.2} ms", self.p50, self.p99)
    }
}
