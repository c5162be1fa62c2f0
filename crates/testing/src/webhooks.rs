//! The webhooks of an operator under test. The API server calls them by `url`, through the relay of `kbr envtest run`.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command},
    thread::sleep,
    time::{Duration, Instant},
};

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::{
    Cluster,
    cluster::LIMIT,
    configurations::{Served, serve},
    noticed::{block_on, convert},
    relay::{Membership, Relay},
};

/// The manifests that `kbr manifests` writes.
const MANIFESTS: &str = "config/webhook/manifests.yaml";
const CRDS: &str = "config/crd/bases";

/// The port of one operator, which may end once this is dropped: it is no longer called.
#[derive(Debug)]
pub(super) struct Webhooks {
    port: u16,
    relay: Relay,
    // The API server stops calling before the relay does.
    served: Option<Served>,
    membership: Option<Membership>,
}

impl Webhooks {
    /// Prepares the webhooks, if the project has any.
    pub(super) fn prepare() -> anyhow::Result<Option<Self>> {
        if !Path::new(MANIFESTS).exists() {
            return Ok(None);
        }
        Ok(Some(Self {
            port: TcpListener::bind("127.0.0.1:0")?.local_addr()?.port(),
            relay: Relay::find()?,
            served: None,
            membership: None,
        }))
    }

    /// Makes the operator serve its webhooks at this port.
    pub(super) fn tell(&self, operator: &mut Command) {
        operator
            .args(["--webhook-host", "127.0.0.1"])
            .args(["--webhook-port", &self.port.to_string()])
            .arg("--webhook-cert-path")
            .arg(self.relay.folder())
            .env("KBR_WEBHOOK_RELAY", "1");
    }

    /// Waits until the operator serves its webhooks, and makes the API server call them for the namespace of the test.
    pub(super) fn install(
        &mut self,
        cluster: &Cluster,
        operator: &mut Child,
    ) -> anyhow::Result<()> {
        self.await_serving(operator)?;
        // All tests of a project share its CRDs, and any of their operators converts.
        let project = std::env::current_dir()?;
        let endpoints = [cluster.namespace(), &project.to_string_lossy()];
        let (membership, [own, shared]) = self.relay.join(self.port, endpoints)?;
        self.membership = Some(membership);
        let ca = ByteString(self.relay.ca()?.into_bytes());
        let client_config = |port: u16, path: &str| {
            let url = format!("https://127.0.0.1:{port}{path}");
            json!({ "url": url, "caBundle": ca })
        };
        let converted = converted(cluster)?;
        block_on(&cluster.config, async |client| {
            for crd in &converted {
                convert(&client, crd, &client_config(shared, "/convert")).await?;
            }
            Ok(())
        })?;
        let objects = configurations(cluster)?;
        let served = serve(cluster, objects, |path| client_config(own, path))?;
        self.served = Some(served);
        Ok(())
    }

    fn await_serving(&self, operator: &mut Child) -> anyhow::Result<()> {
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
        Ok(())
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
