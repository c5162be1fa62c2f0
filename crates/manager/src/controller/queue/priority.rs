//! The priorities of keys in a work queue.

use crate::cache::store::Change;

/// The priority of a key. controller-runtime has the same two for the same events.
///
/// Source: `TypedFuncs` and `LowPriority` in `sigs.k8s.io/controller-runtime/pkg/handler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// No change triggered the reconcile: the object was found when its cache was filled, or a period has passed.
    Low,
    /// Something changed.
    Normal,
}

impl Priority {
    /// Both, the higher one first.
    pub(super) const ALL: [Self; 2] = [Self::Normal, Self::Low];

    /// The priority of the keys that a change enqueues.
    pub(crate) fn of<K>(change: &Change<'_, K>) -> Self {
        if change.initial {
            Self::Low
        } else {
            Self::Normal
        }
    }
}
