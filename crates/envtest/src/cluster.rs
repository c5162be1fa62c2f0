//! `kbr cluster`: whole clusters without containers, which are left running.
//!
//! A cluster is a folder (`state`) with the files of its servers, and their supervisor, which holds the folder's lock and answers on
//! its socket. So stopping needs no process id, which may belong to another program by then.

mod contexts;
mod state;
mod status;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;

use self::state::State;
use crate::assets::Assets;
use crate::control_plane::ControlPlane;
use crate::folder::Folder;
use crate::servers::free_ports;
use crate::setup::Setup;
use crate::start::{self, Cluster, Started};
use crate::supervision::Supervision;
use crate::{Progress, control, installed, progress};
use kbr_host::diagnostic::Diagnostic;
use kbr_host::output;
use kbr_host::signals::Stop;

pub use self::state::{check_name, names};
pub use self::status::Status;

/// How long the supervisor may take to end after it has answered that all servers have stopped.
const END: Duration = Duration::from_secs(10);

/// How to start a cluster.
#[derive(Debug)]
pub struct Options {
    /// Nodes, and Services of this machine.
    pub cluster: Cluster,
    /// Whether `stop` keeps the data, for the next start.
    pub keep: bool,
    /// Whether to add a context to the user's kubeconfig.
    pub merge_kubeconfig: bool,
    /// Timeout for the servers to become ready.
    pub start_timeout: Duration,
    /// The store of the binaries, if not setup-envtest's.
    pub store: Option<PathBuf>,
}

/// Starts the cluster `name`, unless it runs already, leaves it running, and reports how to reach it.
///
/// # Errors
/// It is not ready in time, its data belongs to another version of Kubernetes, or one of its ports is taken.
pub fn start(name: &str, options: &Options) -> anyhow::Result<()> {
    let started = Instant::now();
    let path = state::folder(name)?;
    let stop = Stop::register()?;
    if let Some(plane) = launch(name, options, &stop)? {
        plane.detach()?;
        let seconds = started.elapsed().as_secs_f32();
        progress("ready", &format!("`{name}`, after {seconds:.1} s"));
    } else {
        await_start(&path, name, options.start_timeout, &stop)?;
        progress("running", &format!("`{name}` already; kept its options"));
    }
    if options.merge_kubeconfig {
        let mut state = State::read(&path)?;
        state.merged = Some(contexts::merge(&context(name), &path, &state.assets)?);
        state.write(&path)?;
    }
    let kubeconfig = path.join("kubeconfig");
    output::message(format_args!(
        "{:>12} export KUBECONFIG={}",
        "",
        kubeconfig.display()
    ));
    Ok(())
}

/// Runs the cluster `name`, which keeps its data, until the result is dropped.
///
/// # Errors
/// As for [`start`], and if it runs already.
pub fn run(name: &str, options: &Options, stop: &Stop) -> anyhow::Result<ControlPlane> {
    launch(name, options, stop)?.ok_or_else(|| {
        let text = format!("the cluster `{name}` is already running");
        let help = format!("stop the other `kbr dev`, or run `kbr cluster stop {name}`");
        failure(text, help)
    })
}

/// Starts the cluster `name`, and waits until it is ready; `None` if it runs already.
fn launch(name: &str, options: &Options, stop: &Stop) -> anyhow::Result<Option<ControlPlane>> {
    let assets = installed::find_for_cluster(options.store.clone())?;
    state::create_root()?;
    let path = state::folder(name)?;
    let start = start::Options {
        logs: None,
        audit: None,
        limit: options.start_timeout,
        stop,
        cluster: Some(&options.cluster),
        clone: false,
        progress: Progress::Reported,
        supervision: Supervision::Kbr,
    };
    for attempt in 1.. {
        let Some(mut folder) = Folder::open(&path)? else {
            break;
        };
        let state = prepare(&mut folder, name, options, &assets)?;
        // Kept data belongs to its ports.
        let is_last = folder.is_kept() || attempt == start::ATTEMPTS;
        let mut setup = Setup::new(&assets, &path, &path, state.ports);
        setup.keep = state.keep;
        setup.context = context(name);
        match start::start_in(folder, setup, &start)? {
            Started::Yes(mut plane) => {
                start::wait_until_ready(&plane, &start)?;
                state::set_ready(&path)?;
                if state.keep {
                    plane.keep_folder();
                }
                return Ok(Some(*plane));
            }
            Started::LostItsPort(_) if is_last => {
                let ports = state.ports;
                let text = format!("another program uses one of the ports {ports:?} of `{name}`");
                let help = "stop that program, then try again";
                return Err(failure(text, help));
            }
            Started::LostItsPort(_) => {
                progress("starting", "again, because another program took a port");
            }
        }
    }
    Ok(None)
}

