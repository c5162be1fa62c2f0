//! The deployed operator with webhooks: objects of the cluster, permissions, and replicas.

use std::{
    fs::{self, File},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::Context as _;
use hyper::{Method, Request};
use kbr_testing::eventually;
use kube::Client;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{
    guests::{configuration, crd},
    spread::Spread,
};
use crate::{plane::Plane, replica::LONG, world::World};

pub const NAMESPACE: &str = "guests-system";
pub const SECRET: &str = "/api/v1/namespaces/guests-system/secrets/guests-webhook-certificate";
pub const GUESTS: &str = "/apis/hotel.example.com/v2/namespaces/guests-system/guests";
pub const CRD: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/guests.hotel.example.com";
pub const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/\
    mutatingwebhookconfigurations/guests-mutating-webhook-configuration";
pub const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/\
    validatingwebhookconfigurations/guests-validating-webhook-configuration";

const ACCOUNT: &str = "guests-controller-manager";
pub const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
pub const LOCAL: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/guests-system";

/// A file under `config` in the scaffolds for webhooks.
macro_rules! scaffolded {
    ($path:literal) => {
        scaffolded!("webhook", $path)
    };
    ($set:literal, $path:literal) => {
        include_str!(concat!(
            "../../../../../scaffolds/v1/",
            $set,
            "/config/",
            $path
        ))
    };
}

const CONFIGURATIONS: &str = scaffolded!("webhook-self-signed/role.yaml.insert.tera");
const CRDS: &str = scaffolded!("conversion", "webhook-self-signed/role.yaml.insert.tera");

/// The operator in its cluster.
pub struct Site {
    pub client: Client,
    pub spread: Spread,
    pub replicas: Vec<Guests>,
    folder: std::path::PathBuf,
    kubeconfig: std::path::PathBuf,
}

impl Site {
    /// Deploys everything; no replica runs yet, and all CA bundles are empty.
    pub async fn new(world: &World) -> anyhow::Result<Self> {
        let (plane, spread) = (&world.plane, Spread::start("127.0.0.1").await?);
        let mut site = Self {
            client: plane.client.clone(),
            folder: plane.folder.clone(),
            kubeconfig: std::path::PathBuf::new(),
            replicas: Vec::new(),
            spread,
        };
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE },
        });
        site.apply("/api/v1/namespaces/guests-system", &namespace)
            .await?;
        for path in [SECRET, MUTATING, VALIDATING] {
            // An object that does not exist is fine.
            let _ = site
                .call(Method::DELETE, path, "application/json", &Value::Null)
                .await;
        }
        site.rights().await?;
        site.kubeconfig = site.token(plane).await?;
        site.deploy("v2").await?;
        // CA bundles from another test survive an apply.
        site.untrust(CRD).await?;
        Ok(site)
    }

    /// Deploys configurations and CRD, like `make deploy`.
    pub async fn deploy(&self, stored: &str) -> anyhow::Result<()> {
        let port = self.spread.port;
        self.apply(CRD, &crd(stored, port)?).await?;
        self.apply(MUTATING, &configuration(true, port)).await?;
        self.apply(VALIDATING, &configuration(false, port)).await?;
        Ok(())
    }

    /// Deploys an object without the changes of the operator, like `kubectl replace`.
    pub async fn untrust(&self, path: &str) -> anyhow::Result<()> {
        let port = self.spread.port;
        let mut without = match path {
            CRD => json!({ "spec": { "conversion": crd("v2", port)?["spec"]["conversion"] } }),
            _ => json!({ "webhooks": configuration(path == MUTATING, port)["webhooks"] }),
        };
        if path == CRD {
            without["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = Value::Null;
        }
        let merge = "application/merge-patch+json";
        self.call(Method::PATCH, path, merge, &without).await?;
        Ok(())
    }

    /// Starts this many replicas at once, and routes calls to those that are ready.
    pub async fn start(&mut self, count: usize) -> anyhow::Result<()> {
        for _ in 0..count {
            self.replicas.push(self.spawn()?);
        }
        self.ready().await
    }

    /// Starts a replica.
    pub fn spawn(&self) -> anyhow::Result<Guests> {
        self.spawn_with(&[])
    }

    /// Starts a replica with additional flags.
    pub fn spawn_with(&self, flags: &[&str]) -> anyhow::Result<Guests> {
        Guests::start(&self.folder, &self.kubeconfig, flags)
    }

    /// Waits until all replicas are ready.
    pub async fn ready(&self) -> anyhow::Result<()> {
        for replica in &self.replicas {
            replica.ready().await?;
        }
        self.route();
        Ok(())
    }

    /// Routes calls to the current replicas.
    pub fn route(&self) {
        self.spread
            .set(self.replicas.iter().map(|replica| replica.port).collect());
    }

    /// Waits until webhooks admit and convert objects; returns how long that took.
    pub async fn admitting(&self) -> anyhow::Result<Duration> {
        let started = std::time::Instant::now();
        let admitted = (
            format!("{GUESTS}?dryRun=All"),
            guest("probe", &json!({ "first": "a" })),
        );
        // The API server may trust the CA of admission before that of conversion.
        for (path, object) in [admitted, converted()] {
            eventually(LONG, "a guest is admitted", async || {
                self.create(&path, &object).await.map(Some)
            })
            .await?;
        }
        Ok(started.elapsed())
    }

    pub async fn create(&self, path: &str, object: &Value) -> anyhow::Result<Value> {
        Ok(self
            .call(Method::POST, path, "application/json", object)
            .await?)
    }

    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        Ok(self
            .client
            .request(Request::get(path).body(Vec::new())?)
            .await?)
    }

    /// Applies an object as the user who deploys.
    pub async fn apply(&self, path: &str, object: &Value) -> anyhow::Result<Value> {
        self.apply_text(path, object.to_string()).await
    }

    /// Applies YAML text.
    async fn apply_text(&self, path: &str, text: String) -> anyhow::Result<Value> {
        let request = Request::patch(format!("{path}?fieldManager=kubectl&force=true"));
        let request = request.header("content-type", "application/apply-patch+yaml");
        let applied = self.client.request(request.body(text.into_bytes())?).await;
        applied.with_context(|| format!("cannot apply `{path}`"))
    }

    pub async fn call(
        &self,
        method: Method,
        path: &str,
        media_type: &str,
        body: &Value,
    ) -> kube::Result<Value> {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = Request::builder().method(method).uri(path);
        let request = request
            .header("content-type", media_type)
            .body(body.into_bytes());
        self.client
            .request(request.map_err(kube::Error::HttpError)?)
            .await
    }

    /// Grants the permissions that a project gets for self-managed certificates, from the scaffolds themselves.
    pub async fn rights(&self) -> anyhow::Result<()> {
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": ACCOUNT },
        });
        let accounts = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}");
        self.apply(&accounts, &account).await?;
        let role = scaffolded!("webhook-self-signed/role.yaml.once.tera")
            .replace("  # +kbr:scaffold:configurations", &rules(CONFIGURATIONS))
            .replace("  # +kbr:scaffold:crds", &rules(CRDS));
        let binding = scaffolded!("webhook-self-signed/role_binding.yaml.once.tera");
        let in_cluster = ["clusterroles", "clusterrolebindings"];
        let in_namespace = ["roles", "rolebindings"];
        for (at, text) in [role, binding.to_owned()].iter().enumerate() {
            let text = text
                .replace("{{ project }}", "guests")
                .replace("{{ prefix }}", "guests")
                .replace("{{ service_account }}", "guests-controller-manager")
                .replace("{{ deployment }}", "guests-controller-manager")
                .replace("{{ namespace }}", NAMESPACE)
                .replace("{{plural}}.{{full_group}}", "guests.hotel.example.com");
            let (cluster, namespace) = text.split_once("\n---\n").context("two documents")?;
            let suffix = ["role", "rolebinding"][at];
            for (path, document) in [
                (format!("{RBAC}/{}", in_cluster[at]), cluster),
                (format!("{LOCAL}/{}", in_namespace[at]), namespace),
            ] {
                let path = format!("{path}/guests-webhook-certificate-{suffix}");
                self.apply_text(&path, document.to_owned()).await?;
            }
        }
        Ok(())
    }

    /// A kubeconfig of the service account.
    async fn token(&self, plane: &Plane) -> anyhow::Result<std::path::PathBuf> {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token");
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {},
        });
        let token = self.create(&path, &request).await?;
        let admin = fs::read(plane.kubeconfig("admin", plane.port)?)?;
        let mut config: Value = serde_json::from_slice(&admin)?;
        config["users"][0]["user"] = json!({ "token": token["status"]["token"] });
        config["contexts"][0]["context"]["namespace"] = json!(NAMESPACE);
        let file = plane.folder.join("guests.json");
        fs::write(&file, config.to_string())?;
        Ok(file)
    }
}

