//! Who acts in a history, and who has stored what.

use std::{fmt, time::Duration};

use super::{
    network::Network,
    trace::{Event, Happened},
};

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

impl Network {
    /// A replica of the operator, by its number.
    pub(super) fn operator(&self, number: usize) -> Who {
        Who::Operator {
            replica: self.plan.has_replicas().then_some(number),
            controller: None,
        }
    }

    /// Records that a reconcile has failed: of which controller and object, and its error.
    pub(super) fn reconcile_failed(&self, reconcile: &str, error: &str) {
        let mut state = self.lock();
        let who = self.operator(state.replicas.working());
        let (reconcile, error) = (reconcile.to_owned(), error.to_owned());
        let failed = Happened::Failed {
            who,
            reconcile,
            error,
        };
        self.record(&mut state, failed);
    }

    /// Records who has stored what is new.
    pub(super) fn stored_by(&self, who: Who) {
        let until = self.api.change_quietly(|objects| objects.version());
        let after = self.elapsed();
        let mut state = self.lock();
        let last = state.authors.last().map_or(0, |last| last.until);
        if last < until {
            let events = state.events.len();
            state.authors.push(Stored {
                who,
                until,
                after,
                events,
            });
        }
    }

    /// The same for the one who was told of last, just now.
    pub(super) fn stored_by_the_last(&self) {
        let now = self.elapsed();
        let told = |event: &Event| match &event.what {
            Happened::User(_) => Some(Who::User),
            Happened::Action(who, _) | Happened::Fault(who, _) => Some(who.clone()),
            _ => None,
        };
        let who = {
            let state = self.lock();
            let last = state.events.last().filter(|event| event.after == now);
            last.and_then(told)
        };
        self.stored_by(who.unwrap_or(Who::Others));
    }
}
