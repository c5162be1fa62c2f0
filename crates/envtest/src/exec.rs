//! `kbr envtest exec`: replaces itself with another program, which ends with its parent.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use kbr_host::output;
use rustix::process::{Pid, Signal};

/// A command, and the process to whose lifetime it is bound.
#[derive(Debug)]
pub struct Options {
    /// The process that starts this one.
    pub parent: i32,
    /// Whether the program ends by SIGKILL instead of SIGTERM.
    pub kill: bool,
    /// The command and its arguments.
    pub command: Vec<OsString>,
}

/// A command line that runs `program`, which receives `signal` (SIGTERM or SIGKILL) when the calling *thread* ends.
///
/// Only Linux supports this; the signal is sent even if this process is killed with SIGKILL. Elsewhere the program is
/// started without it.
pub fn ending_with_us(program: impl Into<OsString>, signal: Signal) -> anyhow::Result<Command> {
    let mut command = Command::new(this_program()?);
    command.args(["envtest", "exec", "--parent"]);
    command.arg(std::process::id().to_string());
    if signal == Signal::KILL {
        command.arg("--kill");
    }
    command.arg("--").arg(program.into());
    Ok(command)
}

/// The path of kbr, also after its file was replaced by another version.
pub fn this_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    if path.exists() || !cfg!(target_os = "linux") {
        return Ok(path);
    }
    Ok("/proc/self/exe".into())
}

/// Asks a process to end, and kills it if it still runs after `grace`. Returns whether it ended by itself.
pub fn stop(process: &mut Child, grace: Duration) -> bool {
    let runs = |process: &mut Child| matches!(process.try_wait(), Ok(None));
    let asked = Instant::now();
    if runs(process) {
        // The exit status has not been collected, so the process id is still valid.
        let _ = rustix::process::kill_process(Pid::from_child(process), Signal::TERM);
    }
    while runs(process) && asked.elapsed() < grace {
        thread::sleep(Duration::from_millis(10));
    }
    let ended = !runs(process);
    if !ended {
        let _ = process.kill();
        let _ = process.wait();
    }
    ended
}

/// Replaces this process with the command. Returns only on failure, with a shell's exit code: 127 if the program is not found, else 126.
pub fn run(options: &Options) -> anyhow::Result<ExitCode> {
    end_with_parent(options)?;
    let (program, rest) = options.command.split_first().context("no command given")?;
    let error = Command::new(program).args(rest).exec();
    output::message(format_args!(
        "error: cannot run `{}`: {error}",
        program.display()
    ));
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    Ok(ExitCode::from(if missing { 127 } else { 126 }))
}

#[cfg(target_os = "linux")]
fn end_with_parent(options: &Options) -> anyhow::Result<()> {
    let signal = if options.kill {
        Signal::KILL
    } else {
        Signal::TERM
    };
    rustix::process::set_parent_process_death_signal(Some(signal))?;
    // The parent may have ended before the line above, and then the signal would never be sent.
    if rustix::process::getppid().map(Pid::as_raw_pid) != Some(options.parent) {
        anyhow::bail!("kbr has ended");
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn end_with_parent(_options: &Options) -> anyhow::Result<()> {
    Ok(())
}
