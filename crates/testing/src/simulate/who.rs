//! Who acts in a history, and who has stored what.

use std::{fmt, time::Duration};

use crate::server::Call;

/// The id of the manager: the field manager of a controller is this and its name.
pub(super) const MANAGER: &str = "test.example.com";

/// One who acts, in the order of the lanes of a timeline. Its text is the subject of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    User,
    Operator {
        /// Its number, if there are two at a time.
        replica: Option<usize>,
        /// Its name, if there are several and it is known.
        controller: Option<String>,
    },
    /// And the network in front of it.
    ApiServer,
    GarbageCollector,
    Kubelet,
    Others,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Operator {
            replica,
            controller,
        } = self
        else {
            return f.write_str(match self {
                Self::User => "the user",
                Self::ApiServer => "the API server",
                Self::GarbageCollector => "the garbage collector",
                Self::Kubelet => "the kubelet",
                Self::Operator { .. } | Self::Others => "someone else",
            });
        };
        match replica {
            Some(number) => write!(f, "replica {number}")?,
            None => f.write_str("the operator")?,
        }
        controller
            .iter()
            .try_for_each(|name| write!(f, " ({name})"))
    }
}

/// Who has stored everything since the entry before.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) who: Who,
    /// The last version.
    pub(super) until: u64,
    pub(super) after: Duration,
    /// How many events there were by then. If the last one is of the same time and names the same author, it is about this.
    pub(super) events: usize,
}

/// The controller that sends a request, if its field manager names one.
pub(super) fn controller(call: &Call) -> Option<&str> {
    let manager = call.query.get("fieldManager")?;
    manager.strip_prefix(MANAGER)?.strip_prefix('/')
}
