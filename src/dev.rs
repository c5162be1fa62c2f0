//! `kbr dev`: the operator on this machine, generated, built and started again whenever its sources change.

mod cluster;
mod operator;
mod webhooks;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use self::cluster::Cluster;
use self::operator::Operator;
use crate::cargo;
use crate::envtest::say;
use crate::manifests::{self, Problem};
use crate::output;
use crate::signals::Stop;
use crate::watch::Watch;
use crate::workdir;

/// Run the operator here, with an API server of its own, and again whenever a source changes
///
/// Starts etcd and kube-apiserver on free ports of the loopback, as `kbr envtest run` does. Then, and after each change: generates
/// the manifests, installs the CRDs, builds the operator, starts it, and has the API server call its webhooks. While the code
/// is wrong, the operator that runs goes on. In another terminal, use what it prints: `export KUBECONFIG=…`.
/// Ctrl-C ends it all, and what was in the API server is gone.
///
/// With `ENABLE_WEBHOOKS=false` nobody calls the webhooks, and kinds are not converted.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run it against the cluster of your kubeconfig, and install nothing there: what `make run` does, with each change
    #[arg(long)]
    use_existing_cluster: bool,
    /// How long the servers may take to be ready
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    start_timeout: u64,
    /// Where their binaries are kept [default: the store of setup-envtest]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// What is passed to the operator
    #[arg(last = true, value_name = "ARGS")]
    operator: Vec<OsString>,
}

/// Runs until a signal ends it: then the exit code is 0, or 128 + n if signal n came before the API server was ready.
///
/// # Errors
/// There is no project, or no API server. What is wrong with the code is told, and waited for.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let stop = Stop::register()?;
    let folder = std::env::current_dir().context("cannot tell the current folder")?;
    let root = workdir::find_root(&folder)?;
    let cluster = if args.use_existing_cluster {
        None
    } else {
        let started = Cluster::start(args.store, args.start_timeout, &stop);
        if stop.requested() {
            return Ok(stop.exit_code());
        }
        Some(started?)
    };
    let mut session = Session {
        root,
        cluster,
        arguments: args.operator,
        operator: None,
        told: Vec::new(),
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
            // Ctrl-C ends cargo, too.
            Err(error) if !stop.requested() => session.wait_after(&error),
            _ => {}
        }
        while !stop.requested() && !watch.changed() {
            session.notice_its_end();
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// All that lasts from one change to the next. Dropped, it ends: the operator first.
struct Session {
    root: PathBuf,
    operator: Option<Operator>,
    /// None: the cluster is the user's.
    cluster: Option<Cluster>,
    arguments: Vec<OsString>,
    /// The warnings that the user has read.
    told: Vec<Problem>,
}

impl Session {
    /// Brings the manifests up to date; the paths of those that it wrote.
    fn generate(&mut self) -> anyhow::Result<Vec<String>> {
        let quietly = manifests::Options {
            quiet: true,
            ..manifests::Options::default()
        };
        let run = manifests::again(&self.root, quietly, false, &mut self.told)?;
        for warning in &run.warnings {
            eprintln!("warning: {warning}");
        }
        eprintln!("manifests: {}", run.summary);
        Ok(run.written)
    }

    /// Brings the API server and the operator up to date.
    fn update(&mut self) -> anyhow::Result<()> {
        let name = workdir::load(&self.root)?.head.name;
        if let Some(cluster) = &mut self.cluster {
            cluster.install_definitions(&self.root)?;
        }
        let executable = cargo::build(&self.root, &name, false)?;
        self.notice_its_end();
        let running = self.operator.as_mut();
        if !running.is_some_and(|operator| operator.runs() && operator.is(&executable)) {
            // The old one first: both would reconcile, and serve at one port.
            self.operator = None;
            let mut arguments = self.arguments.clone();
            let mut environment = Vec::new();
            if let Some(cluster) = &self.cluster {
                arguments.splice(0..0, cluster.arguments());
                environment = cluster.environment();
            }
            self.operator = Some(Operator::start(executable, arguments, environment)?);
            say("started", &name);
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.install_webhooks(&self.root)?;
        }
        Ok(())
    }

    /// Says what is wrong, and what happens now.
    fn wait_after(&mut self, error: &anyhow::Error) {
        output::message(format_args!("error: {error:#}"));
        let runs = self.operator.as_mut().is_some_and(Operator::runs);
        let meanwhile = if runs { "; the operator goes on" } else { "" };
        say("waiting", &format!("for a change{meanwhile}"));
    }

    /// Tells once when the operator has ended by itself.
    fn notice_its_end(&mut self) {
        if let Some(status) = self.operator.as_mut().and_then(Operator::end) {
            say(
                "ended",
                &format!("the operator ({status}); the next change starts it again"),
            );
        }
    }
}
