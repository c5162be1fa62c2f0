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
    /// Reconcile again when the object, or one that it owns, changes.
    #[must_use]
    pub const fn await_change() -> Self {
        Self(Next::Change)
    }

    /// Reconcile again as soon as possible. It backs off like a failure: after 5 ms, then 10 ms, doubled each time up to
    /// 1,000 s, until a reconcile returns something else. This is controller-runtime's `Requeue: true`.
    #[must_use]
    pub const fn again() -> Self {
        Self(Next::After(Duration::ZERO))
    }

    /// Reconcile again after this duration, or earlier when something changes, like controller-runtime's `RequeueAfter`.
    /// The shortest is a millisecond; `Duration::ZERO` is [`again`](Self::again).
    #[must_use]
    pub const fn requeue(after: Duration) -> Self {
        Self(Next::After(after))
    }

    /// Reconcile again at this time, or earlier when something changes. Otherwise it is like [`requeue`](Self::requeue)
    /// with the duration until then. A time in the past is [`again`](Self::again).
    /// It follows the clock of the machine when that is set.
    ///
    /// Derive the time from [`Context::now`](crate::Context::now), which uses the same clock.
    #[must_use]
    pub const fn requeue_at(time: Timestamp) -> Self {
        Self(Next::At(time))
    }
}

/// How a clean-up that succeeded has ended; see [`Controller::finalizer`](crate::Controller::finalizer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleanup {
    /// Nothing is left to do: the finalizer is removed.
    Done,
    /// Something is left: the finalizer stays, and the clean-up runs again after this duration, or earlier when the
    /// object or one that it owns changes. `Duration::ZERO` backs off as [`Action::again`] does.
    Again(Duration),
}

impl From<Cleanup> for Action {
    fn from(cleanup: Cleanup) -> Self {
        match cleanup {
            Cleanup::Done => Self::await_change(),
            Cleanup::Again(after) => Self::requeue(after),
        }
    }
}
