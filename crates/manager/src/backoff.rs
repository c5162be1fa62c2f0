//! The back-off of watches that fail, and random delays.
//!
//! kube's own back-off is reset by each event of its watcher, and the watcher announces each list with an event before
//! it tries it.

use std::time::Duration;

use crate::simulated::random;

/// The longest delay before the first retry, and before any. The actual delay is at least half of that, so a watch that
/// always fails lists at most four times a minute.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// The delay after a failure.
#[derive(Debug)]
pub(crate) struct Backoff(Duration);

impl Backoff {
    pub(crate) fn new() -> Self {
        Self(FIRST)
    }

    /// The delay after another failure: twice as long as the last, minus up to a half, so that watches do not act in
    /// step.
    pub(crate) fn failure(&mut self) -> Duration {
        let delay = jittered(self.0);
        self.0 = (self.0 * 2).min(LONGEST);
        delay
    }
}

/// A random delay between a half of `longest` and all of it.
pub(crate) fn jittered(longest: Duration) -> Duration {
    let half = longest / 2;
    let random = u32::try_from(random() >> 32).unwrap_or_default();
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_watch_lists_at_most_four_times_a_minute() {
        let mut backoff = Backoff::new();
        let waits: Vec<_> = std::iter::repeat_with(|| backoff.failure())
            .take(12)
            .collect();
        assert!(waits[0] <= FIRST, "{waits:?}");
        let long = |wait: &Duration| (LONGEST / 2..=LONGEST).contains(wait);
        assert!(waits[6..].iter().all(long), "{waits:?}");
    }
}
