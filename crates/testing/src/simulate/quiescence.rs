//! Whether a state at rest lasts when everything is reconciled again.

use super::{
    environment::Environment,
    history::Broken,
    trace::{Event, Happened},
};

/// How much has happened in a history.
pub(super) struct Mark {
    events: usize,
    changes: usize,
    faults: usize,
}

impl Environment {
    /// Reconciles everything again, perhaps in a new process, which should change nothing.
    pub(super) async fn resync(&mut self) -> Result<(), Broken> {
        let is_late = self.plan.has_replicas() || self.plan.is_late();
        let is_judged = self.scenario.period.is_none() || !is_late;
        let mut mark = self.reconcile_again(self.plan.restarts());
        // What is due by the schedule would be another change.
        self.settle().await?;
        // What was due before, it does late.
        if !is_judged {
            return Ok(());
        }
        // A fault, or what others do, the operator has to answer. Each comes once.
        for _ in 0..=self.plan.0.len() {
            if !self.was_disturbed(&mark) {
                break;
            }
            self.idle().await?;
            mark = self.reconcile_again(false);
            self.settle().await?;
        }
        self.history.unstable = self.changes_since(&mark);
        Ok(())
    }

    fn mark(&self) -> Mark {
        let state = self.network.lock();
        Mark {
            events: state.events.len(),
            changes: state.changes,
            faults: state.faults,
        }
    }

    /// In a new process, if that is wanted or the only possibility.
    pub(super) fn reconcile_again(&self, restarts: bool) -> Mark {
        if restarts || self.scenario.operator.is_client() {
            self.network.crash("the operator ends at rest".to_owned());
        } else {
            let what = "everything is reconciled again".to_owned();
            let number = self.network.lock().replicas.working();
            let who = self.network.operator(number);
            self.network.tell(Happened::Action(who, what));
            self.enqueue_all();
        }
        self.mark()
    }

    /// Whether a fault has come since then, or others have done something.
    fn was_disturbed(&self, mark: &Mark) -> bool {
        let state = self.network.lock();
        let is_other = |it: &Event| {
            matches!(
                it.what,
                Happened::User(_)
                    | Happened::Ended(..)
                    | Happened::Action(..)
                    | Happened::Fault(..)
            )
        };
        state.faults > mark.faults || state.events[mark.events..].iter().any(is_other)
    }

    /// What the operator has changed since then.
    fn changes_since(&self, mark: &Mark) -> Vec<Event> {
        let was_disturbed = self.was_disturbed(mark);
        let state = self.network.lock();
        if state.changes == mark.changes || was_disturbed {
            return Vec::new();
        }
        let new = state.events[mark.events..].iter();
        let changes = new.filter(|it| matches!(&it.what, Happened::Wrote(write) if write.changed));
        changes.cloned().collect()
    }
}
