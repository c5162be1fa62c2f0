//! `kbr envtest run`: runs a command with its own control plane.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGTERM};
use signal_hook::iterator::Signals;

use super::assets::Assets;
use super::control_plane::ControlPlane;
use super::start::{self, Cluster};
use super::supervision::Supervision;
use super::{Progress, crds, exec, logs, progress, relay};
use kbr_host::lines::shell;
use kbr_host::signals::{self, Stop};

/// The command, and how to start its control plane.
pub struct Options {
    /// Folders with CRDs to install.
    pub crds: Vec<PathBuf>,
    /// The folder for the logs of the servers, if they are kept.
    pub keep_logs: Option<PathBuf>,
    /// The audit log of the API server, if it writes one.
    pub audit: Option<PathBuf>,
    /// Timeout for the servers to become ready.
    pub start_timeout: Duration,
    /// The programs of the servers.
    pub assets: Assets,
    /// The rest of a cluster, if the command is to have more than an API server.
    pub cluster: Option<Cluster>,
    /// What puts the objects of another cluster into this one, and starts the controllers of `cluster` then.
    pub load: Option<Load>,
    /// The command and its arguments.
    pub command: Vec<OsString>,
}

/// See [`Options::load`].
pub type Load = Box<dyn FnOnce(&mut ControlPlane) -> anyhow::Result<()>>;

/// Runs the command; the exit code is its own, or 128 + n if signal n ended it.
///
/// Ctrl-C reaches the command as in a shell, and kbr waits for it. kbr forwards SIGTERM and SIGHUP. Both ignore the signals that
/// kbr ignored when it was started.
/// If kbr is killed with SIGKILL, the command gets SIGTERM (on Linux; elsewhere it only loses its API server).
pub fn run(options: Options) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let mut definitions = definitions(&options.crds)?;
    let unconverted = crds::remove_conversion(&mut definitions);
    let logs = options.keep_logs.as_deref().map(logs::folder).transpose()?;
    let audit = options.audit.as_deref().map(absolute).transpose()?;
    let start = start::Options {
        logs: logs.as_deref(),
        audit: audit.as_deref(),
        limit: options.start_timeout,
        stop: &Stop::default(),
        cluster: options.cluster.as_ref(),
        clone: options.load.is_some(),
        progress: Progress::Reported,
        supervision: Supervision::Kbr,
    };
    let mut plane = start::start(&options.assets, &start)?;
    if let Some(load) = options.load {
        load(&mut plane)?;
    }
    crds::install(&plane, &definitions)?;
    crds::report_installed(&definitions);
    if !unconverted.is_empty() {
        let names = unconverted.join("`, `");
        let why = "no operator serves it yet; `kbr dev` starts one";
        progress("installed", &format!("`{names}` without conversion: {why}"));
    }
    start::wait_until_ready(&plane, &start)?;
    progress(
        "ready",
        &format!("after {:.1} s", started.elapsed().as_secs_f32()),
    );
    plane.report_server_exits();
    let status = run_command(&plane, &options.assets, &options.command)?;
    drop(plane);
    if let Some(log) = &options.audit {
        report_audit(log);
    }
    Ok(exit_code(status))
}

/// The CRDs in `folders`.
fn definitions(folders: &[PathBuf]) -> anyhow::Result<Vec<serde_json::Value>> {
    let mut all = Vec::new();
    for folder in folders {
        all.extend(crds::read(folder)?);
    }
    Ok(all)
}

fn report_audit(log: &Path) {
    let log = shell(&log.display().to_string());
    let next = format!("`kbr manifests permissions {log}`");
    progress("logged", &format!("all requests; next: {next}"));
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("`{}`", path.display()))
}

fn run_command(
    plane: &ControlPlane,
    assets: &Assets,
    command: &[OsString],
) -> anyhow::Result<ExitStatus> {
    // Registered before the command starts, so that its end cannot be missed.
    let heeded = signals::ending().into_iter().chain([SIGCHLD]);
    let mut signals = Signals::new(heeded)?;
    let (program, rest) = command.split_first().context("no command given")?;
    let mut child = exec::ending_with_us(program, Signal::TERM)?
        .args(rest)
        .envs(plane.environment())
        .env("KBR_ENVTEST", "1")
        .env(relay::VARIABLE, relay::folder_of(plane.folder()))
        .env("KUBEBUILDER_ASSETS", &assets.folder)
        .env("PATH", path_with(&assets.folder)?)
        .spawn()
        .context("cannot start the command")?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        for signal in signals.wait() {
            forward(signal, &child);
        }
    }
}

/// Signals from the terminal (SIGINT, SIGQUIT) reach the command directly.
fn forward(signal: i32, command: &Child) {
    let signal = match signal {
        SIGHUP => Signal::HUP,
        SIGTERM => Signal::TERM,
        _ => return,
    };
    // The exit status has not been collected, so the process id is still valid.
    let _ = rustix::process::kill_process(Pid::from_child(command), signal);
}

fn path_with(folder: &Path) -> anyhow::Result<OsString> {
    let before = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(env::split_paths(&before));
    env::join_paths(folders).with_context(|| format!("`{}` cannot be in PATH", folder.display()))
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
