//! The `ServiceAccount` of an operator under test, with the permissions from `config/default`.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use kube::config::Kubeconfig;
use serde_json::{Value, json};

use super::{
    Cluster,
    cluster::LIMIT,
    deployment::{Deployment, GRANTS},
};

/// The overlay that `make deploy` deploys.
const OVERLAY: &str = "config/default";

/// Numbers the kubeconfigs: each operator removes its own.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// A `ServiceAccount` in the namespace of a test, and a kubeconfig that is removed on drop.
#[derive(Debug)]
pub(super) struct ServiceAccount {
    deployment: Deployment,
    namespace: String,
    kubeconfig: PathBuf,
}

impl Drop for ServiceAccount {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.kubeconfig);
    }
}

impl ServiceAccount {
    /// Creates it with its roles, and waits until they take effect; `None` if the project has no `config/default`.
    pub(super) fn create(cluster: &Cluster) -> anyhow::Result<Option<Self>> {
        if !Path::new(OVERLAY).join("kustomization.yaml").exists() {
            eprintln!(
                "the operator runs as an administrator, because the project has no `{OVERLAY}`"
            );
            return Ok(None);
        }
        let rendered = cluster.kubectl_with(&["kustomize", OVERLAY], "")?;
        let objects = objects(cluster, &rendered)?;
        let deployment = Deployment::find(&objects).with_context(|| {
            format!("`{OVERLAY}` has no Deployment with a `serviceAccountName`")
        })?;
        let namespace = cluster.namespace().to_owned();
        let grants = deployment.grants(objects, &namespace);
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": grants });
        let apply = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--filename",
            "-",
        ];
        cluster.kubectl_with(&apply, &list.to_string())?;
        await_effect(cluster, &deployment.questions(&grants, &namespace))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{namespace}-{}-{number}.kubeconfig", std::process::id());
        let account = Self {
            kubeconfig: std::env::temp_dir().join(name),
            namespace,
            deployment,
        };
        account.write_kubeconfig()?;
        Ok(Some(account))
    }

    /// Runs the operator as this `ServiceAccount`, in the environment that its Pod would have.
    pub(super) fn tell(&self, operator: &mut Command) {
        operator
            .env("KUBECONFIG", &self.kubeconfig)
            .env("POD_NAMESPACE", &self.namespace);
        if self.deployment.leader_elect {
            operator.arg("--leader-elect");
        }
    }

    /// The administrator's kubeconfig, which impersonates the `ServiceAccount`: the API server adds its groups.
    fn write_kubeconfig(&self) -> anyhow::Result<()> {
        let mut config = Kubeconfig::read().context("cannot read the kubeconfig")?;
        for user in config
            .auth_infos
            .iter_mut()
            .filter_map(|user| user.auth_info.as_mut())
        {
            user.impersonate = Some(self.deployment.user(&self.namespace));
        }
        for context in config
            .contexts
            .iter_mut()
            .filter_map(|known| known.context.as_mut())
        {
            context.namespace = Some(self.namespace.clone());
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.kubeconfig)?;
        file.write_all(serde_json::to_string(&config)?.as_bytes())?;
        Ok(())
    }
}

/// The Deployments and permissions among the rendered objects. `kubectl` parses the YAML, but only for kinds that every
/// API server knows.
fn objects(cluster: &Cluster, rendered: &str) -> anyhow::Result<Vec<Value>> {
    let kind = |document: &&str| {
        let mut kinds = document
            .lines()
            .filter_map(|line| line.strip_prefix("kind: "));
        kinds.any(|kind| kind == "Deployment" || GRANTS.contains(&kind))
    };
    let documents: Vec<_> = rendered.split("\n---\n").filter(kind).collect();
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let read = ["--dry-run=client", "--filename", "-"];
    cluster.kubectl_create(&read, &documents.join("\n---\n"))
}

/// Repeats the access reviews until all are allowed.
fn await_effect(cluster: &Cluster, questions: &[Value]) -> anyhow::Result<()> {
    if questions.is_empty() {
        return Ok(());
    }
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": questions });
    let start = Instant::now();
    loop {
        let answers = cluster.kubectl_create(&["--filename", "-"], &list.to_string())?;
        let denied = answers
            .iter()
            .find(|answer| answer["status"]["allowed"] != true);
        let Some(denied) = denied else {
            return Ok(());
        };
        anyhow::ensure!(
            start.elapsed() < LIMIT,
            "the operator's roles have no effect within {LIMIT:?}: {}",
            denied["spec"]
        );
        sleep(Duration::from_millis(20));
    }
}
