//! The terminal while a screen is shown, and its keys.

use std::io::{self, Stderr};
use std::panic;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::SystemTime;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::crossterm::{cursor, execute, terminal};

use super::state::State;
use super::update::Key;
use super::view;
use kbr_host::output;

/// What the user does at the terminal.
#[derive(Debug)]
pub enum Input {
    Key(Key),
    /// The terminal has another size, or had for a moment. It may have cut off lines.
    Resize,
}

/// What the user does next. A thread of its own reads it, which is never joined: reading ends only with the next key.
pub fn inputs() -> Receiver<Input> {
    let (sender, inputs) = mpsc::channel();
    thread::spawn(move || {
        while let Ok(event) = event::read() {
            let input = match event {
                Event::Key(key) => known(key).map(Input::Key),
                Event::Resize(..) => Some(Input::Resize),
                _ => None,
            };
            if input.is_some_and(|input| sender.send(input).is_err()) {
                return;
            }
        }
    });
    inputs
}

/// The terminal without echo and line buffering, on its second screen. Dropping it restores the terminal.
pub struct RawTerminal(Terminal<CrosstermBackend<Stderr>>);

impl RawTerminal {
    pub fn open() -> io::Result<Self> {
        let open = || {
            terminal::enable_raw_mode()?;
            execute!(
                output::screen(),
                terminal::EnterAlternateScreen,
                cursor::Hide
            )?;
            Terminal::new(CrosstermBackend::new(output::screen()))
        };
        let terminal = open().inspect_err(|_| restore())?;
        // On the second screen, the message would be lost.
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            restore();
            report(panic);
        }));
        Ok(Self(terminal))
    }

    /// Clears the terminal, so that everything is drawn again.
    pub fn clear(&mut self) -> io::Result<()> {
        // Unlike `clear`, it does not ask the terminal where the cursor is, whose answer `inputs` would read.
        let size = self.0.size()?;
        self.0.resize(size.into())
    }

    pub fn draw(&mut self, state: &mut State) -> io::Result<()> {
        let draw = |frame: &mut ratatui::Frame| view::draw(frame, state, SystemTime::now());
        self.0.draw(draw).map(drop)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // While it panics, the hook cannot be changed.
        if !thread::panicking() {
            drop(panic::take_hook());
        }
        restore();
    }
}

fn restore() {
    // An error here means that the terminal is gone.
    let _ = terminal::disable_raw_mode();
    let _ = execute!(
        output::screen(),
        terminal::LeaveAlternateScreen,
        cursor::Show
    );
}

/// The key, if the screen knows it.
fn known(key: KeyEvent) -> Option<Key> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c') if control => Key::Interrupt,
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
