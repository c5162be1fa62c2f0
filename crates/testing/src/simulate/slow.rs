//! Requests and answers that are overtaken by everything else.

use tokio::time::Instant;

use super::{plan::What, replica::Replica, trace::Happened, wire::Wire};

impl Replica {
    /// Keeps a write on its way if a fault says so, until everything else is idle. What others do happens meanwhile, and is
    /// removed from the faults.
    pub(super) async fn overtake_request(
        &self,
        number: usize,
        action: &str,
        faults: &mut Vec<What>,
    ) {
        if !faults.contains(&What::SlowRequest) {
            return;
        }
        let who = self.name();
        let what = format!(
            "write {number}, in which {who} {action}, is on its way until everything else is idle"
        );
        self.wire.tell(Happened::Fault(what));
        let actions: Vec<_> = faults.extract_if(.., |what| what.is_an_action()).collect();
        self.act(&actions);
        self.overtaken().await;
    }

    /// Keeps the answer of a write on its way until everything else is idle.
    pub(super) async fn overtake_answer(&self, number: usize) {
        let what =
            format!("the answer of write {number} is on its way until everything else is idle");
        self.wire.tell(Happened::Fault(what));
        self.overtaken().await;
    }

    /// Waits until everything else is idle; for ever if the process has ended.
    async fn overtaken(&self) {
        let arrived = self.wire.0.arrived.notified();
        self.wire.lock().slow.get_or_insert_with(Instant::now);
        arrived.await;
        self.travel().await;
    }
}

impl Wire {
    /// Lets everything arrive that is on its way; returns whether there is anything.
    pub(super) fn arrive(&self) -> bool {
        let mut state = self.lock();
        let was_slow = state.slow.take().is_some();
        if was_slow {
            self.record(
                &mut state,
                Happened::Action("what was on its way arrives".to_owned()),
            );
            self.0.arrived.notify_waiters();
        }
        was_slow
    }
}
