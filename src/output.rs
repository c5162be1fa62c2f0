//! The only place that prints. Text for people goes to standard error, data to standard output.
//!
//! A closed pipe does not stop a command: a reader such as `head -1` may have read enough, but the command still completes.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Read, Write as _};
use std::process::{Command, Output, Stdio};
use std::thread;

use anyhow::Context as _;

/// Prints a line for people.
pub fn message(line: impl Display) {
    text(&format!("{line}\n"));
}

/// Prints text for people unchanged, in one call: standard error has no buffer, and each part would be a system call.
pub fn text(text: &str) {
    bytes(text.as_bytes());
}

/// Prints data for programs unchanged.
///
/// # Errors
/// Data is lost, for example because the disk is full. A closed pipe is not an error.
pub fn data(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// Runs `command` and returns its standard output; its messages go to the standard error of kbr.
///
/// Unless standard error is a terminal, the messages pass through this process, because a program fails if its standard error is closed.
///
/// # Errors
/// The command cannot be started.
pub fn of(command: &mut Command) -> io::Result<Output> {
    let relayed = !io::stderr().is_terminal();
    let stderr = if relayed {
        Stdio::piped()
    } else {
        Stdio::inherit()
    };
    let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn()?;
    let stderr = child.stderr.take();
    thread::scope(|scope| {
        if let Some(stderr) = stderr {
            scope.spawn(|| relay(stderr));
        }
        child.wait_with_output()
    })
}

/// Copies `from` to standard error.
fn relay(mut from: impl Read) {
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => bytes(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn bytes(bytes: &[u8]) {
    // An error on standard error cannot be reported anywhere.
    io::stderr().write_all(bytes).ok();
}
