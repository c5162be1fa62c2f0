//! The webhooks of an operator under test. The API server calls them by `url`, on the loopback interface.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    net::{TcpListener, TcpStream},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

use k8s_openapi::ByteString;
use kube::{Client, Config};
use serde_json::{Value, json};

use super::{
    Cluster,
    cluster::LIMIT,
    noticed::{block_on, called, convert, no_longer_called, probe},
};

/// The manifests that `kbr manifests` writes.
const MANIFESTS: &str = "config/webhook/manifests.yaml";
const CRDS: &str = "config/crd/bases";

/// How long an operator that hands conversion over still serves it: the API server does not tell when the last request that began
/// before the change has ended.
const GRACE: Duration = Duration::from_secs(1);

/// The conversion endpoints of the operators in this process, by port. Tests share the CRDs, which name the last one.
static CONVERTING: Mutex<Vec<(u16, Value)>> = Mutex::new(Vec::new());

/// A port and a certificate for the webhooks of one operator; drop removes what was installed.
#[derive(Debug)]
pub(super) struct Webhooks {
    config: Config,
    namespace: String,
    port: u16,
    directory: PathBuf,
    ca: String,
    installed: Vec<(String, String)>,
    converted: Vec<String>,
}

impl Webhooks {
    /// Prepares the webhooks, if the project has any.
    pub(super) fn prepare(cluster: &Cluster) -> anyhow::Result<Option<Self>> {
        if !Path::new(MANIFESTS).exists() {
            return Ok(None);
        }
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let name = format!("{}-webhooks-{port}", cluster.namespace());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory)?;
        let webhooks = Self {
            config: cluster.config.clone(),
            namespace: cluster.namespace().to_owned(),
            port,
            ca: made.cert.pem(),
            directory,
            installed: Vec::new(),
            converted: Vec::new(),
        };
        fs::write(webhooks.directory.join("tls.crt"), &webhooks.ca)?;
        let mut key = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(webhooks.directory.join("tls.key"))?;
        key.write_all(made.signing_key.serialize_pem().as_bytes())?;
        Ok(Some(webhooks))
    }

    /// Makes the operator serve its webhooks at this port.
    pub(super) fn tell(&self, operator: &mut Command) {
        operator
            .args(["--webhook-host", "127.0.0.1"])
            .args(["--webhook-port", &self.port.to_string()])
            .arg("--webhook-cert-path")
            .arg(&self.directory);
    }

    /// Waits until the operator serves its webhooks, and makes the API server call them for the namespace of the test.
    pub(super) fn install(
        &mut self,
        cluster: &Cluster,
        operator: &mut Child,
    ) -> anyhow::Result<()> {
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if let Some(status) = operator.try_wait()? {
                anyhow::bail!(
                    "the operator ended before it served its webhooks ({status}); its log is above"
                );
            }
            anyhow::ensure!(
                start.elapsed() < LIMIT,
                "the operator serves no webhooks within {LIMIT:?}"
            );
            sleep(Duration::from_millis(20));
        }
        for mut object in configurations(cluster)? {
            self.redirect(&mut object);
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let installed = (text(&object["kind"]), text(&object["metadata"]["name"]));
            cluster.kubectl_with(&["create", "--filename", "-"], &object.to_string())?;
            self.installed.push(installed);
        }
        self.converted = converted(cluster)?;
        let config = self.client_config("/convert");
        let mut all = CONVERTING.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.converted.is_empty() {
            all.push((self.port, config.clone()));
        }
        block_on(&self.config, async |client| {
            self.convert_at(&client, &config).await?;
            for (kind, _) in &self.installed {
                called(&client, &self.namespace, &self.mark(kind)).await?;
            }
            Ok(())
        })
    }

    async fn convert_at(&self, client: &Client, config: &Value) -> anyhow::Result<()> {
        for name in &self.converted {
            convert(client, name, config).await?;
        }
        Ok(())
    }

    /// What tells this operator's configuration of `kind` from those of other operators in the namespace: a label value.
    fn mark(&self, kind: &str) -> String {
        format!("{kind}-{}", self.port)
    }

    /// Adapts a configuration to this operator: gives it a unique name, and limits it to the namespace of the test.
    fn redirect(&self, object: &mut Value) {
        let namespace = self.namespace.as_str();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        object["metadata"]["name"] = format!("{name}-{namespace}-{}", self.port).into();
        let kind = object["kind"].as_str().unwrap_or_default();
        let probe = probe(&self.mark(kind), &self.client_config("/probe"));
        let Some(webhooks) = object["webhooks"].as_array_mut() else {
            return;
        };
        for webhook in &mut *webhooks {
            let path = webhook["clientConfig"]["service"]["path"].as_str();
            webhook["clientConfig"] = self.client_config(path.unwrap_or_default());
        }
        webhooks.push(probe);
        for webhook in webhooks {
            webhook["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] =
                namespace.into();
        }
    }

    fn client_config(&self, path: &str) -> Value {
        let bundle = ByteString(self.ca.clone().into_bytes());
        json!({ "url": format!("https://127.0.0.1:{}{path}", self.port), "caBundle": bundle })
    }

    /// Makes the API server stop calling the webhooks of this operator. Otherwise, calls would fail while others of the test run.
    pub(super) fn retire(&mut self) {
        let removed = self.uninstall();
        // No caller is left to handle an error.
        let _ = block_on(&self.config, async |client| {
            for kind in &removed {
                no_longer_called(&client, &self.namespace, &self.mark(kind)).await?;
            }
            Ok(())
        });
    }

    /// Deletes the configurations; returns the kinds of those that could be deleted. Others stay: they are limited to a namespace that
    /// is not used again.
    fn uninstall(&mut self) -> Vec<String> {
        let delete = ["delete", "--ignore-not-found", "--wait=false"];
        let all = self.installed.drain(..);
        let deleted = all.filter(|(kind, name)| quietly(&[&delete[..], &[kind, name]].concat()));
        deleted.map(|(kind, _)| kind).collect()
    }

    /// Hands conversion over to another operator of this process, if there is one, and serves the requests that began before.
    pub(super) fn hand_over(&self) {
        let mut all = CONVERTING.lock().unwrap_or_else(PoisonError::into_inner);
        let last = all.last().is_some_and(|(port, _)| *port == self.port);
        all.retain(|(port, _)| *port != self.port);
        let Some((_, config)) = all.last().filter(|_| last) else {
            return;
        };
        // No caller is left to handle an error.
        let _ = block_on(&self.config, async |client| {
            self.convert_at(&client, config).await
        });
        drop(all);
        sleep(GRACE);
    }
}

/// Runs `kubectl` in drop, where no caller is left to handle an error; returns whether it succeeded.
fn quietly(args: &[&str]) -> bool {
    let status = Command::new("kubectl")
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

impl Drop for Webhooks {
    fn drop(&mut self) {
        self.uninstall();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The webhook configurations of a cluster; none if the project only has conversion.
fn configurations(cluster: &Cluster) -> anyhow::Result<Vec<Value>> {
    if !fs::read_to_string(MANIFESTS)?.contains("\nkind:") {
        return Ok(Vec::new());
    }
    objects(cluster, MANIFESTS)
}

/// The CRDs of the project with conversion in a cluster.
fn converted(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    if !Path::new(CRDS).exists() {
        return Ok(Vec::new());
    }
    let mut crds = objects(cluster, CRDS)?;
    crds.retain(|crd| crd["spec"]["conversion"]["strategy"] == "Webhook");
    let names = crds
        .iter()
        .filter_map(|crd| crd["metadata"]["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}

/// The objects in a file or directory.
fn objects(cluster: &Cluster, path: &str) -> anyhow::Result<Vec<Value>> {
    cluster.kubectl_create(&["--dry-run=client", "--filename", path], "")
}
