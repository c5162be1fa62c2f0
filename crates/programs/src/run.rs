//! Runs a program whose messages the user sees.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::Duration;

use kbr_host::output;
use kbr_host::signals::Stop;
use rustix::process::{Pid, Signal};

/// Runs `command`, and returns its standard output; its messages go to the standard error of kbr.
///
/// Unless standard error is a terminal, the messages pass through this process, because a program fails if its standard error is closed.
///
/// # Errors
/// The command cannot be started.
pub fn run(command: &mut Command) -> io::Result<Output> {
    let relayed = output::redirected().is_some() || !output::is_terminal();
    let stderr = if relayed {
        Stdio::piped()
    } else {
        Stdio::inherit()
    };
    finish(command, stderr)
}

/// The same, and returns the messages, too.
///
/// # Errors
/// As [`run`].
pub fn run_and_listen(command: &mut Command) -> io::Result<Output> {
    finish(command, Stdio::piped())
}

fn finish(command: &mut Command, stderr: Stdio) -> io::Result<Output> {
    let stop = output::redirected();
    if stop.is_some() {
        command.process_group(0);
    }
    let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let stderr = scope.spawn(|| stderr.map(relay).unwrap_or_default());
        let stdout = scope.spawn(|| read(stdout));
        let status = match stop {
            Some(stop) => wait(&mut child, &stop)?,
            None => child.wait()?,
        };
        Ok(Output {
            status,
            stdout: stdout.join().unwrap_or_default(),
            stderr: stderr.join().unwrap_or_default(),
        })
    })
}

/// Waits for the end of a program, and interrupts its process group once if `stop` is requested.
fn wait(child: &mut Child, stop: &Stop) -> io::Result<ExitStatus> {
    let mut interrupted = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stop.requested() && !interrupted {
            interrupted = true;
            // Its exit status has not been collected, so the process id is still valid.
            rustix::process::kill_process_group(Pid::from_child(child), Signal::INT)?;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn read(from: Option<impl Read>) -> Vec<u8> {
    let mut all = Vec::new();
    if let Some(mut from) = from {
        // What was read until an error is all that there is.
        let _ = from.read_to_end(&mut all);
    }
    all
}

/// Copies `from` to standard error, line by line, and returns it.
fn relay(from: impl Read) -> Vec<u8> {
    let mut from = BufReader::new(from);
    let mut all = Vec::new();
    loop {
        let begin = all.len();
        match from.read_until(b'\n', &mut all) {
            Ok(0) => return all,
            Ok(_) => output::of_program(&all[begin..]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return all,
        }
    }
}
