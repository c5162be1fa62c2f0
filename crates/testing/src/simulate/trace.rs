//! What happened in a history, one line an event.

use std::{fmt, time::Duration};

/// An event, in virtual time since the beginning.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) after: Duration,
    pub(super) what: Happened,
}

#[derive(Clone, Debug)]
pub(super) enum Happened {
    /// A replica of the operator starts, by its number.
    Started {
        number: usize,
        /// Whether there are two replicas at a time.
        one_of_two: bool,
    },
    /// The operator sends a request that changes nothing; only for comparisons.
    Asked(String),
    /// The operator reads one object, which may be missing: the number of the read; only for comparisons, too.
    Read {
        number: usize,
        kind: String,
        object: String,
        is_missing: bool,
    },
    /// The operator writes: the number of the write, what it does, and what came of it.
    Wrote {
        number: usize,
        who: String,
        /// What it writes; empty for a call of a service.
        kind: String,
        action: String,
        changed: bool,
        answer: String,
        /// A hash of what was sent.
        sent: u64,
    },
    /// What the user does, after *the user*.
    User(String),
    /// An invariant does not hold: what it says.
    Violated(String),
    /// Something else that others than the operator do.
    Action(String),
    /// A fault.
    Fault(String),
    /// Everything is idle.
    Idle,
}

impl Event {
    /// Whether the operator could not expect it.
    pub(super) fn is_fault(&self) -> bool {
        match &self.what {
            Happened::Fault(_) => true,
            Happened::Wrote { answer, .. } => !answer.starts_with('2'),
            _ => false,
        }
    }

    /// Whether a story is never without it: what the user does, and an invariant that does not hold.
    pub(super) fn is_key(&self) -> bool {
        matches!(self.what, Happened::User(_) | Happened::Violated(_))
    }

    /// Whether it is part of the story.
    pub(super) fn is_shown(&self) -> bool {
        match &self.what {
            Happened::Asked(_) | Happened::Read { .. } => false,
            Happened::Wrote {
                changed, answer, ..
            } => *changed || answer != "200 OK",
            Happened::Started { number, .. } => *number > 1,
            Happened::User(_)
            | Happened::Violated(_)
            | Happened::Action(_)
            | Happened::Fault(_)
            | Happened::Idle => true,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Happened::Started {
                number,
                one_of_two: true,
            } => write!(f, "replica {number} starts, with empty memory"),
            Happened::Started { number: 1, .. } => f.write_str("the operator starts"),
            Happened::Started { .. } => f.write_str("the operator starts again, with empty memory"),
            Happened::Asked(what) => write!(f, "the operator asks: {what}"),
            Happened::Read { object, .. } => write!(f, "the operator asks: GET {object}"),
            Happened::Wrote {
                number,
                who,
                action,
                answer,
                changed,
                ..
            } => {
                write!(f, "write {number}: {who} {action}")?;
                match answer.as_str() {
                    "200 OK" | "201 Created" if *changed => Ok(()),
                    "200 OK" => f.write_str(", which changes nothing"),
                    other => write!(f, ": {other}"),
                }
            }
            Happened::User(what) => write!(f, "the user {what}"),
            Happened::Violated(what) => write!(f, "«{what}» does not hold"),
            Happened::Action(what) | Happened::Fault(what) => f.write_str(what),
            Happened::Idle => f.write_str("everything is idle"),
        }
    }
}

/// The writes of the operator: the number of each, and what it does.
pub(super) fn writes(events: &[Event]) -> impl Iterator<Item = (usize, &str)> {
    events.iter().filter_map(|event| match &event.what {
        Happened::Wrote { number, action, .. } => Some((*number, &**action)),
        _ => None,
    })
}

/// The reads of the operator that found an object: the number of each, the kind, and the object.
pub(super) fn reads(events: &[Event]) -> impl Iterator<Item = (usize, &str, &str)> {
    events.iter().filter_map(|event| match &event.what {
        Happened::Read {
            number,
            kind,
            object,
            is_missing: false,
        } => Some((*number, &**kind, &**object)),
        _ => None,
    })
}

/// The kind of the object that a write of the operator is about.
pub(super) fn written(events: &[Event], write: usize) -> Option<&str> {
    events.iter().find_map(|event| match &event.what {
        Happened::Wrote { number, kind, .. } if *number == write => Some(&**kind),
        _ => None,
    })
}

/// The trace of a history: the same for the same seed, byte for byte.
pub(super) fn text(events: &[Event]) -> String {
    let line = |event: &Event| {
        let sent = match &event.what {
            Happened::Wrote { sent, .. } => format!(" {sent:016x}"),
            _ => String::new(),
        };
        format!("{:>9} ms  {event}{sent}\n", event.after.as_millis())
    };
    events.iter().map(line).collect()
}
