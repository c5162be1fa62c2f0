//! What a reconcile asks for next.

use std::time::Duration;

/// What is to happen after a reconcile that went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    pub(crate) after: Option<Duration>,
}

impl Action {
    /// Reconcile again when the object, or one that it owns, changes. As the end of a clean-up: it is done.
    #[must_use]
    pub const fn await_change() -> Self {
        Self { after: None }
    }

    /// Reconcile again after this time, or earlier when something changes. As the end of a clean-up: it is not done
    /// yet, so the finalizer stays and the clean-up runs again.
    #[must_use]
    pub const fn requeue(after: Duration) -> Self {
        Self { after: Some(after) }
    }
}
