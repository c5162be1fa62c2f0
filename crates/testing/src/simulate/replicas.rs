//! The processes of the operator: which of them run, and which one leads.

use std::{collections::BTreeSet, time::Duration};

use manager::Options;
use tokio::time::Instant;

use crate::server::{Call, Path};

/// How long a Lease lasts, by when it must be renewed, and how often that is tried. Longer than by default, so that fewer
/// renewals are simulated.
const LEASE: Duration = Duration::from_secs(80);
const DEADLINE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_secs(20);

/// The flags of a replica.
pub(super) fn elect(options: &mut Options, is_warm: bool) {
    options.leader_elect = true;
    options.leader_election_lease_duration = LEASE;
    options.leader_election_renew_deadline = DEADLINE;
    options.leader_election_retry_period = RETRY;
    options.warm_standby = is_warm;
}

/// The processes of the operator, by their numbers.
#[derive(Default)]
pub(super) struct Replicas {
    /// How many have started.
    pub(super) started: usize,
    /// Those that have not ended.
    pub(super) running: BTreeSet<usize>,
    /// Those whose requests do not arrive.
    pub(super) cut_off: BTreeSet<usize>,
    /// Those that a fault has ended.
    pub(super) ended: Vec<usize>,
    /// Those whose Lease is not renewed.
    pub(super) unrenewed: BTreeSet<usize>,
    /// The one that holds the Lease, and when it has renewed it.
    pub(super) holder: Option<(usize, Instant)>,
    /// Where the Lease is.
    pub(super) lease: Option<Path>,
    /// The writes that arrive late, with their numbers.
    pub(super) late: Vec<(usize, Call)>,
}

impl Replicas {
    /// Whether the requests of a replica arrive.
    pub(super) fn reaches(&self, number: usize) -> bool {
        self.running.contains(&number) && !self.cut_off.contains(&number)
    }

    /// Whether one leads, and will go on to.
    pub(super) fn has_leader(&self) -> bool {
        self.holder.is_some_and(|(number, renewed)| {
            self.reaches(number) && !self.unrenewed.contains(&number) && renewed.elapsed() < LEASE
        })
    }

    /// The one that works: that leads, or the only one.
    pub(super) fn working(&self) -> usize {
        let leads = self.holder.map(|(number, _)| number);
        leads.unwrap_or(self.started)
    }

    pub(super) fn leads(&self, number: usize) -> bool {
        let holds = self.holder.filter(|(holder, _)| *holder == number);
        holds.is_some_and(|(_, renewed)| renewed.elapsed() < LEASE)
    }
}