/// The name of the cluster's context in a kubeconfig.
fn context(name: &str) -> String {
    format!("kbr-{name}")
}

fn failure(text: impl Display, help: impl Display) -> anyhow::Error {
    let error = Diagnostic::new(text);
    error.help(help).into()
}

/// The state of the cluster that is about to start, written to its folder. Data is kept from an earlier start only if that was
/// asked for: otherwise it is what remains of a cluster that was killed.
fn prepare(
    folder: &mut Folder,
    name: &str,
    options: &Options,
    assets: &Assets,
) -> anyhow::Result<State> {
    let kubernetes = assets.kubernetes()?;
    let kept = State::find(&folder.path)?.filter(|state| state.keep);
    let state = if let Some(kept) = kept {
        folder.keep();
        kept.check_version(name, &kubernetes)?;
        state::unset_ready(&folder.path);
        State {
            kubernetes,
            assets: assets.folder.clone(),
            nodes: options.cluster.nodes,
            ..kept
        }
    } else {
        folder.empty()?;
        State {
            kubernetes,
            assets: assets.folder.clone(),
            ports: free_ports()?,
            nodes: options.cluster.nodes,
            keep: options.keep,
            merged: None,
        }
    };
    state.write(&folder.path)?;
    Ok(state)
}

/// Waits until the process that starts the cluster is done.
fn await_start(path: &Path, name: &str, limit: Duration, stop: &Stop) -> anyhow::Result<()> {
    let deadline = Instant::now() + limit;
    while !state::is_ready(path) {
        if Instant::now() > deadline || stop.requested() {
            let text = format!("the cluster `{name}` did not become ready in time");
            return Err(failure(text, format!("kbr cluster stop {name}")));
        }
        sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Stops the cluster `name`. Its data is removed unless it was started to be kept; with `delete`, in any case.
///
/// # Errors
/// It does not exist, its supervisor does not answer, or its files cannot be removed.
pub fn stop(name: &str, delete: bool) -> anyhow::Result<()> {
    let path = state::folder(name)?;
    let Some(state) = State::find(&path)? else {
        return Err(missing(name)?);
    };
    let stopped = control::stop(&path).context("cannot reach the supervisor of the cluster")?;
    let deadline = Instant::now() + END;
    // The supervisor has answered and is about to end, or it was killed.
    let folder = loop {
        match Folder::open(&path)? {
            Some(folder) => break folder,
            None if Instant::now() > deadline => anyhow::bail!("`{name}` is still starting"),
            None => sleep(Duration::from_millis(10)),
        }
    };
    if let Some(merged) = &state.merged {
        contexts::remove(&context(name), merged, &state.assets);
    }
    let what = if stopped.is_some() {
        "stopped"
    } else {
        "removing"
    };
    if state.keep && !delete {
        folder.leave();
        progress(what, &format!("`{name}`; kept its data"));
    } else {
        // Dropping it removes it.
        progress(what, &format!("`{name}`"));
    }
    Ok(())
}

/// The error for a cluster that does not exist, with the names of those that do.
fn missing(name: &str) -> anyhow::Result<anyhow::Error> {
    let names: Vec<String> = names()?.iter().map(|name| format!("`{name}`")).collect();
    let help = if names.is_empty() {
        "to start one, run `kbr cluster start`".to_owned()
    } else {
        format!("running: {}", names.join(", "))
    };
    Ok(failure(format!("no cluster `{name}` found"), help))
}

/// The kubeconfig of the running cluster `name`, with certificates and key in it.
///
/// # Errors
/// It does not run.
pub fn kubeconfig(name: &str) -> anyhow::Result<String> {
    let Some(status) = Status::of(name)?.filter(Status::is_supervised) else {
        let text = format!("the cluster `{name}` is not running");
        return Err(failure(text, format!("kbr cluster start {name}")));
    };
    contexts::flat(&state::folder(name)?, &status.state.assets)
}
