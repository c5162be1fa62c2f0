//! What `kbr dev` keeps between changes: the API server, the operator, and what was reported.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Instant, SystemTime};

use super::api_server::ApiServer;
use super::observer::{Observer, Source};
use super::operator::Operator;
use super::screen::{self, Screen, Update};
use crate::sources::{self, Seen};
use crate::watch::Watch;
use kbr_envtest::progress;
use kbr_host::diagnostic::Problem;
use kbr_host::output;
use kbr_host::signals::Stop;
use kbr_programs::cargo;
use kbr_scaffold::project::Project;
use kbr_scaffold::workdir;

/// The state that is kept between changes. Dropping it stops everything, the operator first.
pub struct Session {
    root: PathBuf,
    operator: Option<Operator>,
    /// `None` with the user's own cluster.
    server: Option<ApiServer>,
    arguments: Vec<OsString>,
    /// The warnings that were already printed.
    reported: Vec<Problem>,
    /// Whether to restart the operator although it is up to date.
    restart: bool,
    /// The manifests that are installed in the cluster.
    installed: Option<Seen>,
    /// The files that the last build read.
    inputs: Vec<PathBuf>,
    screen: Option<Sender<Update>>,
    observer: Option<Observer>,
}

impl Session {
    pub fn new(
        root: PathBuf,
        server: Option<ApiServer>,
        arguments: Vec<OsString>,
        screen: Option<&Screen>,
    ) -> anyhow::Result<Self> {
        let screen = screen.map(|screen| screen.updates().clone());
        let source = match &server {
            Some(server) => Source::Own(server.client()?),
            None => Source::Kubectl,
        };
        let session = Self {
            operator: None,
            reported: Vec::new(),
            restart: false,
            installed: None,
            inputs: Vec::new(),
            observer: screen.clone().map(|screen| Observer::new(source, screen)),
            root,
            server,
            arguments,
            screen,
        };
        session.report(|| {
            let existing = || "that of your kubeconfig".to_owned();
            let server = session.server.as_ref();
            Update::Cluster(server.map_or_else(existing, ApiServer::export))
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

    /// Brings everything up to date with the sources. The result notices the next change of them.
    pub fn run_once(&mut self, stop: &Stop) -> Watch {
        let mut watch = Watch::new(&self.root);
        let began = Instant::now();
        self.report(|| Update::Building);
        let updated = workdir::load(&self.root).and_then(|project| {
            let built = self.build(&project.head.name)?;
            self.inputs = cargo::inputs(&built);
            for path in self.generate(built.get(1))? {
                watch.wrote(&path);
            }
            self.update(&project, &built[0])
        });
        let ok = updated.is_ok();
        match updated {
            // Ctrl-C also ends cargo.
            Err(error) if !stop.requested() => self.wait_after(&error),
            _ => {}
        }
        watch.also(self.inputs.clone());
        let took = began.elapsed();
        self.report(|| Update::Built { ok, took });
        watch
    }

    /// Builds the operator, and at the same time the generator of its CRDs, because both depend on the types.
    fn build(&self, name: &str) -> anyhow::Result<Vec<PathBuf>> {
        let generator = kbr_manifests::generator(&self.root)?;
        let mut binaries = vec![name];
        binaries.extend(generator.as_deref());
        cargo::build(&self.root, &binaries, false)
    }

    /// Updates the manifests; returns the written paths.
    fn generate(&mut self, generator: Option<&PathBuf>) -> anyhow::Result<Vec<String>> {
        let options = kbr_manifests::Options {
            generator: generator.map(PathBuf::as_path),
            ..kbr_manifests::Options::default()
        };
        let run = kbr_manifests::regenerate(&self.root, options, false, &mut self.reported)?;
        for warning in &run.warnings {
            output::problem("warning", warning);
        }
        output::message(format_args!("manifests: {}", run.summary));
        Ok(run.written)
    }

    /// Updates the API server and the operator.
    fn update(&mut self, project: &Project, executable: &Path) -> anyhow::Result<()> {
        let name = &project.head.name;
        let manifests = sources::manifests(&self.root);
        let changed = self.installed.as_ref() != Some(&manifests);
        if let Some(server) = self.server.as_mut().filter(|_| changed) {
            server.install_definitions(&self.root)?;
            server.install_permissions(&self.root, &manifests)?;
        }
        if let Some(observer) = &mut self.observer {
            observer.observe(project);
        }
        self.notice_its_end();
        let server = self.server.as_ref();
        let environment = server.map(ApiServer::environment).unwrap_or_default();
        let is_current =
            |it: &mut Operator| it.runs() && it.matches(executable, &environment) && !self.restart;
        if !self.operator.as_mut().is_some_and(is_current) {
            // Stop the old one first: otherwise both would reconcile, and use the same port.
            self.stop_operator();
            let arguments = self.arguments();
            let screen = self.screen.as_ref();
            let operator = Operator::start(executable.to_owned(), arguments, environment, screen)?;
            self.operator = Some(operator);
            self.restart = false;
            self.report(|| screen::Operator::Running(SystemTime::now()).into());
            progress("started", name);
        }
        if let Some(server) = self.server.as_mut().filter(|_| changed) {
            server.install_webhooks(&self.root)?;
            server.read_samples(&self.root)?;
        }
        self.installed = Some(manifests);
        Ok(())
    }

    /// The operator's flags.
    fn arguments(&self) -> Vec<OsString> {
        let own = self.server.as_ref().map(ApiServer::arguments);
        let mut arguments = own.unwrap_or_default();
        // Any free port of the loopback, because several operators may be developed on one machine.
        // Without a terminal, the log would be JSON.
        let defaults = [
            ("--health-probe-bind-address", "127.0.0.1:0"),
            ("--log-format", "text"),
        ];
        for (flag, value) in defaults {
            let chosen = |given: &OsString| given.to_string_lossy().starts_with(flag);
            if !self.arguments.iter().any(chosen) {
                arguments.push(format!("{flag}={value}").into());
            }
        }
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }

    fn stop_operator(&mut self) {
        if self.operator.is_some() {
            self.report(|| screen::Operator::Stopping.into());
            self.operator = None;
            self.report(|| screen::Operator::NotStarted.into());
        }
    }

    /// Restarts the operator once it is built, and installs all manifests again.
    pub fn request_restart(&mut self) {
        self.restart = true;
        self.installed = None;
    }

    /// Applies the samples if they have changed.
    pub fn apply_samples(&mut self) {
        if let Some(server) = &mut self.server {
            server.apply_samples();
        }
    }

    /// Applies the samples when the user presses `a`.
    pub fn request_samples(&mut self) {
        let requested = match &mut self.server {
            Some(server) => server.request_samples(&self.root),
            None => Err(anyhow::anyhow!(
                "kbr does not change your own cluster; run kubectl apply -k config/samples"
            )),
        };
        if let Err(error) = requested {
            output::failure("error", &error);
        }
    }

    /// Deletes the operator's objects when the user presses `d`.
    pub fn request_deletion(&mut self) {
        let requested = match &mut self.server {
            Some(server) => server.request_deletion(),
            None => Err(anyhow::anyhow!(
                "kbr does not change your own cluster; run kubectl delete -k config/samples"
            )),
        };
        if let Err(error) = requested {
            output::failure("error", &error);
        }
    }

    /// Reports, once, that the operator has cleaned up after a deletion.
    pub fn finish_deletion(&mut self) {
        let finished = self.server.as_mut().map(ApiServer::finish_deletion);
        if let Some(Err(error)) = finished {
            output::failure("error", &error);
        }
    }

    /// The warning about objects that vanish with the API server before the operator has cleaned up.
    pub fn discarded(&self) -> Option<Problem> {
        self.server.as_ref()?.discarded()
    }

    /// Reports the error, and what happens now.
    fn wait_after(&mut self, error: &anyhow::Error) {
        output::failure("error", error);
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
                &format!("the operator ({status}); the next change starts it again"),
            );
            self.report(|| screen::Operator::Ended(status.to_string()).into());
        }
    }
}
