//! Records who has stored what.

use super::{
    network::Network,
    trace::{Event, Happened},
    who::{Stored, Who},
};

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
