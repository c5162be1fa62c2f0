//! The screen of `kbr dev`, if it runs on a terminal.
//!
//! One thread reads keys, and one draws. The session sends updates, and receives commands.

mod age;
mod lines;
mod object;
mod overview;
mod state;
mod terminal;
#[cfg(test)]
mod tests;
mod update;
mod view;

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;

pub use self::object::{Event, Object, controller};
use self::state::State;
use self::terminal::{Input, RawTerminal};
use self::update::Key;
pub use self::update::{Command, Operator, Update};
use kbr_host::output::{self, Origin};
use kbr_host::signals::Stop;

/// How often the screen is drawn at most.
const FRAME: Duration = Duration::from_millis(50);

/// How often it is drawn without an update, because it shows ages.
const SECOND: Duration = Duration::from_secs(1);

/// The number of updates between two frames: a log that grows faster than this must not stop the screen.
const UPDATES: usize = 5000;

/// A terminal that shows the screen. Dropping it restores the terminal.
#[derive(Debug)]
pub struct Screen {
    updates: Sender<Update>,
    commands: Receiver<Command>,
    /// Dropped to close it.
    open: Option<Sender<()>>,
    /// Returns the updates that were not shown.
    thread: Option<JoinHandle<Vec<Update>>>,
}

impl Screen {
    /// Opens it. From now on, what kbr and its programs print goes to the screen. A key that quits requests `stop`.
    pub fn open(project: &str, stop: &Stop) -> anyhow::Result<Self> {
        let terminal = RawTerminal::open().context("cannot use the terminal")?;
        let (updates, received) = mpsc::channel();
        let (sender, commands) = mpsc::channel();
        let (open, closed) = mpsc::channel();
        let printed = updates.clone();
        output::redirect(stop, move |origin, text| {
            let update = match origin {
                Origin::Kbr => Update::Message(text),
                Origin::Program => Update::Printed(text),
            };
            // It is restored before the screen closes.
            drop(printed.send(update));
        });
        let drawing = Drawing {
            terminal,
            state: State::new(project, SystemTime::now()),
            inputs: terminal::inputs(),
            updates: received,
            commands: sender,
            closed,
            stop: stop.clone(),
        };
        Ok(Self {
            updates,
            commands,
            open: Some(open),
            thread: Some(thread::spawn(|| drawing.run())),
        })
    }

    /// Where to send updates.
    pub fn updates(&self) -> &Sender<Update> {
        &self.updates
    }

    /// The commands of the user since the last call, each once.
    pub fn commands(&self) -> Vec<Command> {
        let mut commands: Vec<Command> = self.commands.try_iter().collect();
        commands.dedup();
        commands
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.open.take());
        let rest = self.thread.take().map(JoinHandle::join);
        output::restore();
        // What came too late for the screen. A panic has been printed.
        for update in rest.and_then(Result::ok).into_iter().flatten() {
            if let Update::Message(text) = update {
                output::lines(&text.lines().collect());
            }
        }
    }
}

/// What the thread that draws owns.
struct Drawing {
    terminal: RawTerminal,
    state: State,
    inputs: Receiver<Input>,
    updates: Receiver<Update>,
    commands: Sender<Command>,
    closed: Receiver<()>,
    stop: Stop,
}

impl Drawing {
    /// Draws until the screen closes.
    fn run(mut self) -> Vec<Update> {
        // Also after a panic, so that kbr does not continue without a screen.
        let _quit = RequestAtEnd(self.stop.clone());
        let mut drawn: Option<Instant> = None;
        while self.closed.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
            let changed = self.receive();
            let is_old = drawn.is_none_or(|drawn| drawn.elapsed() > SECOND);
            if (changed || is_old) && self.terminal.draw(&mut self.state).is_err() {
                break;
            }
            if changed || is_old {
                drawn = Some(Instant::now());
            }
        }
        self.updates.try_iter().collect()
    }

    /// Applies the inputs until the next frame, and the updates. Returns whether anything has changed.
    fn receive(&mut self) -> bool {
        let frame = Instant::now() + FRAME;
        let mut changed = false;
        while let Ok(input) = self
            .inputs
            .recv_timeout(frame.saturating_duration_since(Instant::now()))
        {
            changed = true;
            match input {
                Input::Key(key) => self.press(key),
                // If it fails, drawing fails.
                Input::Resize => drop(self.terminal.clear()),
            }
        }
        // The thread that reads keys ends with the terminal.
        thread::sleep(frame.saturating_duration_since(Instant::now()));
        for update in self.updates.try_iter().take(UPDATES) {
            changed = true;
            self.state.apply(update, SystemTime::now());
        }
        self.state.stopping |= self.stop.requested();
        changed
    }

    fn press(&mut self, key: Key) {
        if let Some(command) = self.state.press(key) {
            // The session may have ended.
            let _ = self.commands.send(command);
        }
        if self.state.stopping {
            self.stop.request();
        }
    }
}

/// Requests a stop when it is dropped.
struct RequestAtEnd(Stop);

impl Drop for RequestAtEnd {
    fn drop(&mut self) {
        self.0.request();
    }
}
