//! Two replicas with leader election: how they get the Lease, and how a leader loses it.

use std::time::Duration;

use hyper::{Method, Response};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tower::BoxError;

use super::{network::Network, replica::Replica, trace::Happened, who::Who};
use crate::server::{Call, Content, Path};

/// How long the next leader works before a write of the last one arrives.
const LATE: Duration = Duration::from_secs(2);

impl Network {
    /// Whether the replicas have yet to elect one of them, or a write has yet to arrive.
    pub(super) fn elects(&self) -> bool {
        let state = self.lock();
        let replicas = &state.replicas;
        self.plan.has_replicas() && (!replicas.has_leader() || !replicas.late.is_empty())
    }

    /// Lets the late writes arrive.
    async fn arrive_late(self) {
        sleep(LATE).await;
        let late = std::mem::take(&mut self.lock().replicas.late);
        for (number, call) in late {
            let what = format!("write {number} of the replica that led before arrives");
            self.tell(Happened::Fault(Who::ApiServer, what));
            self.api.answer_reviewed(&call).await;
            self.stored_by(Who::ApiServer);
        }
    }
}

impl Replica {
    /// Records a write of a replica that does not lead.
    pub(super) fn check_leads(&self, call: &Call) {
        let mut state = self.network.lock();
        let replicas = &state.replicas;
        let has_ended = !replicas.running.contains(&self.number);
        if has_ended || replicas.leads(self.number) || state.unled.is_some() {
            return;
        }
        let what = format!(
            "replica {} writes {} without the Lease",
            self.number,
            call.path.object()
        );
        state.unled = Some(what.clone());
        let fault = Happened::Fault(self.network.operator(self.number), what);
        self.network.record(&mut state, fault);
    }

    /// Answers a request for the Lease.
    pub(super) async fn elect(&self, call: &Call) -> Result<Response<Content>, BoxError> {
        if self
            .network
            .lock()
            .replicas
            .unrenewed
            .contains(&self.number)
        {
            std::future::pending::<()>().await;
        }
        let answer = self.network.api.answer(call);
        if call.method == Method::GET || !answer.status().is_success() {
            return Ok(answer);
        }
        let holder = call.body["spec"]["holderIdentity"].as_str();
        let is_held = holder.is_some_and(|holder| !holder.is_empty());
        let mut state = self.network.lock();
        let name = call.body["metadata"]["name"].as_str().unwrap_or_default();
        state.replicas.lease = Some(Path {
            name: name.to_owned(),
            ..call.path.object()
        });
        let before = state.replicas.holder.map(|(number, _)| number);
        state.replicas.holder = is_held.then(|| (self.number, Instant::now()));
        if is_held && before != Some(self.number) {
            let what = format!("replica {} leads", self.number);
            let leads = Happened::Action(self.network.operator(self.number), what);
            self.network.record(&mut state, leads);
            if !state.replicas.late.is_empty() {
                tokio::spawn(self.network.clone().arrive_late());
            }
        }
        Ok(answer)
    }

    /// Releases the Lease, as a replica does that is shut down.
    pub(super) fn release(&self) {
        let Some(lease) = self.network.lock().replicas.lease.clone() else {
            return;
        };
        self.network.api.change(|objects| {
            let mut released = objects.get(&lease)?.clone();
            released["spec"]["holderIdentity"] = json!("");
            objects.put(&lease, released);
            Some(())
        });
        self.network.lock().replicas.holder = None;
    }

    /// Lets the connections of the watches of other replicas die.
    pub(super) fn kill_watches(&self) {
        let mut state = self.network.lock();
        let others = state.watches.iter_mut();
        others
            .filter(|watch| watch.replica != self.number)
            .for_each(|watch| watch.is_dead = true);
        let what = "the connections of the other replica's watches are dead".to_owned();
        let fault = Happened::Fault(self.network.operator(self.number), what);
        self.network.record(&mut state, fault);
    }

    /// From now on, the Lease is not renewed.
    pub(super) fn lose_lease(&self) {
        let mut state = self.network.lock();
        state.replicas.unrenewed.insert(self.number);
        let what = format!(
            "from now on, replica {} cannot renew its Lease",
            self.number
        );
        let fault = Happened::Fault(self.network.operator(self.number), what);
        self.network.record(&mut state, fault);
    }

    /// From now on, no request arrives, nor does this write, unless it arrives late.
    pub(super) fn cut_off(&self, number: usize, call: &Call, is_late: bool) {
        let (it, action) = (self.number, self.action(call));
        let what = format!("from write {number} on, in which it {action}, replica {it} is cut off");
        {
            let mut state = self.network.lock();
            state.replicas.cut_off.insert(self.number);
            // Whatever the operator does, an object with a generated name would exist twice.
            if is_late && call.body["metadata"]["generateName"].is_null() {
                state.replicas.late.push((number, call.clone()));
            }
            let fault = Happened::Fault(self.network.operator(self.number), what);
            self.network.record(&mut state, fault);
        }
    }
}
