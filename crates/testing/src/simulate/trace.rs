//! What happened in a history, one line an event.

use std::{fmt, time::Duration};

use super::{fields, who::Who};

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
    /// A replica ends.
    Ended(Who, String),
    /// The operator sends a request that changes nothing; only for comparisons.
    Asked(String),
    /// The operator reads one object, which may be missing: the number of the read; only for comparisons, too.
    Read {
        number: usize,
        kind: String,
        object: String,
        is_missing: bool,
    },
    /// The operator writes.
    Wrote(Write),
    /// The operator sends a request that its role does not allow: what it does.
    Denied(Who, String),
    /// A reconcile fails: its controller and object, and its error. Only for reports, because it may say anything.
    Failed {
        who: Who,
        reconcile: String,
        error: String,
    },
    /// What the user does, after *the user*.
    User(String),
    /// An invariant does not hold: what it says.
    Violated(String),
    /// Something else that others than the operator do.
    Action(Who, String),
    /// A fault.
    Fault(Who, String),
    /// Everything is idle.
    Idle,
}

/// A write of the operator, or its call of a service.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) number: usize,
    pub(super) who: Who,
    /// The kind of the object; empty for a call of a service.
    pub(super) kind: String,
    /// The service that is called.
    pub(super) service: Option<String>,
    /// What it does.
    pub(super) action: String,
    /// Whether it has changed anything, and the fields of an object, as JSON pointers.
    pub(super) changed: bool,
    pub(super) fields: Vec<String>,
    /// What came of it.
    pub(super) answer: String,
    /// A hash of what was sent.
    pub(super) sent: u64,
}

impl Write {
    /// One that has yet to change anything.
    pub(super) fn new(number: usize, who: Who, action: String) -> Self {
        Self {
            number,
            who,
            kind: String::new(),
            service: None,
            action,
            changed: false,
            fields: Vec::new(),
            answer: String::new(),
            sent: 0,
        }
    }
}

impl Event {
    /// Whether the operator could not expect it.
    pub(super) fn is_fault(&self) -> bool {
        match &self.what {
            Happened::Fault(..) | Happened::Ended(..) | Happened::Denied(..) => true,
            Happened::Wrote(write) => !write.answer.starts_with('2'),
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
            Happened::Started { number, .. } => *number > 1,
            _ => true,
        }
    }

    /// The number of a write that has changed nothing, and was to be expected.
    pub(super) fn is_without_effect(&self) -> Option<usize> {
        match &self.what {
            Happened::Wrote(write) if !write.changed && write.answer == "200 OK" => {
                Some(write.number)
            }
            _ => None,
        }
    }

    /// Who acts.
    pub(super) fn who(&self) -> Option<Who> {
        match &self.what {
            Happened::Started { number, one_of_two } => Some(Who::Operator {
                replica: one_of_two.then_some(*number),
                controller: None,
            }),
            Happened::Wrote(write) => Some(write.who.clone()),
            Happened::Failed { who, .. }
            | Happened::Ended(who, _)
            | Happened::Denied(who, _)
            | Happened::Action(who, _)
            | Happened::Fault(who, _) => Some(who.clone()),
            Happened::User(_) => Some(Who::User),
            Happened::Asked(_) | Happened::Read { .. } | Happened::Violated(_) | Happened::Idle => {
                None
            }
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
            Happened::Wrote(write) => write.fmt(f),
            Happened::Denied(who, what) => write!(f, "{who} {what}: 403 Forbidden"),
            Happened::Failed {
                reconcile, error, ..
            } => write!(f, "fails: {reconcile}: {error}"),
            Happened::User(what) => write!(f, "the user {what}"),
            Happened::Violated(what) => write!(f, "«{what}» does not hold"),
            Happened::Ended(_, what) | Happened::Action(_, what) | Happened::Fault(_, what) => {
                f.write_str(what)
            }
            Happened::Idle => f.write_str("everything is idle"),
        }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            who,
            action,
            ..
        } = self;
        let fields = fields::shown(&self.fields);
        write!(f, "write {number}: {who} {action}{fields}")?;
        match self.answer.as_str() {
            "200 OK" | "201 Created" if self.changed => Ok(()),
            "200 OK" => f.write_str(", which changes nothing"),
            other => write!(f, ": {other}"),
        }
    }
}

/// The writes of the operator: the number of each, and what it does.
pub(super) fn writes(events: &[Event]) -> impl Iterator<Item = (usize, &str)> {
    events.iter().filter_map(|event| match &event.what {
        Happened::Wrote(write) => Some((write.number, &*write.action)),
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
        Happened::Wrote(found) if found.number == write => Some(&*found.kind),
        _ => None,
    })
}

/// The trace of a history: the same for the same seed, byte for byte.
pub(super) fn text(events: &[Event]) -> String {
    let line = |event: &Event| {
        let sent = match &event.what {
            Happened::Wrote(Write { sent, .. }) => format!(" {sent:016x}"),
            _ => String::new(),
        };
        format!("{:>9} ms  {event}{sent}\n", event.after.as_millis())
    };
    let events = events.iter();
    let events = events.filter(|event| !matches!(event.what, Happened::Failed { .. }));
    events.map(line).collect()
}