/// The rules that a template inserts into a role.
fn rules(template: &str) -> String {
    let lines = template.lines().filter(|line| line.starts_with("- "));
    lines
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A guest of the stored version.
pub fn guest(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "hotel.example.com/v2", "kind": "Guest",
        "metadata": { "name": name }, "spec": spec,
    })
}

/// The path to create a guest of another version, and the guest: it is converted before and after webhooks are called.
pub fn converted() -> (String, Value) {
    let path = format!("/apis/hotel.example.com/v1/namespaces/{NAMESPACE}/guests?dryRun=All");
    let guest = json!({
        "apiVersion": "hotel.example.com/v1", "kind": "Guest",
        "metadata": { "name": "old" }, "spec": { "name": "Ada Lovelace" },
    });
    (path, guest)
}

/// A replica; killed when dropped.
pub struct Guests {
    pub port: u16,
    child: Child,
    log: std::path::PathBuf,
}

impl Guests {
    fn start(
        folder: &std::path::Path,
        kubeconfig: &std::path::Path,
        flags: &[&str],
    ) -> anyhow::Result<Self> {
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?
            .local_addr()?
            .port();
        let log = folder.join(format!("guests-{port}.log"));
        let child = Command::new(std::env::current_exe()?)
            .arg("webhooks")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args([
                "--webhook-host=127.0.0.1",
                "--webhook-certificate=self-managed",
                "--health-probe-bind-address=0",
                "--log-format=json",
                "--shutdown-delay=2s",
                "--leader-elect=false",
            ])
            .arg(format!("--webhook-port={port}"))
            .args(flags)
            .env_remove("RUST_LOG")
            .env_remove("POD_NAMESPACE")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()?;
        Ok(Self { port, child, log })
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it is ready.
    pub async fn ready(&self) -> anyhow::Result<()> {
        let serving = || self.log().contains("\"serving webhooks\"");
        eventually(LONG, "a replica serves webhooks", async || {
            Ok(serving().then_some(()))
        })
        .await
        .with_context(|| self.log())
    }

    /// How often it has switched to another certificate.
    pub fn served(&self) -> usize {
        self.log().matches("serving a new certificate").count()
    }

    /// Its peak memory in kB.
    pub fn peak(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.context("its memory")?.parse()?)
    }

    /// How many certificates it has created.
    pub fn made(&self) -> usize {
        self.log().matches("made a certificate").count()
    }

    /// Terminates it like a cluster; returns whether it ended with success.
    pub async fn end(mut self) -> anyhow::Result<bool> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?).context("a process has an id")?;
        kill_process(pid, Signal::TERM)?;
        let child = &mut self.child;
        let ended = eventually(LONG, "a replica ends", || {
            std::future::ready(child.try_wait().map_err(Into::into))
        });
        Ok(ended.await?.success())
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
