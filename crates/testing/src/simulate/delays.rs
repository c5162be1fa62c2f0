//! Watches, requests and answers that are held back until everything else is idle.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::{
    network::{Hold, How, Network, Subscriber},
    plan::What,
    replica::Replica,
    trace::Happened,
    who::Who,
};
use crate::server::line;

impl Network {
    /// Holds the watches of a kind back.
    pub(super) fn hold(&self, kind: &str, how: How) {
        let until = self.api.change_quietly(|objects| objects.version());
        let mut state = self.lock();
        state.held.push(Hold {
            kind: kind.to_owned(),
            until,
            how,
            since: Instant::now(),
        });
        let what = match how {
            How::Stopped | How::Missed => {
                format!("from now on, the watch of {kind} delivers nothing")
            }
            How::Trickling => {
                format!(
                    "the watch of {kind} delivers one event at a time, whenever everything else is idle"
                )
            }
        };
        self.record(&mut state, Happened::Fault(Who::ApiServer, what));
    }

    /// Lets the watches deliver that are held back, and what is on its way arrive; returns whether there is anything.
    pub(super) fn release(&self) -> bool {
        let lagged = self.catch_up();
        let slow = self.arrive();
        let trickled = self.trickle();
        let held = {
            let mut state = self.lock();
            let is_over = |hold: &mut Hold| hold.how != How::Trickling;
            let held: Vec<_> = state.held.extract_if(.., is_over).collect();
            for hold in &held {
                let what = format!("the watch of {} delivers again", hold.kind);
                self.record(&mut state, Happened::Action(Who::ApiServer, what));
            }
            let is_missed = |one: &mut Subscriber| {
                let mut missed = held.iter().filter(|hold| hold.how == How::Missed);
                missed.any(|hold| hold.kind == one.kind)
            };
            for one in state.watches.extract_if(.., is_missed) {
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": "too old resource version", "reason": "Expired", "code": 410,
                });
                let _ = one
                    .lines
                    .send(line(&json!({"type": "ERROR", "object": status})));
            }
            !held.is_empty()
        };
        self.deliver();
        held || lagged || slow || trickled
    }

    /// Lets each watch that trickles deliver its next event; returns whether there is any.
    fn trickle(&self) -> bool {
        self.api.change_quietly(|objects| {
            let mut state = self.lock();
            let trickling = state.held.iter_mut();
            let trickling = trickling.filter(|hold| hold.how == How::Trickling);
            let mut trickled = Vec::new();
            for hold in trickling {
                if let Some(next) = objects.next_change(&hold.kind, hold.until) {
                    hold.until = next;
                    hold.since = Instant::now();
                    trickled.push(format!("the watch of {} delivers an event", hold.kind));
                }
            }
            let any = !trickled.is_empty();
            for what in trickled {
                self.record(&mut state, Happened::Action(Who::ApiServer, what));
            }
            any
        })
    }

    /// For how long something has been held back that can be released: watches, lists of an API server that lags, or what is
    /// on its way.
    pub(super) fn held_for(&self) -> Option<Duration> {
        self.api.change_quietly(|objects| {
            let mut state = self.lock();
            let trickling = state.held.iter_mut();
            for hold in trickling.filter(|hold| hold.how == How::Trickling) {
                // It begins to wait with its next event.
                if objects.next_change(&hold.kind, hold.until).is_none() {
                    hold.since = Instant::now();
                    hold.until = objects.version();
                }
            }
            let now = objects.version();
            let mut held = state.held.iter();
            let held = held.find(|hold| hold.how != How::Trickling || hold.until < now);
            let since = held.map(|hold| hold.since);
            let since = since.or(state.lag.since).or(state.slow);
            since.map(|since| since.elapsed())
        })
    }

    /// Lets everything arrive that is on its way; returns whether there is anything.
    pub(super) fn arrive(&self) -> bool {
        let mut state = self.lock();
        let was_slow = state.slow.take().is_some();
        if was_slow {
            let what = "what was on its way arrives".to_owned();
            self.record(&mut state, Happened::Action(Who::ApiServer, what));
            self.arrived.notify_waiters();
        }
        was_slow
    }
}

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
        self.network.tell(Happened::Fault(Who::ApiServer, what));
        let actions: Vec<_> = faults.extract_if(.., |what| what.is_an_action()).collect();
        self.act(&actions);
        self.overtaken().await;
    }

    /// Keeps the answer of a write on its way until everything else is idle.
    pub(super) async fn overtake_answer(&self, number: usize) {
        let what =
            format!("the answer of write {number} is on its way until everything else is idle");
        self.network.tell(Happened::Fault(Who::ApiServer, what));
        self.overtaken().await;
    }

    /// Waits until everything else is idle; for ever if the process has ended.
    async fn overtaken(&self) {
        let arrived = self.network.arrived.notified();
        self.network.lock().slow.get_or_insert_with(Instant::now);
        arrived.await;
        self.travel().await;
    }
}
