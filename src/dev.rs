//! `kbr dev`: runs the operator on this machine, and generates, builds and restarts it whenever its sources change.

mod cluster;
mod operator;
mod options;
mod samples;
mod service_account;
mod webhooks;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use self::cluster::Cluster;
use self::operator::Operator;
pub use self::options::Options;
use crate::cargo;
use crate::envtest::progress;
use crate::manifests::{self, Problem};
use crate::output;
use crate::signals::Stop;
use crate::watch::Watch;
use crate::workdir;

/// Runs until a signal ends it: then the exit code is 0, or 128 + n if signal n came before the API server was ready.
///
/// # Errors
/// No project, or no API server. Errors in the code are reported instead, and kbr waits for a change.
pub fn run(options: Options) -> anyhow::Result<ExitCode> {
    let stop = Stop::register()?;
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    let root = workdir::find_root(&folder)?;
    let cluster = if options.use_existing_cluster {
        None
    } else {
        let started = Cluster::start(&options, &root, &stop);
        if stop.requested() {
            return Ok(stop.exit_code());
        }
        Some(started?)
    };
    let mut session = Session {
        root,
        cluster,
        arguments: options.operator,
        operator: None,
        reported: Vec::new(),
    };
    while !stop.requested() {
        let mut watch = Watch::new(&session.root);
        let updated = session.generate().and_then(|written| {
            for path in &written {
                watch.wrote(path);
            }
            session.update()
        });
        match updated {
            // Ctrl-C also ends cargo.
            Err(error) if !stop.requested() => session.wait_after(&error),
            _ => {}
        }
        while !stop.requested() && !watch.changed() {
            session.notice_its_end();
            if let Some(cluster) = &mut session.cluster {
                cluster.apply_samples();
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The state that is kept between changes. Dropping it stops everything, the operator first.
struct Session {
    root: PathBuf,
    operator: Option<Operator>,
    /// `None` with the user's own cluster.
    cluster: Option<Cluster>,
    arguments: Vec<OsString>,
    /// The warnings that were already printed.
    reported: Vec<Problem>,
}

impl Session {
    /// Updates the manifests; returns the written paths.
    fn generate(&mut self) -> anyhow::Result<Vec<String>> {
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
    fn update(&mut self) -> anyhow::Result<()> {
        let name = workdir::load(&self.root)?.head.name;
        if let Some(cluster) = &mut self.cluster {
            cluster.install_definitions(&self.root)?;
            cluster.install_permissions(&self.root)?;
        }
        let executable = cargo::build(&self.root, &name, false)?;
        self.notice_its_end();
        let cluster = self.cluster.as_ref();
        let environment = cluster.map(Cluster::environment).unwrap_or_default();
        let running = self.operator.as_mut();
        if !running.is_some_and(|running| running.runs() && running.is(&executable, &environment)) {
            // Stop the old one first: otherwise both would reconcile, and use the same port.
            self.operator = None;
            let mut arguments = self.arguments.clone();
            if let Some(cluster) = cluster {
                arguments.splice(0..0, cluster.arguments());
            }
            self.operator = Some(Operator::start(executable, arguments, environment)?);
            progress("started", &name);
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.install_webhooks(&self.root)?;
            cluster.read_samples(&self.root)?;
        }
        Ok(())
    }

    /// Reports the error, and what happens now.
    fn wait_after(&mut self, error: &anyhow::Error) {
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
    fn notice_its_end(&mut self) {
        if let Some(status) = self.operator.as_mut().and_then(Operator::end) {
            progress(
                "ended",
                &format!("the operator ({status}); the next change restarts it"),
            );
        }
    }
}
