//! What came of one history: a new cluster, an operator in it, what its user does, and the faults of a plan.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::jiff::Timestamp;
use manager::harness::Simulation;
use serde_json::Value;
use tokio::runtime::Builder;

use super::{
    Oracle,
    plan::Plan,
    scenario::Scenario,
    state::{self, State},
    trace::Event,
    world::{Broken, World},
};
use crate::server::Path;

/// When every history begins.
const BEGIN: i64 = 1_767_225_600;

/// What came of a history.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) events: Vec<Event>,
    /// Each state at rest: after the objects were created, and after each step of the user.
    pub(super) states: Vec<State>,
    /// How many events there were at each of these states.
    pub(super) seen: Vec<usize>,
    /// Whether the user has deleted the objects before the last of these states.
    pub(super) deleted_early: bool,
    /// The state before the operator started.
    pub(super) before: State,
    /// The state after the deletion of the objects.
    pub(super) gone: State,
    /// The user's objects, as they were at rest after their creation, and their schemas.
    pub(super) created: Vec<(Path, Value, Value)>,
    /// How many times each object was created and deleted.
    pub(super) counts: BTreeMap<String, [usize; 2]>,
    /// The writes at rest, when all objects are reconciled again.
    pub(super) unstable: Vec<Event>,
    /// The objects whose reconciles fail at rest.
    pub(super) failing: Vec<String>,
    /// The children at rest, by their URLs.
    pub(super) children: Vec<String>,
    pub(super) kinds: Vec<String>,
    /// How many writes the operator has sent: in all, before the deletion, and before each step of the user.
    pub(super) writes: usize,
    pub(super) alive: usize,
    pub(super) steps: Vec<usize>,
    /// Which of these steps have changed nothing but the objects.
    pub(super) undoable: Vec<bool>,
    pub(super) panics: u64,
    /// What the operator asked for and is not allowed.
    pub(super) denied: Option<String>,
    /// Why it could not go on.
    pub(super) broken: Option<Broken>,
}

/// Runs a history. Nothing in it depends on anything but its arguments, as far as the operator's code allows that.
pub(super) fn run(scenario: &Arc<Scenario>, plan: &Plan, seed: u64) -> History {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime for the simulation");
    runtime.block_on(async {
        // Hours that differ between seeds show what depends on the time.
        let hours = i64::try_from(seed % 1_000).unwrap_or_default() * 3600;
        let start = Timestamp::from_second(BEGIN + hours).unwrap_or_default();
        let _simulation = Simulation::begin(seed, start);
        let mut world = World::new(scenario, plan);
        let broken = world.live().await.err();
        ended(world, broken)
    })
}

fn ended(mut world: World, broken: Option<Broken>) -> History {
    world.end();
    let mut history = std::mem::take(&mut world.history);
    history.broken = broken;
    history.counts = state::counts(&world.api);
    let mut state = world.wire.lock();
    if let Some(what) = state.violated.take() {
        history.broken = Some((Oracle::Always, format!("«{what}» does not hold")));
    }
    history.denied = state.denied.take();
    history.events = std::mem::take(&mut state.events);
    history.kinds = state.kinds.iter().cloned().collect();
    history.writes = state.writes;
    drop(state);
    history
}
