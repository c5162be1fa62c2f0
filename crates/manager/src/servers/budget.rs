//! The memory that the answer to one request may take, as far as it depends on what the client has sent.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use tokio::sync::OwnedSemaphorePermit;

use super::{apart, room::PARSED};

/// Counts the bytes of what is made of one request. Once it is exceeded, it stays so, and nothing that was made counts
/// any more: the answer is made again with a larger budget, or rejected.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    used: AtomicUsize,
    permit: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// A budget of this many bytes, no more than there are.
    pub(crate) fn of(most: usize) -> Self {
        Self {
            most: most.min(PARSED),
            used: AtomicUsize::new(0),
            permit: None,
        }
    }

    /// The same budget, for which this memory has been taken.
    pub(super) fn with(mut self, permit: Option<OwnedSemaphorePermit>) -> Self {
        self.permit = permit;
        self
    }

    /// All the memory that there is for parsing.
    pub(crate) fn all() -> Self {
        Self::of(PARSED)
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// Counts bytes. False if they are too many: then do not allocate them.
    pub(crate) fn charge(&self, bytes: usize) -> bool {
        let used = self.used().saturating_add(bytes);
        self.used.store(used, Relaxed);
        used <= self.most
    }

    /// Counts bytes as freed.
    pub(crate) fn free(&self, bytes: usize) {
        if !self.exceeded() {
            self.used.store(self.used().saturating_sub(bytes), Relaxed);
        }
    }

    /// Counts everything as freed that has been charged since `used` bytes were.
    pub(crate) fn back_to(&self, used: usize) {
        self.free(self.used().saturating_sub(used));
    }

    /// Does work that may take all of it: on a thread of its own, if that is much.
    pub(crate) async fn spend<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        match self.permit {
            Some(_) => apart::run(work).await,
            None => work(),
        }
    }

    /// Like [`spend`](Self::spend), but blocks this thread.
    pub(crate) fn spend_now<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        match self.permit {
            Some(_) => apart::wait(work),
            None => work(),
        }
    }

    pub(crate) fn exceeded(&self) -> bool {
        self.used() > self.most
    }

    /// Why a request is rejected that exceeds even the largest budget.
    pub(crate) fn problem() -> String {
        format!(
            "the limit of {} MiB of memory for a review is exceeded",
            PARSED >> 20
        )
    }

    /// Keeps as much of the taken memory as an answer of this many bytes needs, and frees the rest.
    pub(super) fn keep(self: Arc<Self>, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let mut permit = Arc::into_inner(self)?.permit?;
        let bytes = bytes.min(permit.num_permits());
        permit.split(bytes).filter(|_| bytes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exceeded_budget_stays_exceeded() {
        let budget = Budget::of(10);
        assert!(budget.charge(4) && budget.charge(6) && !budget.exceeded());
        budget.free(4);
        assert!(budget.charge(2));
        budget.back_to(1);
        assert_eq!(budget.used(), 1);
        assert!(!budget.charge(usize::MAX));
        budget.back_to(0);
        budget.free(10);
        assert!(budget.exceeded() && !budget.charge(0));
        assert_eq!(Budget::of(usize::MAX).most(), PARSED);
    }
}
