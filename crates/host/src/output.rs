//! The only place that prints. Text for people goes to standard error, data to standard output.
//!
//! A closed pipe does not stop a command: a reader such as `head -1` may have read enough, but the command still completes.

use std::env;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Stderr, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use crate::diagnostic::{self, Problem};
use crate::lines::{Lines, one_line, visible};
use crate::signals::Stop;

/// Prints a line for people.
pub fn message(line: impl Display) {
    print(&format!("{}\n", one_line(&line.to_string())));
}

/// Prints lines for people, in one call: standard error has no buffer, and each line would be a system call.
pub fn lines(lines: &Lines) {
    print(&lines.to_string());
}

/// Prints a question, and stays on its line.
pub fn question(question: impl Display) {
    print(&one_line(&question.to_string()));
}

/// Prints a `note` or a `warning`, with its helps below it.
pub fn problem(kind: &'static str, problem: &Problem) {
    print(&format!("{kind}: {problem}\n"));
}

/// Prints why something failed: an `error`, or a `warning` if the command goes on.
pub fn failure(kind: &'static str, error: &anyhow::Error) {
    print(&format!("{kind}: {}\n", diagnostic::text(error)));
}

fn print(text: &str) {
    bytes(Origin::Kbr, visible(text).as_bytes());
}

/// Prints data for programs, unchanged unless it goes to a terminal.
///
/// # Errors
/// Data is lost, for example because the disk is full. A closed pipe is not an error.
pub fn data(text: &str) -> anyhow::Result<()> {
    let text = if is_data_shown() {
        visible(text)
    } else {
        text.into()
    };
    text_of_data(&text)
}

/// Prints data as [`data`] does, each line of it in the color that `color` has for it: a code of ANSI, such as 31 for red. Only a terminal has
/// colors, and none if `NO_COLOR` is set.
///
/// # Errors
/// As [`data`].
pub fn colored_data(text: &str, color: impl Fn(&str) -> Option<u8>) -> anyhow::Result<()> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|it| !it.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|it| it == "dumb");
    if !is_data_shown() || is_set("NO_COLOR") || is_dumb {
        return data(text);
    }
    let colored = text.lines().map(|line| {
        let shown = visible(line);
        match color(line) {
            Some(code) => format!("\x1b[{code}m{shown}\x1b[0m\n"),
            None => format!("{shown}\n"),
        }
    });
    text_of_data(&colored.collect::<String>())
}

fn text_of_data(text: &str) -> anyhow::Result<()> {
    match write(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// Whether data goes to a terminal.
pub fn is_data_shown() -> bool {
    io::stdout().is_terminal()
}

/// Prints binary data, unchanged.
///
/// # Errors
/// Data is lost, for example because the disk is full.
pub fn bytes_of_data(data: &[u8]) -> anyhow::Result<()> {
    write(data).context("cannot write to standard output")
}

fn write(data: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(data)?;
    out.flush()
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
