//! What a reconcile asks for next.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

/// What is to happen after a reconcile that went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action(pub(crate) Next);

/// When an object is reconciled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// When it changes.
    Change,
    /// After this time, if it does not change before.
    After(Duration),
    /// At this time, if it does not change before.
    At(Timestamp),
}

impl Action {
    /// Reconcile again when the object, or one that it owns, changes. As the end of a clean-up: it is done.
    #[must_use]
    pub const fn await_change() -> Self {
        Self(Next::Change)
    }

    /// Reconcile again after this time, or earlier when something changes. As the end of a clean-up: it is not done
    /// yet, so the finalizer stays and the clean-up runs again.
    ///
    /// `Duration::ZERO` means "as soon as possible", and backs off like a failure: after 5 ms, then 10 ms, doubled each
    /// time up to 1,000 s, until a reconcile returns something else. It is controller-runtime's `Requeue: true`. Any
    /// other time is taken as it is, as `RequeueAfter` is there; the shortest is a millisecond.
    #[must_use]
    pub const fn requeue(after: Duration) -> Self {
        Self(Next::After(after))
    }

    /// Reconcile again at this time, or earlier when something changes; otherwise like [`requeue`](Self::requeue), with
    /// what is left until then. A time that has passed counts as `Duration::ZERO`.
    ///
    /// Take it from [`Context::now`](crate::Context::now), whose clock it goes by.
    #[must_use]
    pub const fn requeue_at(time: Timestamp) -> Self {
        Self(Next::At(time))
    }
}
