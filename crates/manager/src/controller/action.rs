//! The result of a reconcile: when to reconcile again.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

/// What happens after a reconcile that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action(pub(crate) Next);

/// When an object is reconciled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// When it changes.
    Change,
    /// After this duration, if it does not change before.
    After(Duration),
    /// At this time, if it does not change before.
    At(Timestamp),
}

impl Action {
    /// Reconcile again when the object, or one that it owns, changes. From a clean-up: the clean-up is done.
    #[must_use]
    pub const fn await_change() -> Self {
        Self(Next::Change)
    }

    /// Reconcile again after this duration, or earlier when something changes. From a clean-up: it is not done yet, so
    /// the finalizer stays and the clean-up runs again.
    ///
    /// `Duration::ZERO` means "as soon as possible", and backs off like a failure: after 5 ms, then 10 ms, doubled each
    /// time up to 1,000 s, until a reconcile returns something else. It is controller-runtime's `Requeue: true`. Any
    /// other duration is used as it is, like `RequeueAfter` there; the shortest is a millisecond.
    #[must_use]
    pub const fn requeue(after: Duration) -> Self {
        Self(Next::After(after))
    }

    /// Reconcile again at this time, or earlier when something changes. Otherwise it is like [`requeue`](Self::requeue)
    /// with the duration until then. A time in the past counts as `Duration::ZERO`.
    /// It follows the clock of the machine when that is set.
    ///
    /// Derive the time from [`Context::now`](crate::Context::now), which uses the same clock.
    #[must_use]
    pub const fn requeue_at(time: Timestamp) -> Self {
        Self(Next::At(time))
    }
}
