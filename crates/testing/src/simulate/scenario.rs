//! What is simulated.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use kube::Client;
use manager::Manager;
use serde_json::Value;

use super::permissions::Permissions;
use crate::{
    FakeApi,
    jobs::JobEnds,
    server::{Configured, Conversions, Kinds, Path},
};

/// What is simulated.
#[derive(Clone)]
pub(super) enum Operator {
    /// The controllers that this adds to a manager.
    Manager(Arc<dyn Fn(&mut Manager) + Send + Sync>),
    /// A program with this client, whatever it is made of.
    Client(Arc<dyn Fn(Client) -> BoxFuture<'static, ()> + Send + Sync>),
}

impl Operator {
    pub(super) fn is_client(&self) -> bool {
        matches!(self, Self::Client(_))
    }
}

pub(super) type Step = Arc<dyn Fn(&FakeApi) + Send + Sync>;
pub(super) type Invariant = Arc<dyn Fn(&FakeApi) -> bool + Send + Sync>;

/// What is checked at the end of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Oracle {
    /// The manager starts, and runs.
    Runs,
    /// No reconcile panics.
    Panics,
    /// The operator sends no request that `config/rbac/role.yaml` of its project does not allow.
    Permissions,
    /// With two replicas and leader election, only the one that leads writes.
    Leads,
    /// After the last fault, everything becomes idle.
    Idle,
    /// What was given to [`Simulation::always`](super::Simulation::always) holds.
    Always,
    /// What others own of the operator's objects is left alone.
    Ownership,
    /// The state at rest is that of the history without faults.
    FinalState,
    /// At rest, the status of a custom resource is of its current generation, as far as it names one.
    Current,
    /// At rest, to reconcile everything again changes nothing.
    Stable,
    /// At rest, no reconcile fails.
    Errors,
    /// After the deletion of the objects, nothing is left of them.
    NothingLeft,
    /// Each object is created and deleted as often as without faults. Only checked if no one but the operator acts.
    Counts,
}

/// How much is tried.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) histories: usize,
    pub(super) seed: u64,
    /// The plans to run alone, if there are any.
    pub(super) replay: Vec<String>,
}

/// The operator, its world, and what is expected of it.
#[derive(Clone)]
pub(super) struct Scenario {
    pub(super) operator: Operator,
    pub(super) crds: Vec<Value>,
    /// What the definitions say, once they are complete.
    pub(super) kinds: Kinds,
    /// What the operator's role allows, if there is one.
    pub(super) permissions: Option<Permissions>,
    /// The webhooks in the project's configurations.
    pub(super) webhooks: Vec<Configured>,
    /// The conversions of the operator.
    pub(super) conversions: Option<Conversions>,
    /// What exists beforehand.
    pub(super) world: Vec<Step>,
    /// What the user creates.
    pub(super) objects: Vec<(Path, Step)>,
    /// What the user does then, each with its description.
    pub(super) steps: Vec<(String, Step)>,
    /// The fake kubelet, if it is wanted.
    pub(super) kubelet: Option<JobEnds>,
    pub(super) always: Vec<(String, Invariant)>,
    /// JSON pointers of fields that may differ.
    pub(super) ignored: Vec<String>,
    /// The oracles that are switched off, and why.
    pub(super) without: BTreeMap<Oracle, String>,
    /// The patterns of faults that are left out, and why.
    pub(super) skipped: BTreeMap<String, String>,
    /// How often the operator does something, for ever.
    pub(super) period: Option<Duration>,
    /// How much time passes once the user has taken all steps.
    pub(super) passes: Duration,
    /// Without a change for so long, the operator is idle.
    pub(super) quiet: Duration,
}

impl Scenario {
    /// A new API server with the definitions of the kinds.
    pub(super) fn api(&self) -> FakeApi {
        let api = FakeApi::new();
        api.change_quietly(|objects| {
            objects.set_conversions(self.conversions.clone());
            objects.set_kinds(self.kinds.clone());
        });
        api
    }
}
