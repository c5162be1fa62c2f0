//! The control plane of the tests of other projects: see the documentation of the crate.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::control_plane::ControlPlane;
use super::start::{self, Cluster};
use super::supervision::Supervision;
use super::{Progress, crds, installed, logs};
use kbr_host::signals::Stop;

/// A running etcd and kube-apiserver, and the controllers of a cluster. Dropping it stops them and removes their folder.
#[derive(Debug)]
pub struct Envtest {
    plane: ControlPlane,
}

impl Envtest {
    /// What to start, and how.
    pub fn builder() -> Builder {
        Builder {
            crds: Vec::new(),
            cluster: None,
            store: None,
            logs: None,
            start_timeout: Duration::from_secs(120),
        }
    }

    /// The file with the administrator's kubeconfig. It exists until this is dropped.
    pub fn kubeconfig(&self) -> PathBuf {
        self.plane.folder().join("kubeconfig")
    }

    /// The administrator's kubeconfig, in JSON, which is also YAML. It names files that exist until this is dropped.
    pub fn kubeconfig_text(&self) -> String {
        self.plane.kubeconfig_text()
    }

    /// The URL of the API server, such as `https://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        self.plane.url()
    }

    /// The environment variables with which other programs use this API server, `KUBECONFIG` among them.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        self.plane.environment()
    }

    /// The matching kubectl, as administrator.
    pub fn kubectl(&self) -> Command {
        self.plane.kubectl()
    }
}

/// What [`Envtest::builder`] returns.
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `start`"]
pub struct Builder {
    crds: Vec<PathBuf>,
    cluster: Option<Cluster>,
    store: Option<PathBuf>,
    logs: Option<PathBuf>,
    start_timeout: Duration,
}

impl Builder {
    /// Installs the CRDs in the `.yaml`, `.yml` and `.json` files of `folder`. Can be called for several folders. A relative path
    /// begins in the current folder: in `cargo test`, that of the package.
    pub fn crds(mut self, folder: impl Into<PathBuf>) -> Self {
        self.crds.push(folder.into());
        self
    }

    /// Starts a whole cluster: also kube-controller-manager, kube-scheduler, and kwok, which plays the kubelet of a fake node.
    ///
    /// Deployments are rolled out, namespaces are removed, Pods become `Running` and Jobs complete, but no
    /// container runs. A Pod's annotation `kbr/pod-phase` makes it stay `Pending` or `Running`, or end as `Succeeded` or `Failed`.
    /// The API server connects to nothing but the loopback.
    pub fn cluster(mut self) -> Self {
        self.cluster.get_or_insert_default();
        self
    }

    /// Starts a whole cluster, as [`Builder::cluster`] does, with this number of fake nodes.
    pub fn nodes(mut self, count: u16) -> Self {
        self.cluster.get_or_insert_default().nodes = count;
        self
    }

    /// Starts a whole cluster, as [`Builder::cluster`] does, whose API server reaches this Service at a port of this machine, for
    /// webhooks and conversion. Can be called for several Services.
    ///
    /// The program on that port must have a certificate for `NAME.NAMESPACE.svc`.
    pub fn map_service(mut self, namespace: &str, name: &str, port: u16) -> Self {
        let cluster = self.cluster.get_or_insert_default();
        cluster.services.insert(format!("{namespace}/{name}"), port);
        self
    }

    /// Looks for the programs in this store instead of setup-envtest's, unless `KUBEBUILDER_ASSETS` is set.
    pub fn store(mut self, store: impl Into<PathBuf>) -> Self {
        self.store = Some(store.into());
        self
    }

    /// Writes the logs of the servers to `folder`, which stays. Without it, only the end of a log is part of an error.
    pub fn logs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.logs = Some(folder.into());
        self
    }

    /// How long the servers may take to become ready: two minutes, unless this is called.
    pub fn start_timeout(mut self, limit: Duration) -> Self {
        self.start_timeout = limit;
        self
    }

    /// Starts the servers, installs the CRDs and waits until they are served. Blocks meanwhile, and prints nothing.
    ///
    /// # Errors
    /// The programs are not installed, a server does not start, or the API server rejects a CRD.
    pub fn start(self) -> Result<Envtest, Error> {
        self.plane().map(|plane| Envtest { plane }).map_err(Error)
    }

    fn plane(self) -> anyhow::Result<ControlPlane> {
        let assets = match &self.cluster {
            Some(_) => installed::find_for_cluster(self.store)?,
            None => installed::find(self.store)?,
        };
        let mut definitions = Vec::new();
        for folder in &self.crds {
            definitions.extend(crds::read(folder)?);
        }
        crds::remove_conversion(&mut definitions);
        let logs = self.logs.as_deref().map(logs::folder).transpose()?;
        let options = start::Options {
            logs: logs.as_deref(),
            audit: None,
            limit: self.start_timeout,
            stop: &Stop::default(),
            cluster: self.cluster.as_ref(),
            clone: false,
            progress: Progress::Silent,
            supervision: Supervision::Shells,
        };
        let plane = start::start(&assets, &options)?;
        crds::install(&plane, &definitions)?;
        start::wait_until_ready(&plane, &options)?;
        Ok(plane)
    }
}

/// Why the servers could not be started, and what to do about it. `{:?}` is as readable as `{}`, for `unwrap` in tests.
pub struct Error(anyhow::Error);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
