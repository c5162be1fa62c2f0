//! The screen's input, and the commands of its keys.

use std::time::{Duration, SystemTime};

use super::object::{Event, Object};

/// A change of what the screen shows.
#[derive(Debug)]
pub enum Update {
    /// How to reach the API server.
    Cluster(String),
    /// The operator is being built.
    Building,
    /// It is built and runs; or the code has errors.
    Built { ok: bool, took: Duration },
    /// The operator.
    Operator(Operator),
    /// A message of kbr, which is printed if no screen is shown.
    Message(String),
    /// A line that a program printed, such as cargo.
    Printed(String),
    /// A line of the operator's log.
    Log(String),
    /// All objects of the kind follow.
    Listing { kind: String },
    /// An object of a kind was created or changed.
    Object { kind: String, object: Object },
    /// An object is gone.
    Gone { kind: String, name: String },
    /// The objects of the kind cannot be read.
    Unreadable { kind: String, reason: String },
    /// The watch of the kind has ended.
    Forgotten { kind: String },
    /// An event happened, or happened again.
    Event(Event),
}

/// Whether the operator runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Operator {
    #[default]
    NotStarted,
    /// Since when.
    Running(SystemTime),
    Stopping,
    /// With its exit status.
    Ended(String),
}

impl From<Operator> for Update {
    fn from(operator: Operator) -> Self {
        Update::Operator(operator)
    }
}

/// A key, as far as the screen knows keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Interrupt,
    /// Scrolls by so many lines, up if negative.
    Scroll(isize),
    /// Scrolls by so many pages.
    ScrollPages(isize),
    First,
    Last,
}

/// What the user asks the session to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    ApplySamples,
    Delete,
    Restart,
}
