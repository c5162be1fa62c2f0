//! Measures the server of webhooks; `tests/bench/admission` runs it against a real API server.
//!
//! It starts itself a second time as the server, so that memory is the server's own. First it is called as the API
//! server would call it, then objects are made through the real one, with the webhooks and without them in turn.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use clap::{Parser, Subcommand};
use futures_util::future::try_join_all;
use k8s_openapi::{ByteString, api::core::v1::ConfigMap};
use kube::Client;
use manager::{
    Options,
    testing::{FakeApi, eventually},
    webhook::{Defaulter, Refusal, Request, Validator, Warnings},
};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client::TlsStream, server};

/// How many connections call at once.
const CONNECTIONS: usize = 64;

/// The keys of an object of 1 kB and of one of 10 kB.
const SMALL: usize = 10;
const LARGE: usize = 100;

/// How many objects one review of conversion has.
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
    async fn default(&self, map: &mut ConfigMap, _cx: &Request<ConfigMap>) -> Result<(), Refusal> {
        map.immutable.get_or_insert(false);
        Ok(())
    }
}

impl Validator<ConfigMap> for Webhook {
    async fn validate_create(
        &self,
        map: &ConfigMap,
        _cx: &Request<ConfigMap>,
    ) -> Result<Warnings, Refusal> {
        if map.immutable.is_none() {
            return Err(Refusal::forbidden("it has no default"));
        }
        Ok(Warnings::new())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    match cli.task {
        Some(Task::Serve { port, folder }) => return serve(port, folder).await,
        Some(Task::Answer { port, folder }) => return answer(port, &folder).await,
        None => {}
    }
    let server = Server::start(cli.core.as_deref(), "serve").await?;
    let core = cli.core.as_ref().map_or("all cores", |_| "one core");
    row(
        "server alone, over TLS",
        &format!("{CONNECTIONS} connections, {core}"),
    );
    let floor = Server::start(cli.core.as_deref(), "answer").await?;
    alone(&floor, "mutate", cli.requests).await?;
    alone(&server, "mutate", cli.requests / 10).await?;
    let before = server.memory()?;
    alone(&server, "mutate", cli.requests).await?;
    alone(&server, "validate", cli.requests).await?;
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
    let mut manager = FakeApi::new().manager_with(Options {
        health_probe_bind_address: "0".parse().map_err(anyhow::Error::msg)?,
        webhook_host: Some("127.0.0.1".to_owned()),
        webhook_port: port,
        webhook_cert_path: Some(folder),
        ..Options::default()
    });
    manager.defaulter::<ConfigMap>(Webhook);
    manager.validator::<ConfigMap>(Webhook);
    manager.spoke::<v2::Thing, v1::Thing>();
    manager.run_until(std::future::pending()).await
}

/// Answers any review with the same words and the review's own `uid`: what webhooks cost that do nothing.
async fn answer(port: u16, folder: &Path) -> anyhow::Result<()> {
    let read = |name: &str| fs::read(folder.join(name));
    let chain = CertificateDer::pem_slice_iter(&read("tls.crt")?).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(&read("tls.key")?)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                let _ = answer_all(BufReader::new(stream)).await;
            }
        });
    }
}

async fn answer_all(mut stream: BufReader<server::TlsStream<TcpStream>>) -> anyhow::Result<()> {
    loop {
        let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
        ensure!(stream.read_line(&mut first).await? > 0, "it was closed");
        loop {
            line.clear();
            stream.read_line(&mut line).await?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let body = String::from_utf8_lossy(&body);
        let uid = body.split_once(r#""uid":""#).context("no uid")?.1;
        let uid = &uid[..36];
        // [{"op":"add","path":"/immutable","value":false}]
        let patch = if first.contains("/mutate") {
            r#","patchType":"JSONPatch","patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL2ltbXV0YWJsZSIsInZhbHVlIjpmYWxzZX1d""#
        } else {
            ""
        };
        let text = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{{"uid":"{uid}","allowed":true{patch}}}}}"#
        );
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        stream.write_all((head + &text).as_bytes()).await?;
        stream.flush().await?;
    }
}

/// The server as a process; it ends with this value.
struct Server {
    process: Child,
    port: u16,
    authority: String,
    connector: TlsConnector,
    _folder: tempfile::TempDir,
}

impl Server {
    async fn start(core: Option<&str>, task: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let made = rcgen::generate_simple_self_signed(names)?;
        let authority = made.cert.pem();
        fs::write(folder.path().join("tls.crt"), &authority)?;
        fs::write(
            folder.path().join("tls.key"),
            made.signing_key.serialize_pem(),
        )?;
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?
            .local_addr()?
            .port();
        let server = Self {
            process: spawn(core, task, port, folder.path())?,
            port,
            connector: connector(&authority)?,
            authority,
            _folder: folder,
        };
        let within = Duration::from_secs(60);
        eventually(within, "it serves", async || {
            Ok(server.connect().await.ok())
        })
        .await?;
        Ok(server)
    }

    async fn connect(&self) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost")?;
        let stream = self.connector.connect(name, stream).await?;
        Ok(Connection(BufReader::new(stream)))
    }

    /// Seconds of CPU that it has used until now, in steps of 10 ms.
    fn cpu(&self) -> anyhow::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id()))?;
        let fields = stat.rsplit_once(") ").context("no name in stat")?.1;
        // See proc_pid_stat(5): user and system time, in ticks, of which Linux has 100 a second.
        let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<f64>);
        Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
    }

    /// Megabytes that it has now.
    fn memory(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let value = line.context("no VmRSS")?.trim().trim_end_matches(" kB");
        Ok(value.parse::<f64>()? * 1024.0 / 1e6)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(core: Option<&str>, task: &str, port: u16, folder: &Path) -> anyhow::Result<Child> {
    let own = std::env::current_exe()?;
    let mut command = match core {
        Some(core) => {
            let mut command = Command::new("taskset");
            command.args(["-c", core]).arg(own);
            command
        }
        None => Command::new(own),
    };
    command.arg(task).arg(port.to_string()).arg(folder);
    command.spawn().context("cannot start the server")
}

fn connector(authority: &str) -> anyhow::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config).into())
}

/// A connection that is kept, as the API server keeps its own.
struct Connection(BufReader<TlsStream<TcpStream>>);

impl Connection {
    async fn post(&mut self, path: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        self.0.write_all(&[head.as_bytes(), body].concat()).await?;
        self.0.flush().await?;
        let (mut line, mut length) = (String::new(), 0);
        self.0.read_line(&mut line).await?;
        ensure!(line.contains(" 200 "), "the server answered {line}");
        loop {
            line.clear();
            self.0.read_line(&mut line).await?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer).await?;
        Ok(answer)
    }
}

/// An object of so many keys, 100 bytes each.
fn object(namespace: &str, keys: usize) -> Value {
    let data = |at| (format!("key-{at}"), json!("x".repeat(90)));
    let data: serde_json::Map<_, _> = (0..keys).map(data).collect();
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "bench", "namespace": namespace }, "data": data,
    })
}

async fn alone(server: &Server, task: &str, requests: usize) -> anyhow::Result<()> {
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
    row(
        &format!("{task}, {requests} requests"),
        &format!("{rate:.0} a second, {times}, {cpu:.0} us of CPU each"),
    );
    Ok(())
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
        // In turn, so that whatever else goes on is in all.
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

/// How long requests took, in milliseconds.
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
