//! The only place that prints. Text for people goes to standard error, data to standard output.
//!
//! A closed pipe does not stop a command: a reader such as `head -1` may have read enough, but the command still completes.

use std::borrow::Cow;
use std::env;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Stderr, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use crate::signals::Stop;

/// Prints a line for people.
pub fn message(line: impl Display) {
    text(&format!("{line}\n"));
}

/// Prints text for people unchanged, in one call: standard error has no buffer, and each part would be a system call.
pub fn text(text: &str) {
    bytes(Origin::Kbr, escaped(text).as_bytes());
}

/// The text without control characters, which move the cursor or change the title of a terminal: the names and lines in it may come from
/// a stranger's project.
fn escaped(text: &str) -> Cow<'_, str> {
    let moves = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(moves) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if moves(c) {
            escaped.extend(c.escape_debug());
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

/// Prints data for programs, unchanged unless it goes to a terminal.
///
/// # Errors
/// Data is lost, for example because the disk is full. A closed pipe is not an error.
pub fn data(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let text = if out.is_terminal() {
        escaped(text)
    } else {
        text.into()
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// Who prints a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// kbr itself.
    Kbr,
    /// A program that kbr runs.
    Program,
}

/// Where text for people goes instead of standard error, and what interrupts programs meanwhile.
struct Redirection {
    to: Box<dyn Fn(Origin, String) + Send>,
    stop: Stop,
}

static REDIRECTION: Mutex<Option<Redirection>> = Mutex::new(None);

/// Passes text for people to `to` instead of printing it, until [`restore`]. A screen reads the keys of the terminal meanwhile, so
/// Ctrl-C interrupts no program; a request to `stop` does.
pub fn redirect(stop: &Stop, to: impl Fn(Origin, String) + Send + 'static) {
    let stop = stop.clone();
    *redirection() = Some(Redirection {
        to: Box::new(to),
        stop,
    });
}

/// Prints text for people again.
pub fn restore() {
    *redirection() = None;
}

fn redirection() -> MutexGuard<'static, Option<Redirection>> {
    // A panic elsewhere leaves it complete.
    REDIRECTION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a screen can be shown: a terminal that can move its cursor, and keys.
pub fn has_screen() -> bool {
    // A background job that changes its terminal is stopped.
    let is_in_foreground = tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp());
    let dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stderr().is_terminal() && is_in_foreground && !dumb
}

/// The terminal, to draw a screen on.
pub fn screen() -> Stderr {
    io::stderr()
}

/// Prints what a program that kbr runs has printed, unchanged.
pub fn of_program(text: &[u8]) {
    bytes(Origin::Program, text);
}

/// What ends programs while text is redirected; `None` while the terminal does.
pub fn redirected() -> Option<Stop> {
    redirection()
        .as_ref()
        .map(|redirection| redirection.stop.clone())
}

/// Whether standard error is a terminal that programs may use themselves.
pub fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

fn bytes(origin: Origin, bytes: &[u8]) {
    if let Some(redirection) = &*redirection() {
        return (redirection.to)(origin, String::from_utf8_lossy(bytes).into_owned());
    }
    // An error on standard error cannot be reported anywhere.
    io::stderr().write_all(bytes).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_as_escapes() {
        for (text, expected) in [
            ("a\tb\nä", "a\tb\nä"),
            ("\x1b[2J\x07", "\\u{1b}[2J\\u{7}"),
            ("a\r\n", "a\\r\n"),
            ("\u{9b}2J\x7f\0", "\\u{9b}2J\\u{7f}\\0"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }
}
