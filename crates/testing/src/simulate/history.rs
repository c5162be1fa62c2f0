//! What came of a history.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{scenario::Oracle, state::State, trace::Event, who::Stored};
use crate::server::{Change, Path, Rules};

/// Why a history cannot go on.
pub(super) type Broken = (Oracle, String);

/// What came of a history.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) events: Vec<Event>,
    /// All that was stored, and by whom; for the timeline.
    pub(super) changes: Vec<Change>,
    pub(super) authors: Vec<Stored>,
    /// Each state at rest: after the objects were created, and after each step of the user.
    pub(super) states: Vec<State>,
    /// How many events there were at each of these states.
    pub(super) seen: Vec<usize>,
    /// Whether the user has deleted the objects before the last of these states.
    pub(super) deleted_early: bool,
    /// The state before the operator started.
    pub(super) before: State,
    /// The objects in it, by their URLs.
    pub(super) existing: Vec<String>,
    /// The objects that the user's steps have deleted.
    pub(super) deleted_by_user: Vec<String>,
    /// The state after the deletion of the objects.
    pub(super) gone: State,
    /// The user's objects, as they were at rest after their creation, and their schemas.
    pub(super) created: Vec<Created>,
    /// The same objects in the other versions of their kinds, by their URLs.
    pub(super) versions: Vec<String>,
    /// How many times each object was created and deleted.
    pub(super) counts: BTreeMap<String, [usize; 2]>,
    /// The writes at rest, when all objects are reconciled again.
    pub(super) unstable: Vec<Event>,
    /// The objects whose reconciles fail at rest.
    pub(super) failing: Vec<String>,
    /// The errors of reconciles that failed last, by controller and object: at rest, and at the end.
    pub(super) errors_at_rest: BTreeMap<String, String>,
    pub(super) errors_at_end: BTreeMap<String, String>,
    /// The objects that were there before and still are, and whose kinds the operator reads, by their URLs.
    pub(super) world: Vec<String>,
    /// What someone has deleted of these.
    pub(super) world_deleted: Vec<String>,
    /// The objects that the operator has made, at rest.
    pub(super) children: Vec<Child>,
    /// What others may do in services outside the cluster.
    pub(super) drifts: Vec<String>,
    /// What came of the same objects in another namespace, if there were any.
    pub(super) namesakes: Option<Namesakes>,
    /// What the operator has taken from others that own it.
    pub(super) taken: Vec<String>,
    /// Whether something that had ended was removed, which may or may not come back.
    pub(super) has_expired: bool,
    pub(super) kinds: Vec<String>,
    /// Whether the operator has sent reads that may be answered with what was stored before.
    pub(super) reads_old: bool,
    /// How many writes the operator has sent: in all, before the deletion, and before each step of the user.
    pub(super) writes: usize,
    pub(super) alive: usize,
    pub(super) steps: Vec<usize>,
    /// Which of these steps have changed nothing but the objects.
    pub(super) undoable: Vec<bool>,
    /// What webhooks have rejected of the user's writes.
    pub(super) rejected: Vec<String>,
    /// What the author should know.
    pub(super) notes: Vec<String>,
    /// Why an object may wait, if there is no fake kubelet.
    pub(super) unplayed: Option<String>,
    pub(super) panics: u64,
    /// The first of these.
    pub(super) panicked: Option<String>,
    /// What the operator asked for and is not allowed.
    pub(super) denied: Option<String>,
    /// The steps of the user, from 1, that could not be taken where the plan has them: such a history says nothing about the operator.
    pub(super) misplaced_steps: Vec<usize>,
    /// Those that have changed nothing.
    pub(super) idle_steps: Vec<usize>,
    /// Why it could not go on.
    pub(super) broken: Option<Broken>,
}

/// An object with an owner that the operator has made, at rest.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub(super) url: String,
    /// `deployments.apps`.
    pub(super) kind: String,
    /// Whether it is a Job or a Pod that has ended: others remove these as well.
    pub(super) has_ended: bool,
    /// Whether the operator applies it, and so means to keep it as it is.
    pub(super) is_applied: bool,
    /// The fields that the operator owns and that someone else can change, as JSON pointers.
    pub(super) owned: Vec<String>,
    /// Whether an autoscaler may own its number of replicas.
    pub(super) is_scalable: bool,
}

/// States while the user's objects have namesakes in another namespace.
#[derive(Debug, Default)]
pub(super) struct Namesakes {
    /// The objects in other namespaces, before they are there and while they are.
    pub(super) alone: State,
    pub(super) beside: State,
    /// What is in it, before and after the user deletes the objects.
    pub(super) before: State,
    pub(super) after: State,
    /// Everything after that, and once it has been reconciled again.
    pub(super) whole: State,
    pub(super) again: State,
}

/// An object of the user.
#[derive(Debug)]
pub(super) struct Created {
    pub(super) path: Path,
    pub(super) object: Value,
    pub(super) schema: Arc<Value>,
    pub(super) rules: Rules,
}
