//! Defects of this library, which tests put back one at a time to see that a simulation finds them.
//!
//! That takes the feature `defects`. Without it, the compiler removes every question for a defect.

/// What would be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A new leader trusts the caches that it had while it stood by.
    TrustsStandby,
    /// A new leader reconciles only what changes from now on.
    ForgetsKnown,
    /// A leader that cannot renew its Lease goes on.
    GoesOn,
    /// A candidate does not wait until the Lease of another one has expired.
    TakesLease,
    /// A child is applied to whatever object has its name by now.
    AppliesToAnything,
    /// Readers do not see a write of the controller before the watch delivers it.
    HidesOwnWrites,
    /// An update that skips the write of another client counts as the controller's own.
    TakesSkipsForOwn,
    /// What changes while it is reconciled is not reconciled again.
    LosesChanges,
    /// What is no longer in a new list stays in the cache.
    KeepsAbsent,
    /// The finalizer is added after the first reconcile.
    FinalizerLast,
}

/// Whether a defect is back on this thread.
#[cfg(feature = "defects")]
pub(crate) fn has(defect: Defect) -> bool {
    BACK.get() == Some(defect)
}

/// No defect is.
#[cfg(not(feature = "defects"))]
#[inline]
pub(crate) const fn has(_: Defect) -> bool {
    false
}

#[cfg(feature = "defects")]
thread_local! {
    static BACK: std::cell::Cell<Option<Defect>> = const { std::cell::Cell::new(None) };
}

/// Puts a defect back on this thread, until it ends.
#[cfg(feature = "defects")]
pub fn put_back(defect: Defect) {
    BACK.set(Some(defect));
}
