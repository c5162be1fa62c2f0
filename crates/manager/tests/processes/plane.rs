//! The control plane: etcd and kube-apiserver, which tests may stop and restart.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::Context as _;
use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kbr_testing::eventually;
use kube::{
    Api, Client, Config, CustomResourceExt,
    api::{ListParams, ObjectMeta, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

use crate::{audit::Audit, certificates, http, operator::Sailor};

/// The time limit for starting a server on a busy machine.
const START: Duration = Duration::from_secs(120);

/// A control plane in its own directory.
pub struct Plane {
    pub folder: PathBuf,
    pub port: u16,
    /// A client as administrator, without a proxy.
    pub client: Client,
    pub audit: Audit,
    etcd_port: u16,
    etcd: Child,
    api_server: Child,
}

impl Plane {
    /// Starts both servers, and installs the CRD of the operator.
    pub async fn start(folder: &Path) -> anyhow::Result<Self> {
        let [etcd_port, peer_port, port] = free_ports()?;
        certificates::write(folder, &["admin", "a", "b"])?;
        let policy = folder.join("audit-policy.json");
        fs::write(policy, audit_policy().to_string())?;
        let etcd = server(folder, "etcd", &etcd_flags(folder, etcd_port, peer_port))?;
        let api_server = server(
            folder,
            "kube-apiserver",
            &api_flags(folder, etcd_port, port),
        )?;
        let plane = Self {
            client: client(&kubeconfig(folder, "admin", port)?).await?,
            audit: Audit(folder.join("audit.log")),
            folder: folder.to_owned(),
            port,
            etcd_port,
            etcd,
            api_server,
        };
        plane.wait_until_ready().await?;
        plane.install().await?;
        Ok(plane)
    }

    /// Kills the API server, like `kill -9`.
    pub fn stop_api_server(&mut self) -> anyhow::Result<()> {
        self.api_server.kill()?;
        self.api_server.wait()?;
        Ok(())
    }

    /// Starts the API server again, with the data in etcd.
    pub async fn start_api_server(&mut self) -> anyhow::Result<()> {
        self.start_api_server_with(&[]).await
    }

    /// Like [`start_api_server`](Self::start_api_server), with more flags.
    pub async fn start_api_server_with(&mut self, more: &[&str]) -> anyhow::Result<()> {
        let mut flags = api_flags(&self.folder, self.etcd_port, self.port);
        flags.extend(more.iter().map(|&flag| flag.to_owned()));
        self.api_server = server(&self.folder, "kube-apiserver", &flags)?;
        self.wait_until_ready().await
    }

    /// The values in etcd of all keys that begin with `prefix`.
    pub fn values(&self, prefix: &str) -> anyhow::Result<Vec<Vec<u8>>> {
        // In base64. The end of the range is the first key after all those with this prefix.
        let end = format!(
            "{}0",
            prefix.strip_suffix('/').context("the prefix is a folder")?
        );
        let base64 = |text: &str| json!(ByteString(text.as_bytes().to_vec()));
        let body = json!({"key": base64(prefix), "range_end": base64(&end)});
        let answer = http::post(self.etcd_port, "/v3/kv/range", &body.to_string())?;
        let answer: Value = serde_json::from_str(&answer.body)?;
        let all = answer["kvs"].as_array().into_iter().flatten();
        let value = |it: &Value| serde_json::from_value::<ByteString>(it["value"].clone());
        all.map(|it| Ok(value(it)?.0)).collect()
    }

    /// Compacts etcd: removes all history before the current state.
    pub fn compact(&self) -> anyhow::Result<()> {
        let ask = |path: &str, body: &Value| -> anyhow::Result<Value> {
            let answer = http::post(self.etcd_port, path, &body.to_string())?;
            Ok(serde_json::from_str(&answer.body)?)
        };
        let status = ask("/v3/maintenance/status", &json!({}))?;
        let revision = status["header"]["revision"].clone();
        let answer = ask(
            "/v3/kv/compaction",
            &json!({"revision": revision, "physical": true}),
        )?;
        anyhow::ensure!(answer.get("error").is_none(), "cannot compact: {answer}");
        Ok(())
    }

    /// A kubeconfig of this user for the API server behind `port`.
    pub fn kubeconfig(&self, user: &str, port: u16) -> anyhow::Result<PathBuf> {
        kubeconfig(&self.folder, user, port)
    }

    async fn wait_until_ready(&self) -> anyhow::Result<()> {
        eventually(START, "the API server is ready", async || {
            let ready = http::Request::get("/readyz").body(Vec::new())?;
            Ok(self.client.request_text(ready).await.ok())
        })
        .await?;
        Ok(())
    }

    /// Installs the CRD, and waits until the API server lists its objects from its cache. Before that, it could not
    /// delete the CRD.
    pub async fn install(&self) -> anyhow::Result<()> {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        crds.create(&PostParams::default(), &Sailor::crd()).await?;
        let sailors: Api<Sailor> = Api::namespaced(self.client.clone(), "default");
        eventually(START, "the API server serves sailors", async || {
            let params = ListParams::default().fields("metadata.name=none");
            Ok(sailors.list(&params).await.map(drop).ok())
        })
        .await
    }

    /// Starts kube-controller-manager with these controllers only.
    pub fn controllers(&self, names: &[&str]) -> anyhow::Result<Child> {
        let names = names.iter().map(|name| format!("{name}-controller"));
        let names: Vec<_> = names.collect();
        let kubeconfig = self.kubeconfig("admin", self.port)?;
        let flags = [
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--controllers={}", names.join(",")),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        server(&self.folder, "kube-controller-manager", &flags)
    }

    /// Creates a namespace.
    pub async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(self.client.clone());
        let namespace = k8s_openapi::api::core::v1::Namespace {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            ..Default::default()
        };
        namespaces
            .create(&PostParams::default(), &namespace)
            .await?;
        Ok(())
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        for server in [&mut self.api_server, &mut self.etcd] {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// A client with this kubeconfig.
async fn client(kubeconfig: &Path) -> anyhow::Result<Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

fn kubeconfig(folder: &Path, user: &str, port: u16) -> anyhow::Result<PathBuf> {
    let path = folder.join(format!("{user}-{port}.json"));
    let config = json!({
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority": folder.join("ca.crt"),
        }}],
        "users": [{"name": "c", "user": {
            "client-certificate": folder.join(format!("{user}.crt")),
            "client-key": folder.join(format!("{user}.key")),
        }}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    });
    fs::write(&path, config.to_string())?;
    Ok(path)
}

/// Starts a program that ends with this process, however this process ends.
fn server(folder: &Path, name: &str, flags: &[String]) -> anyhow::Result<Child> {
    let log = folder.join(format!("{name}.log"));
    let log = fs::File::options().create(true).append(true).open(log)?;
    let program = assets()?.join(name);
    Command::new(std::env::current_exe()?)
        .arg("exec")
        .arg(&program)
        .args(flags)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .with_context(|| format!("cannot start `{}`", program.display()))
}

/// The directory in which setup-envtest and `kbr envtest build` store the programs.
pub fn assets() -> anyhow::Result<PathBuf> {
    if let Some(folder) = std::env::var_os("KUBEBUILDER_ASSETS") {
        return Ok(folder.into());
    }
    let home = std::env::var("HOME").context("there is no HOME")?;
    let data = std::env::var("XDG_DATA_HOME").unwrap_or(format!("{home}/.local/share"));
    let store = Path::new(&data).join("kubebuilder-envtest/k8s");
    let mut found: Vec<_> = fs::read_dir(&store)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(|| format!("`{}`\nhelp: make control-plane", store.display()))?;
    found.retain(|folder: &PathBuf| folder.join("kube-apiserver").exists());
    found.sort();
    found
        .pop()
        .context("no kube-apiserver is built\nhelp: make control-plane")
}

fn free_ports() -> std::io::Result<[u16; 3]> {
    let bind = || std::net::TcpListener::bind(("127.0.0.1", 0));
    let listeners = [bind()?, bind()?, bind()?];
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

fn etcd_flags(folder: &Path, port: u16, peer_port: u16) -> Vec<String> {
    vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls=http://127.0.0.1:{port}"),
        format!("--advertise-client-urls=http://127.0.0.1:{port}"),
        format!("--listen-peer-urls=http://127.0.0.1:{peer_port}"),
        "--unsafe-no-fsync=true".to_owned(),
    ]
}

fn api_flags(folder: &Path, etcd_port: u16, port: u16) -> Vec<String> {
    let file = |flag: &str, name: &str| format!("--{flag}={}", folder.join(name).display());
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        format!("--secure-port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        file("cert-dir", ""),
        file("tls-cert-file", "server.crt"),
        file("tls-private-key-file", "server.key"),
        file("client-ca-file", "ca.crt"),
        "--service-account-issuer=https://127.0.0.1/".to_owned(),
        file("service-account-key-file", "tokens.pub"),
        file("service-account-signing-key-file", "tokens.key"),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        file("audit-policy-file", "audit-policy.json"),
        file("audit-log-path", "audit.log"),
    ]
}

/// Logs the requests of the replicas when they are answered, and watches when they start. For replicas with webhooks,
/// it logs the requests for Secrets.
fn audit_policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Metadata", "users": ["a", "b"]},
            {"level": "Metadata", "userGroups": ["system:serviceaccounts"],
             "resources": [{"group": "", "resources": ["secrets"]}]},
            {"level": "None"},
        ],
    })
}
