//! What `kbr dev` keeps between changes: the API server, the operator, and what was reported.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::SystemTime;

use super::cluster::Cluster;
use super::observer::{Observer, Source};
use super::operator::Operator;
use super::screen::{self, Screen, Update};
use crate::cargo;
use crate::envtest::progress;
use crate::manifests::{self, Problem};
use crate::output;
use crate::workdir;

/// The state that is kept between changes. Dropping it stops everything, the operator first.
pub struct Session {
    pub root: PathBuf,
    operator: Option<Operator>,
    /// `None` with the user's own cluster.
    pub cluster: Option<Cluster>,
    arguments: Vec<OsString>,
    /// The warnings that were already printed.
    reported: Vec<Problem>,
    screen: Option<Sender<Update>>,
    observer: Option<Observer>,
}

impl Session {
    pub fn new(
        root: PathBuf,
        cluster: Option<Cluster>,
        arguments: Vec<OsString>,
        screen: Option<&Screen>,
    ) -> anyhow::Result<Self> {
        let screen = screen.map(|screen| screen.updates().clone());
        let source = match &cluster {
            Some(cluster) => Source::Own(cluster.client()?),
            None => Source::Kubectl,
        };
        let session = Self {
            operator: None,
            reported: Vec::new(),
            observer: screen.clone().map(|screen| Observer::new(source, screen)),
            root,
            cluster,
            arguments,
            screen,
        };
        session.report(|| {
            let existing = || "that of your kubeconfig".to_owned();
            let cluster = session.cluster.as_ref();
            Update::Cluster(cluster.map_or_else(existing, Cluster::export))
        });
        Ok(session)
    }

    /// Updates the screen, if there is one.
    pub fn report(&self, update: impl FnOnce() -> Update) {
        if let Some(screen) = &self.screen {
            // The screen is open as long as the session.
            drop(screen.send(update()));
        }
    }

    /// Updates the manifests; returns the written paths.
    pub fn generate(&mut self) -> anyhow::Result<Vec<String>> {
        let quietly = manifests::Options {
            quiet: true,
            ..manifests::Options::default()
        };
        let run = manifests::regenerate(&self.root, quietly, false, &mut self.reported)?;
        for warning in &run.warnings {
            output::message(format_args!("warning: {warning}"));
        }
        output::message(format_args!("manifests: {}", run.summary));
        Ok(run.written)
    }

    /// Updates the API server and the operator.
    pub fn update(&mut self) -> anyhow::Result<()> {
        let project = workdir::load(&self.root)?;
        let name = &project.head.name;
        if let Some(cluster) = &mut self.cluster {
            cluster.install_definitions(&self.root)?;
            cluster.install_permissions(&self.root)?;
        }
        let executable = cargo::build(&self.root, name, false)?;
        self.notice_its_end();
        let cluster = self.cluster.as_ref();
        let environment = cluster.map(Cluster::environment).unwrap_or_default();
        let running = self.operator.as_mut();
        if !running.is_some_and(|running| running.runs() && running.is(&executable, &environment)) {
            // Stop the old one first: otherwise both would reconcile, and use the same port.
            self.operator = None;
            let arguments = self.arguments();
            let screen = self.screen.as_ref();
            let operator = Operator::start(executable, arguments, environment, screen)?;
            self.operator = Some(operator);
            self.report(|| screen::Operator::Running(SystemTime::now()).into());
            progress("started", name);
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.install_webhooks(&self.root)?;
            cluster.read_samples(&self.root)?;
        }
        if let Some(observer) = &mut self.observer {
            observer.observe(&project);
        }
        Ok(())
    }

    /// The operator's flags.
    fn arguments(&self) -> Vec<OsString> {
        let own = self.cluster.as_ref().map(Cluster::arguments);
        let mut arguments = own.unwrap_or_default();
        let chosen = |flag: &OsString| flag.to_string_lossy().starts_with("--log-format");
        if self.screen.is_some() && !self.arguments.iter().any(chosen) {
            // Without a terminal, it would be JSON.
            arguments.push("--log-format=text".into());
        }
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }

    pub fn stop_operator(&mut self) {
        self.operator = None;
        self.report(|| screen::Operator::NotStarted.into());
    }

    /// Applies the samples, as the user asks for it by a key.
    pub fn request_samples(&mut self) {
        let requested = match &mut self.cluster {
            Some(cluster) => cluster.request_samples(&self.root),
            None => Err(anyhow::anyhow!(
                "kbr installs nothing in your own cluster; run kubectl apply -k config/samples"
            )),
        };
        if let Err(error) = requested {
            output::message(format_args!("error: {error:#}"));
        }
    }

    /// Reports the error, and what happens now.
    pub fn wait_after(&mut self, error: &anyhow::Error) {
        output::message(format_args!("error: {error:#}"));
        let runs = self.operator.as_mut().is_some_and(Operator::runs);
        let meanwhile = if runs {
            "; the operator keeps running"
        } else {
            ""
        };
        progress("waiting", &format!("for a change{meanwhile}"));
    }

    /// Reports, once, that the operator has ended by itself.
    pub fn notice_its_end(&mut self) {
        if let Some(status) = self.operator.as_mut().and_then(Operator::end) {
            progress(
                "ended",
                &format!("the operator ({status}); the next change restarts it"),
            );
            self.report(|| screen::Operator::Ended(status.to_string()).into());
        }
    }
}
