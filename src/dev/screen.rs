//! The screen of `kbr dev`, if it runs on a terminal.
//!
//! A thread draws it. The session sends updates, and receives commands.

mod object;
mod state;
#[cfg(test)]
mod tests;
mod view;

use std::io::{self, Stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, KeyCode, KeyEvent, KeyModifiers};
use ratatui::crossterm::{cursor, execute, terminal};

pub use self::object::{Event, Object, controller};
pub use self::state::{Command, Operator, Update};
use self::state::{Key, State};
use crate::output;
use crate::signals::Stop;

/// How long a key or an update may wait to be shown.
const LATENCY: Duration = Duration::from_millis(50);

/// How often the screen is drawn without an update, because it shows ages.
const SECOND: Duration = Duration::from_secs(1);

/// A terminal that shows the screen. Dropping it restores the terminal.
#[derive(Debug)]
pub struct Screen {
    updates: Sender<Update>,
    commands: Receiver<Command>,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Opens it. From now on, what kbr and its programs print goes to the screen. A key that quits requests `stop`.
    pub fn open(project: &str, stop: &Stop) -> anyhow::Result<Self> {
        let mut terminal = RawTerminal::open().context("cannot use the terminal")?;
        let (updates, received) = mpsc::channel();
        let (sender, commands) = mpsc::channel();
        let closing = Arc::<AtomicBool>::default();
        let text = updates.clone();
        output::redirect(stop, move |printed| drop(text.send(Update::Text(printed))));
        let mut state = State::new(project, SystemTime::now());
        let thread = thread::spawn({
            let (stop, closing) = (stop.clone(), closing.clone());
            move || {
                while !closing.load(Ordering::Relaxed) {
                    // The terminal is gone.
                    if terminal
                        .show(&mut state, &received, &sender, &stop)
                        .is_err()
                    {
                        stop.request();
                        break;
                    }
                }
            }
        });
        Ok(Self {
            updates,
            commands,
            closing,
            thread: Some(thread),
        })
    }

    /// Where to send updates.
    pub fn updates(&self) -> &Sender<Update> {
        &self.updates
    }

    /// The next command of the user, if there is one.
    pub fn command(&self) -> Option<Command> {
        self.commands.try_recv().ok()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        output::restore();
        self.closing.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic has been printed.
            let _ = thread.join();
        }
    }
}

/// The terminal without echo and line buffering, on its second screen. Dropping it restores the terminal.
struct RawTerminal {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    drawn: Instant,
}

impl RawTerminal {
    fn open() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let opened = || -> io::Result<Self> {
            execute!(
                output::screen(),
                terminal::EnterAlternateScreen,
                cursor::Hide
            )?;
            Ok(Self {
                terminal: Terminal::new(CrosstermBackend::new(output::screen()))?,
                drawn: Instant::now(),
            })
        };
        opened().inspect_err(|_| drop(terminal::disable_raw_mode()))
    }

    /// Waits a moment for keys, applies them and all updates, and draws the result.
    fn show(
        &mut self,
        state: &mut State,
        updates: &Receiver<Update>,
        commands: &Sender<Command>,
        stop: &Stop,
    ) -> io::Result<()> {
        let mut changed = self.drawn.elapsed() > SECOND;
        if event::poll(LATENCY)? {
            changed = true;
            if let event::Event::Key(key) = event::read()?
                && let Some(key) = known(key)
            {
                if let Some(command) = state.press(key) {
                    // The session may have ended.
                    let _ = commands.send(command);
                }
                if state.stopping {
                    stop.request();
                }
            }
        }
        for update in updates.try_iter() {
            changed = true;
            state.apply(update, SystemTime::now());
        }
        state.stopping |= stop.requested();
        if changed {
            self.drawn = Instant::now();
            self.terminal
                .draw(|frame| view::draw(frame, state, SystemTime::now()))?;
        }
        Ok(())
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // An error here means that the terminal is gone.
        let _ = terminal::disable_raw_mode();
        let _ = execute!(
            output::screen(),
            terminal::LeaveAlternateScreen,
            cursor::Show
        );
    }
}

/// The key, if the screen knows it.
fn known(key: KeyEvent) -> Option<Key> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c' | 'd') if control => Key::Interrupt,
        KeyCode::Char(_) if control => return None,
        KeyCode::Char(character) => Key::Char(character),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Scroll(-1),
        KeyCode::Down => Key::Scroll(1),
        KeyCode::PageUp => Key::ScrollPages(-1),
        KeyCode::PageDown => Key::ScrollPages(1),
        KeyCode::Home => Key::First,
        KeyCode::End => Key::Last,
        _ => return None,
    })
}
