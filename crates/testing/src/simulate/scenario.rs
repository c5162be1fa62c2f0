//! What is simulated.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use manager::Manager;
use serde_json::Value;

use super::{Oracle, permissions::Permissions};
use crate::{FakeApi, jobs::JobEnds, server::Path};

pub(super) type Register = Arc<dyn Fn(&mut Manager) + Send + Sync>;
pub(super) type Step = Arc<dyn Fn(&FakeApi) + Send + Sync>;
pub(super) type Invariant = Arc<dyn Fn(&FakeApi) -> bool + Send + Sync>;

/// The operator, its world, and what is expected of it.
#[derive(Clone)]
pub(super) struct Scenario {
    pub(super) register: Register,
    pub(super) crds: Vec<Value>,
    /// What the operator's role allows, if there is one.
    pub(super) permissions: Option<Permissions>,
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
    /// Without a change for so long, the operator is idle.
    pub(super) quiet: Duration,
}
