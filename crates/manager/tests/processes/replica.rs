//! A process of the operator, behind a proxy.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use anyhow::Context as _;
use kbr_testing::eventually;
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    http,
    journal::{self, Run},
    operator::now,
    plane::Plane,
    proxy::Proxy,
};

/// The time limit on a busy machine for anything whose time is not measured.
pub const LONG: Duration = Duration::from_secs(60);

/// How to start the replicas of a test.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    pub namespace: String,
    pub flags: Vec<String>,
    pub environment: Vec<(String, String)>,
}

impl Setup {
    pub fn new(namespace: &str, flags: &[&str]) -> Self {
        Self {
            namespace: namespace.to_owned(),
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            environment: Vec::new(),
        }
    }
}

/// A process of the operator; killed when dropped.
#[derive(Debug)]
pub struct Replica {
    /// `a` or `b`, the user name at the API server.
    pub user: &'static str,
    pub proxy: Proxy,
    child: Child,
    journal: PathBuf,
    log: PathBuf,
}

impl Replica {
    /// Starts a replica with its own proxy.
    pub async fn start(plane: &Plane, user: &'static str, setup: &Setup) -> anyhow::Result<Self> {
        let proxy = Proxy::start(plane.port).await?;
        Self::start_behind(plane, user, setup, proxy)
    }

    /// Starts a replica behind an existing proxy.
    pub fn start_behind(
        plane: &Plane,
        user: &'static str,
        setup: &Setup,
        proxy: Proxy,
    ) -> anyhow::Result<Self> {
        let started = now();
        let namespace = &setup.namespace;
        let file = |kind: &str| {
            let name = format!("{namespace}-{user}-{}.{kind}", started.as_nanos());
            plane.folder.join(name)
        };
        let (journal, log) = (file("journal"), file("log"));
        let child = Command::new(std::env::current_exe()?)
            .arg("operator")
            .arg(format!("--journal={}", journal.display()))
            .arg("--kubeconfig")
            .arg(plane.kubeconfig(user, proxy.port)?)
            .args(plain(setup))
            .args([
                format!("--watch-namespace={namespace}"),
                format!("--leader-election-namespace={namespace}"),
                "--metrics-bind-address=127.0.0.1:0".to_owned(),
                "--health-probe-bind-address=127.0.0.1:0".to_owned(),
                "--log-format=json".to_owned(),
            ])
            .args(&setup.flags)
            .env("POD_NAME", user)
            .env_remove("RUST_LOG")
            // A proxy that does not exist: the API server is on this machine.
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .env_remove("NO_PROXY")
            .env_remove("no_proxy")
            .envs(setup.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .context("cannot start a replica")?;
        Ok(Self {
            user,
            proxy,
            child,
            journal,
            log,
        })
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = i32::try_from(self.child.id())?;
        let pid = Pid::from_raw(pid).context("a process has an id")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Its exit status, if it has ended.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits until it ends by itself.
    pub async fn wait(&mut self, within: Duration) -> anyhow::Result<ExitStatus> {
        let what = format!("replica {} ends", self.user);
        let ended = eventually(within, &what, || std::future::ready(self.ended())).await;
        ended.with_context(|| self.tail())
    }

    /// All reconciles so far.
    pub fn runs(&self) -> anyhow::Result<Vec<Run>> {
        journal::read(&self.journal)
    }

    /// Waits for a reconcile that starts at `since` or later, and returns its start.
    pub async fn reconciles(&self, since: Duration, within: Duration) -> anyhow::Result<Duration> {
        let what = format!("replica {} reconciles", self.user);
        let begun = eventually(within, &what, async || {
            let runs = self.runs()?;
            Ok(runs.iter().map(|run| run.begin).find(|at| *at >= since))
        });
        begun.await.with_context(|| self.tail())
    }

    /// The lines it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Checks that every line in its log is JSON, and contains no response of the API server as Rust's debug text.
    pub fn check_log(&self) -> anyhow::Result<()> {
        for line in self.log().lines() {
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(line);
            parsed.with_context(|| format!("not JSON: {line}"))?;
            anyhow::ensure!(!line.contains("Status {"), "debug text: {line}");
        }
        Ok(())
    }

    /// The end of its log, for an error.
    pub fn tail(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        let end = lines[lines.len().saturating_sub(8)..].join("\n");
        format!("the end of the log of replica {}:\n{end}", self.user)
    }

    /// The status and body of a probe.
    pub fn probe(&self, path: &str) -> anyhow::Result<http::Answer> {
        http::get(self.port("serving health probes")?, path)
    }

    /// The value of a metric: the sum of all series with these labels.
    pub fn metric(&self, name: &str, labels: &str) -> anyhow::Result<f64> {
        let scrape = http::get(self.port("serving metrics")?, "/metrics")?.body;
        let values = scrape.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (metric, rest) = series.split_once('{').unwrap_or((series, ""));
            (metric == name && rest.contains(labels)).then(|| value.parse::<f64>().ok())?
        });
        Ok(values.sum())
    }

    /// The port in the log line with this message.
    pub fn port(&self, message: &str) -> anyhow::Result<u16> {
        let log = self.log();
        let line = log.lines().find(|line| line.contains(message));
        let address = line.and_then(|line| line.split_once("127.0.0.1:"));
        let (_, rest) = address.with_context(|| self.tail())?;
        let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Ok(port.parse()?)
    }
}

/// Metrics without TLS, unless the test sets it.
fn plain(setup: &Setup) -> Option<&'static str> {
    let flag = "--metrics-secure";
    let given = setup.flags.iter().any(|given| given == flag);
    (!given).then_some("--metrics-secure=false")
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
