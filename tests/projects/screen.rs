//! A program on a terminal, and what it shows there.

use std::{
    fmt::Write as _,
    io::Write as _,
    num::NonZeroU16,
    process::{Child, Command},
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use super::pty::Pty;

/// Long enough for a build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// A terminal and its program. Dropping it ends the program.
pub struct Screen {
    program: Child,
    pty: Pty,
    output: Receiver<Vec<u8>>,
    terminal: vt100::Parser,
}

impl Screen {
    pub fn start(mut program: Command, rows: u16, columns: u16) -> Self {
        let pty = Pty::open();
        pty.resize(rows, columns);
        let program = program
            .env("TERM", "xterm-256color")
            .stdin(pty.end())
            .stdout(pty.end())
            .stderr(pty.end())
            .spawn()
            .expect("the program runs");
        Self {
            program,
            output: pty.output(),
            terminal: vt100::Parser::new(size(rows), size(columns), 0),
            pty,
        }
    }

    /// Waits until the screen contains `text`.
    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        self.wait(text, |screen| screen.contains(text));
    }

    /// Waits until the screen does not contain `text`.
    #[track_caller]
    pub fn hides(&mut self, text: &str) {
        self.wait(text, |screen| !screen.contains(text));
    }

    /// The rest of the line with `text`, from it on.
    #[track_caller]
    pub fn line(&mut self, text: &str) -> String {
        self.shows(text);
        let contents = self.terminal.screen().contents();
        let line = contents
            .lines()
            .find_map(|line| line.find(text).map(|at| &line[at..]));
        line.expect("it is shown").trim_end().to_owned()
    }

    #[track_caller]
    fn wait(&mut self, what: &str, until: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !until(&self.terminal.screen().contents()) {
            match self
                .output
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(bytes) => self.terminal.process(&bytes),
                Err(error) => panic!("{error}, waiting for {what:?}:\n{}", self.picture()),
            }
        }
    }

    /// Presses keys one after another.
    pub fn press(&mut self, keys: &str) {
        self.pty
            .keys
            .write_all(keys.as_bytes())
            .expect("a terminal takes keys");
    }

    pub fn resize(&mut self, rows: u16, columns: u16) {
        self.terminal.set_size(size(rows), size(columns));
        self.pty.resize(rows, columns);
    }

    /// Waits for the end of the program, which has restored the terminal.
    #[track_caller]
    pub fn ends(mut self) {
        loop {
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.terminal.process(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(error) => panic!("{error}:\n{}", self.picture()),
            }
        }
        let status = self.program.wait().expect("the program ends");
        assert!(status.success(), "{status}:\n{}", self.picture());
        let screen = self.terminal.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
    }

    fn picture(&self) -> String {
        let contents = self.terminal.screen().contents();
        contents.lines().fold(String::new(), |mut all, line| {
            let _ = writeln!(all, "| {line}");
            all
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A failed test leaves no process.
        drop(self.program.kill());
        drop(self.program.wait());
    }
}

fn size(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).expect("more than nothing")
}
