//! A running control plane: the supervisor's pipe, the folder, and kubectl.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};

use super::assets::Assets;
use super::folder::{self, Folder};
use super::logs::{self, tail};
use super::servers::Setup;
use super::{certificates, kubeconfig, progress};
use crate::diagnostic::{Diagnostic, Outcome};
use crate::output;
use crate::signals::Stop;

/// The number of attempts to start if another program takes a port.
const ATTEMPTS: usize = 5;

/// The readiness check without two parts that take a second: RBAC's default roles, which `system:masters` does not
/// need, and the priority classes. CRDs are installed meanwhile.
const SERVING: &str = "/readyz?exclude=poststarthook/rbac/bootstrap-roles&exclude=poststarthook/scheduling/bootstrap-system-priority-classes";

/// etcd and kube-apiserver. Dropping it stops them and removes the folder, which takes up to half a second.
#[derive(Debug)]
pub struct ControlPlane {
    setup: Setup,
    assets: Assets,
    supervisor: Child,
    /// Closing it stops the supervisor.
    pipe: Option<ChildStdin>,
    events: Option<Receiver<String>>,
    /// Removed after the supervisor has ended; the supervisor removes it itself unless it was killed.
    _folder: Folder,
    deadline: Instant,
    /// Ends the wait for the servers.
    stop: Stop,
    stopping: Arc<AtomicBool>,
}

/// Starts a control plane that answers the administrator's requests within `limit`. The logs go to `logs`, or are removed
/// with the folder. Call [`ControlPlane::wait_until_ready`] next.
/// `stop` ends the wait with an error.
pub fn start(
    assets: &Assets,
    logs: Option<&Path>,
    limit: Duration,
    stop: &Stop,
) -> anyhow::Result<ControlPlane> {
    folder::remove_stale();
    progress("starting", "etcd and kube-apiserver");
    let mut attempt = 1;
    loop {
        let plane = ControlPlane::launch(assets, logs, limit, stop)?;
        match plane.wait_for(SERVING) {
            Ok(()) => return Ok(plane),
            Err(_) if attempt < ATTEMPTS && plane.lost_its_port() => attempt += 1,
            Err(error) => return Err(error),
        }
        progress("starting", "again, because another program took a port");
    }
}

impl ControlPlane {
    fn launch(
        assets: &Assets,
        logs: Option<&Path>,
        limit: Duration,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let folder = Folder::create()?;
        let logs = logs.unwrap_or(&folder.path);
        let setup = Setup::new(assets, &folder.path, logs)?;
        certificates::write(&folder.path)?;
        fs::write(folder.path.join("kubeconfig"), kubeconfig::admin(&setup))?;
        let mut supervisor = Command::new(env::current_exe()?)
            .args(["envtest", "supervisor"])
            .args(setup.to_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(folder.lock()?)
            // Ctrl-C is for kbr and the command, from the first moment on.
            .process_group(0)
            .spawn()
            .context("cannot start kbr envtest supervisor")?;
        Ok(Self {
            pipe: supervisor.stdin.take(),
            events: supervisor.stdout.take().map(events),
            assets: assets.clone(),
            deadline: Instant::now() + limit,
            _folder: folder,
            stop: stop.clone(),
            stopping: Arc::default(),
            supervisor,
            setup,
        })
    }

    /// Waits until the server has finished its start and the namespace `default` exists.
    pub fn wait_until_ready(&self) -> anyhow::Result<()> {
        self.wait_for("/readyz")?;
        self.wait_for("/api/v1/namespaces/default")
    }

    /// Waits until a GET of `path` succeeds.
    fn wait_for(&self, path: &str) -> anyhow::Result<()> {
        let mut reported = Instant::now();
        loop {
            let answer = self
                .kubectl()
                .args(["get", "--request-timeout=5s", "--raw", path])
                .output()?;
            if answer.status.success() {
                return Ok(());
            }
            if self.stop.requested() {
                bail!("the start was interrupted");
            }
            self.check_servers()?;
            if Instant::now() > self.deadline {
                let errors = String::from_utf8_lossy(&answer.stderr);
                let what = format!(
                    "kube-apiserver did not become ready in time: {}",
                    errors.trim()
                );
                return Err(self.with_log(
                    &what,
                    "kube-apiserver",
                    "pass a longer --start-timeout",
                ));
            }
            if reported.elapsed() > Duration::from_secs(10) {
                reported = Instant::now();
                progress("waiting", "for kube-apiserver");
            }
        }
    }

    /// Fails if a server has ended. Waits a moment, so that it can be called in a loop.
    fn check_servers(&self) -> anyhow::Result<()> {
        let Some(events) = &self.events else {
            return Ok(());
        };
        match events.recv_timeout(Duration::from_millis(50)) {
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => bail!("kbr envtest supervisor has ended"),
            Ok(event) => match exited(&event) {
                Some((name, status)) => {
                    let what = format!("{name} ended during startup ({status})");
                    Err(self.with_log(&what, name, "pass --keep-logs DIR to keep the whole log"))
                }
                None => Err(anyhow!("{}", event.trim_start_matches("failed "))),
            },
        }
    }

    fn with_log(&self, what: &str, name: &str, help: &str) -> anyhow::Error {
        let log = tail(&self.setup.log(name), 20);
        let text = format!("{what}; the end of its log:\n{}", log.trim_end());
        let error = Diagnostic::new(text).outcome(Outcome::Unmentioned);
        error.help(help).into()
    }

    fn lost_its_port(&self) -> bool {
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

    /// Its folder with the kubeconfig, readable only by the user.
    pub fn folder(&self) -> &Path {
        &self.setup.folder
    }

    /// Writes the kubeconfig of a service account, with its namespace as the default; returns its path.
    pub fn write_kubeconfig(&self, namespace: &str, account: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder().join("operator.kubeconfig");
        let text = kubeconfig::service_account(&self.setup, namespace, account);
        fs::write(&path, text).context("cannot write the operator's kubeconfig")?;
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
        let (setup, stopping) = (self.setup.clone(), self.stopping.clone());
        thread::spawn(move || {
            for event in events {
                if let Some((name, status)) = exited(&event) {
                    let log = tail(&setup.log(name), 10);
                    output::message(format_args!(
                        "warning: {name} ended ({status}); the end of its log:\n{log}"
                    ));
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
        drop(self.pipe.take());
        let _ = self.supervisor.wait();
    }
}

/// Parses a line `exited <program> <status>`.
fn exited(event: &str) -> Option<(&str, &str)> {
    event.strip_prefix("exited ")?.split_once(' ')
}

/// The lines that the supervisor prints.
fn events(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
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
