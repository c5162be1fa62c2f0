//! Large reviews take turns, so that what is made of all of them at a time fits in the memory of a Pod.

use std::sync::{Arc, LazyLock};

use tokio::{
    runtime::{Builder, Runtime},
    sync::{OwnedSemaphorePermit, Semaphore},
};

use crate::parse::Error;

/// How many bytes the objects of a review may take: of most, of up to six at a time, and of one at a time.
const SMALL: usize = 256 << 10;
const MEDIUM: usize = 3 << 20;
pub(crate) const LARGE: usize = 64 << 20;

/// How many medium reviews there are at a time.
const MEDIUM_AT_ONCE: usize = 6;

/// The thread for large reviews. The allocator of the C library keeps what a thread has freed for that thread, so the peaks
/// of several would add up.
static THREAD: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let mut runtime = Builder::new_current_thread();
    runtime.thread_name("large-reviews").max_blocking_threads(1);
    runtime.build().ok()
});

/// The turns of one kind of reviews.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Option<Arc<Limits>>);

#[derive(Debug)]
struct Limits {
    medium: Arc<Semaphore>,
    /// The large review of this kind that is next, and the one of all kinds whose turn it is. So each kind has every second
    /// turn.
    next: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// The turn of a review, until it is dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    is_large: bool,
    _permits: Arc<Vec<OwnedSemaphorePermit>>,
}

impl Turns {
    /// The turns of admission and of conversion.
    pub(crate) fn of_two_kinds() -> [Self; 2] {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        let large = semaphore(1);
        [(); 2].map(|()| {
            Self(Some(Arc::new(Limits {
                medium: semaphore(MEDIUM_AT_ONCE),
                next: semaphore(1),
                large: large.clone(),
            })))
        })
    }

    /// For one review at a time, which is done where it is.
    pub(crate) fn unlimited() -> Self {
        Self(None)
    }

    /// Parses a text of so many bytes in the turn of a small review, and if that takes too much memory, in those of larger
    /// ones.
    pub(crate) async fn parse<T: Send + 'static>(
        &self,
        length: usize,
        parse: impl Fn(usize) -> Result<T, Error> + Send + 'static,
    ) -> (Result<T, Error>, Turn) {
        let Some(limits) = &self.0 else {
            return (parse(LARGE), Turn::default());
        };
        if length <= SMALL {
            let parsed = parse(SMALL);
            if !is_too_large(&parsed) {
                return (parsed, Turn::default());
            }
        }
        if length <= MEDIUM {
            let turn = Turn::wait(&[&limits.medium]).await;
            let parsed = parse(MEDIUM);
            if !is_too_large(&parsed) {
                return (parsed, turn);
            }
        }
        let mut turn = Turn::wait(&[&limits.next, &limits.large]).await;
        turn.is_large = true;
        (turn.spend(move || parse(LARGE)).await, turn)
    }
}

fn is_too_large<T>(parsed: &Result<T, Error>) -> bool {
    parsed.as_ref().is_err_and(Error::is_too_large)
}

impl Turn {
    async fn wait(all: &[&Arc<Semaphore>]) -> Self {
        let mut permits = Vec::new();
        for semaphore in all {
            // They are never closed.
            permits.extend((*semaphore).clone().acquire_owned().await);
        }
        Self {
            is_large: false,
            _permits: Arc::new(permits),
        }
    }

    /// Does work of the review, on the thread for large ones if it is large. The work goes on if this future is dropped, and
    /// the turn lasts as long.
    pub(crate) async fn spend<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        if !self.is_large {
            return work();
        }
        let turn = self.clone();
        let work = move || {
            let done = work();
            drop(turn);
            done
        };
        let done = match &*THREAD {
            Some(thread) => thread.spawn_blocking(work),
            None => tokio::task::spawn_blocking(work),
        };
        match done.await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and this future with it.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::sync::mpsc;

    use super::*;

    /// Parses a text that takes so many bytes.
    fn taking(bytes: usize) -> impl Fn(usize) -> Result<usize, Error> {
        move |most| {
            let too_large = Error::TooLarge(String::new());
            (bytes <= most).then_some(most).ok_or(too_large)
        }
    }

    #[tokio::test]
    async fn a_review_is_parsed_in_the_smallest_turn_that_is_enough() {
        let [turns, _] = Turns::of_two_kinds();
        for (length, bytes, expected) in [
            (1, SMALL, Some(SMALL)),
            (1, SMALL + 1, Some(MEDIUM)),
            (SMALL + 1, 1, Some(MEDIUM)),
            (1, LARGE, Some(LARGE)),
            (MEDIUM + 1, 1, Some(LARGE)),
            (1, LARGE + 1, None),
        ] {
            let (parsed, _) = turns.parse(length, taking(bytes)).await;
            assert_eq!(parsed.ok(), expected, "{length} {bytes}");
        }
        let (parsed, _) = Turns::unlimited().parse(1, taking(1)).await;
        assert_eq!(parsed.unwrap(), LARGE);
    }

    #[tokio::test]
    async fn smaller_reviews_do_not_wait_for_larger_ones() {
        let [turns, _] = Turns::of_two_kinds();
        let large = turns.parse(1, taking(LARGE)).await;
        let mut medium = Vec::new();
        for _ in 0..MEDIUM_AT_ONCE {
            medium.push(turns.parse(1, taking(MEDIUM)).await);
        }
        assert!(turns.parse(1, taking(LARGE)).now_or_never().is_none());
        assert!(turns.parse(1, taking(MEDIUM)).now_or_never().is_none());
        assert!(turns.parse(1, taking(SMALL)).now_or_never().is_some());
        drop((large, medium));
        assert!(turns.parse(1, taking(MEDIUM)).now_or_never().is_some());
    }

    #[tokio::test]
    async fn conversions_keep_no_admission_waiting() {
        let [admission, conversion] = Turns::of_two_kinds();
        let first = conversion.parse(1, taking(LARGE)).await;
        let (sender, mut done) = mpsc::unbounded_channel();
        for (name, turns) in [
            ("second conversion", &conversion),
            ("third conversion", &conversion),
            ("admission", &admission),
        ] {
            let (sender, turns) = (sender.clone(), turns.clone());
            tokio::spawn(async move {
                let _turn = turns.parse(1, taking(LARGE)).await;
                sender.send(name).unwrap();
            });
            tokio::task::yield_now().await;
        }
        drop(first);
        for expected in ["admission", "second conversion", "third conversion"] {
            assert_eq!(done.recv().await, Some(expected));
        }
    }

    #[tokio::test]
    async fn a_turn_lasts_as_long_as_its_work_and_a_panic_ends_both() {
        let [turns, _] = Turns::of_two_kinds();
        let (_, turn) = turns.parse(1, taking(LARGE)).await;
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let work = turn.spend(move || ends.recv());
        assert!(work.now_or_never().is_none());
        drop(turn);
        assert!(turns.parse(1, taking(LARGE)).now_or_never().is_none());
        end.send(()).unwrap();
        let (_, turn) = turns.parse(1, taking(LARGE)).await;
        let panicked = tokio::spawn(async move { turn.spend(|| panic!("as requested")).await });
        assert!(panicked.await.unwrap_err().is_panic());
        let (_, turn) = turns.parse(1, taking(LARGE)).await;
        let thread = turn.spend(|| std::thread::current().id()).await;
        assert_eq!(turn.spend(|| std::thread::current().id()).await, thread);
    }
}
