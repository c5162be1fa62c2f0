//! A running control plane: the supervisor's pipe, the folder, and kubectl.

use std::collections::HashSet;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};

use super::assets::Assets;
use super::client::Client;
use super::egress::{self, Services};
use super::etcd::Etcd;
use super::folder::{self, Folder};
use super::logs::{self, tail};
use super::options::Options;
use super::setup::Setup;
use super::supervision::{Supervision, Supervisors};
use super::{Progress, certificates, garbage, kubeconfig, relay};
use kbr_host::diagnostic::{Diagnostic, Problem};
use kbr_host::output;
use kbr_host::signals::Stop;

/// etcd and kube-apiserver, and the controllers of a cluster. Dropping it stops them and removes the folder, which takes up to
/// half a second.
#[derive(Debug)]
pub struct ControlPlane {
    setup: Setup,
    assets: Assets,
    supervisors: Supervisors,
    events: Option<Mutex<Receiver<String>>>,
    /// Removed after the supervisors have ended; these remove it themselves unless they were killed.
    folder: Folder,
    deadline: Instant,
    /// Ends the wait for the servers.
    stop: Stop,
    stopping: Arc<AtomicBool>,
    progress: Progress,
}

impl ControlPlane {
    /// Starts etcd and kube-apiserver through supervisors. `stop` of the options ends later waits with an error, and they fail
    /// after `limit`.
    pub(super) fn launch(folder: Folder, setup: Setup, options: &Options) -> anyhow::Result<Self> {
        certificates::write(&folder.path)?;
        folder::write(&folder.path.join("kubeconfig"), &kubeconfig::admin(&setup))?;
        if options.supervision == Supervision::Kbr {
            relay::write_certificate(&folder.path)?;
        }
        let lock = folder.lock()?;
        let (supervisors, events) = Supervisors::start(options.supervision, &setup, lock)?;
        Ok(Self {
            supervisors,
            events: Some(Mutex::new(events)),
            assets: Assets {
                folder: setup.assets.clone(),
            },
            deadline: Instant::now() + options.limit,
            folder,
            stop: options.stop.clone(),
            stopping: Arc::default(),
            progress: options.progress,
            setup,
        })
    }

    /// Keeps the folder when this is dropped.
    pub fn keep_folder(&mut self) {
        self.folder.keep();
    }

    /// Leaves the servers running when kbr ends.
    pub fn detach(mut self) -> anyhow::Result<()> {
        self.supervisors.detach()?;
        self.folder.keep();
        Ok(())
    }

    /// Starts the controllers of a cluster. kube-apiserver must be serving.
    pub(super) fn start_controllers(&mut self) -> anyhow::Result<()> {
        self.supervisors.start_controllers(&self.setup)
    }

    /// Lets the controllers of a cluster stand still, or go on.
    ///
    /// # Errors
    /// The servers have ended.
    pub fn pause_controllers(&mut self, pause: bool) -> anyhow::Result<()> {
        self.supervisors.pause_controllers(pause)
    }

    /// Deletes what has lost its owners, from now on: in a cluster, kube-controller-manager does. The owners with the uids of `elsewhere` are
    /// not here, and exist.
    ///
    /// # Errors
    /// The client certificate cannot be read.
    pub fn collect_garbage(&self, elsewhere: HashSet<String>) -> anyhow::Result<()> {
        garbage::start(
            self.client()?,
            elsewhere,
            self.progress,
            self.stopping.clone(),
        );
        Ok(())
    }

    /// Waits until a GET of `path` succeeds with an answer that is `enough`.
    pub(super) fn wait_for(
        &self,
        path: &str,
        enough: impl Fn(&[u8]) -> bool,
    ) -> anyhow::Result<()> {
        let mut reported = Instant::now();
        loop {
            let answer = self
                .kubectl()
                .args(["get", "--request-timeout=5s", "--raw", path])
                .output()?;
            if answer.status.success() && enough(&answer.stdout) {
                return Ok(());
            }
            if self.stop.requested() {
                bail!("the start was interrupted");
            }
            self.check_servers()?;
            if Instant::now() > self.deadline {
                let errors = String::from_utf8_lossy(&answer.stderr);
                let answer = match errors.trim() {
                    "" => format!("not ready yet, according to `{path}`"),
                    errors => errors.to_owned(),
                };
                let what = format!("kube-apiserver did not become ready in time: {answer}");
                let help = self.supervisors.kind.help_for_time();
                return Err(self.with_log(&what, "kube-apiserver", help));
            }
            if reported.elapsed() > Duration::from_secs(10) {
                reported = Instant::now();
                self.progress.report("waiting", "for kube-apiserver");
            }
        }
    }

