//! What the storm guard is told of writes and changes, and what it reports.

use std::{borrow::Cow, fmt, time::Duration};

use serde_json::Value;

use crate::{
    cache::{
        object::{Cached, version},
        store::Change,
    },
    causes::Changed,
    key::Key,
};

/// A write that has changed something.
pub(crate) struct Write<'a> {
    pub(crate) kind: Cow<'static, str>,
    pub(crate) key: &'a Key,
    pub(crate) is_status: bool,
    /// The version that was written, as far as it is known, and the one that resulted.
    pub(crate) from: Option<&'a str>,
    pub(crate) to: &'a str,
    pub(crate) sent: u64,
    /// What was sent, if only that tells which fields have changed.
    pub(crate) body: Option<&'a Value>,
}

/// A change of an object, which enqueues the one that is reconciled.
pub(crate) struct Event<'a> {
    pub(crate) kind: &'a str,
    pub(crate) key: &'a Key,
    /// `None` if the object is gone.
    pub(crate) version: Option<&'a str>,
    pub(crate) changed: Changed,
}

impl<'a> Event<'a> {
    pub(crate) fn of<M: Cached>(kind: &'a str, change: &Change<'a, M>, changed: Changed) -> Self {
        Self {
            kind,
            key: change.key,
            version: change.new.map(version),
            changed,
        }
    }
}

/// The other field manager, with which a fight is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rival {
    /// It is no fight.
    None,
    Unknown,
    Known(String),
}

/// A write of a storm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) kind: Cow<'static, str>,
    /// The key of what is written, unless it is the object that is reconciled.
    pub(super) object: Option<Key>,
    pub(crate) field: String,
    pub(super) count: usize,
    pub(super) within: Duration,
    pub(crate) rival: Rival,
    /// Whether it is to be reported.
    pub(crate) is_new: bool,
}

impl fmt::Display for Loop {
    /// Says what is written again and again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.field)?;
        if let Some(key) = &self.object {
            write!(f, " of {} `{key}`", self.kind)?;
        }
        let seconds = self.within.as_secs() + 1;
        write!(f, " was written {} times within {seconds} s", self.count)?;
        match &self.rival {
            Rival::None => f.write_str(", and nothing but these writes has changed"),
            Rival::Unknown => f.write_str(", each time after another writer had changed it"),
            Rival::Known(writer) => write!(f, ", each time after `{writer}` had changed it"),
        }
    }
}