    /// Fails if a server has ended. Waits a moment, so that it can be called in a loop.
    fn check_servers(&self) -> anyhow::Result<()> {
        let Some(events) = &self.events else {
            return Ok(());
        };
        let events = events.lock().unwrap_or_else(PoisonError::into_inner);
        match events.recv_timeout(Duration::from_millis(50)) {
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => Err(self.supervisors.have_ended()),
            Ok(event) => match exited(&event) {
                Some((name, status)) => {
                    let what = format!("{name} ended during startup ({status})");
                    Err(self.with_log(&what, name, self.supervisors.kind.help_for_logs()))
                }
                None => Err(anyhow!("{}", event.trim_start_matches("failed "))),
            },
        }
    }

    fn with_log(&self, what: &str, name: &str, help: &str) -> anyhow::Error {
        let log = tail(&self.setup.log(name), 20);
        let error = Diagnostic::new(format_args!("{what}; the end of its log:"));
        error.details(log).help(help).into()
    }

    /// Whether a server ended because another program uses its port.
    pub(super) fn lost_its_port(&self) -> bool {
        let end = |name| logs::end(&self.setup.log(name)).unwrap_or_default();
        ["etcd", "kube-apiserver"]
            .map(end)
            .iter()
            .any(|log| log.contains("address already in use"))
    }

    /// The matching kubectl, as administrator, without stdin.
    pub fn kubectl(&self) -> Command {
        let mut kubectl = Command::new(self.assets.program("kubectl"));
        // Without the user's kubectl preferences.
        kubectl.env("KUBERC", "off");
        kubectl.envs(self.environment()).stdin(Stdio::null());
        kubectl
    }

    /// A client for the API server, as administrator.
    pub fn client(&self) -> anyhow::Result<Client> {
        Client::new(&self.setup)
    }

    /// A client for etcd, if the control plane is for a clone.
    ///
    /// # Errors
    /// Its certificate cannot be read.
    pub fn etcd(&self) -> anyhow::Result<Etcd> {
        Etcd::new(&self.setup)
    }

    /// From now on, these Services are programs of this machine. Only for a cluster or a clone.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn map_services(&self, services: &Services) -> anyhow::Result<()> {
        egress::write(self.folder(), services)
    }

    /// The URL of the API server.
    pub fn url(&self) -> String {
        self.setup.server()
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig_text(&self) -> String {
        kubeconfig::admin(&self.setup)
    }

    /// Its folder with the kubeconfig, readable only by the user.
    pub fn folder(&self) -> &Path {
        &self.setup.folder
    }

    /// Writes the kubeconfig of a service account, with its namespace as the default; returns its path.
    pub fn write_kubeconfig(&self, namespace: &str, account: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder().join("operator.kubeconfig");
        let text = kubeconfig::service_account(&self.setup, namespace, account);
        folder::write(&path, &text)?;
        Ok(path)
    }

    /// Writes a kubeconfig with the token of a service account, and its namespace as the default; returns its path.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_token_kubeconfig(&self, namespace: &str, token: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder().join("operator.kubeconfig");
        folder::write(&path, &kubeconfig::token(&self.setup, namespace, token))?;
        Ok(path)
    }

    /// The environment variables with which programs use this API server and no other.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("KUBECONFIG", self.setup.folder.join("kubeconfig").into()),
            // kubectl's cached discovery of another server on the same port must not be used.
            (
                "KUBECACHEDIR",
                self.setup.folder.join("kubectl-cache").into(),
            ),
            ("NO_PROXY", without_proxy()),
            ("no_proxy", without_proxy()),
        ]
    }

    /// From now on, reports on stderr that a server has ended, instead of failing.
    pub fn report_server_exits(&mut self) {
        let Some(events) = self.events.take() else {
            return;
        };
        let events = events.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (setup, stopping) = (self.setup.clone(), self.stopping.clone());
        thread::spawn(move || {
            for event in events {
                if let Some((name, status)) = exited(&event) {
                    let log = tail(&setup.log(name), 10);
                    let text = format!("{name} ended ({status}); the end of its log:");
                    output::problem("warning", &Problem::new(text).below(log));
                }
            }
            if !stopping.load(Ordering::Relaxed) {
                output::message(
                    "warning: kbr envtest supervisor was killed, and the servers with it",
                );
            }
        });
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.supervisors.stop();
    }
}

/// Parses a line `exited <program> <status>`.
fn exited(event: &str) -> Option<(&str, &str)> {
    event.strip_prefix("exited ")?.split_once(' ')
}

/// The hosts that need no proxy, including the loopback.
fn without_proxy() -> OsString {
    let set = |name| env::var_os(name).filter(|hosts| !hosts.is_empty());
    let mut hosts = OsString::from("127.0.0.1,localhost");
    if let Some(before) = set("NO_PROXY").or_else(|| set("no_proxy")) {
        hosts.push(",");
        hosts.push(before);
    }
    hosts
}
