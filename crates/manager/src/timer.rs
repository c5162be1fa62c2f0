//! The clock for delays and time-outs of reconciles: real time, which a test may advance.

#[cfg(test)]
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};
use std::time::Duration;

#[cfg(test)]
use k8s_openapi::jiff::SignedDuration;
use k8s_openapi::jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::simulated;

/// The longest delay, thirty years, so that longer ones do not overflow.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// A clock, which shows the real time unless it is [for tests](Self::for_tests). Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct Timer {
    /// `None` in an operator.
    winder: Option<Winder>,
    /// By how many seconds the time of day was set.
    #[cfg(test)]
    set: Arc<AtomicI64>,
}

/// Advances a clock.
#[derive(Clone, Debug)]
struct Winder {
    /// How far it was advanced.
    wound: watch::Sender<Duration>,
    /// A moment and its time of day. From then on, the time of day passes like tokio's time, which a test may pause.
    start: (Instant, Timestamp),
    /// By how much everything due is late.
    late: Duration,
}

impl Timer {
    /// A clock that a test may advance.
    #[must_use]
    pub fn for_tests() -> Self {
        Self {
            winder: Some(Winder {
                wound: watch::Sender::default(),
                start: (Instant::now(), simulated::now()),
                late: Duration::ZERO,
            }),
            #[cfg(test)]
            set: Arc::default(),
        }
    }

    /// A clock by which everything due happens late.
    #[must_use]
    pub fn late(mut self, by: Duration) -> Self {
        if let Some(winder) = &mut self.winder {
            winder.late = by;
        }
        self
    }

    /// A clock of another machine, which shows an earlier time of day.
    #[must_use]
    pub fn behind(mut self, by: Duration) -> Self {
        if let Some(Winder {
            start: (_, time), ..
        }) = &mut self.winder
        {
            *time = time.saturating_sub(by).unwrap_or(*time);
        }
        self
    }

    /// By how much what is due happens late: zero, unless a test wants it so.
    pub(crate) fn lateness(&self) -> Duration {
        self.winder
            .as_ref()
            .map_or(Duration::ZERO, |winder| winder.late)
    }

    /// The current moment; only comparable with others of this timer.
    pub(crate) fn now(&self) -> Instant {
        let wound = self.winder.as_ref().map(|winder| *winder.wound.borrow());
        Instant::now() + wound.unwrap_or_default()
    }

    /// The current time of day.
    pub(crate) fn timestamp(&self) -> Timestamp {
        let Some(Winder { start, .. }) = &self.winder else {
            return Timestamp::now();
        };
        let (moment, time) = *start;
        let passed = self.now().saturating_duration_since(moment);
        let now = time.saturating_add(passed).unwrap_or(time);
        #[cfg(test)]
        let now = now + SignedDuration::from_secs(self.set.load(Ordering::SeqCst));
        now
    }

    /// The time of day up to which everything is done that is due.
    pub(crate) fn due(&self) -> Timestamp {
        let now = self.timestamp();
        now.saturating_sub(self.lateness()).unwrap_or(now)
    }

    /// The time until this time of day; zero if it has passed.
    pub(crate) fn until_timestamp(&self, time: Timestamp) -> Duration {
        let left = time.duration_since(self.timestamp());
        Duration::try_from(left).unwrap_or_default()
    }

    /// The moment after this delay.
    pub(crate) fn after(&self, delay: Duration) -> Instant {
        self.now() + delay.min(FOR_EVER)
    }

    /// Waits until a moment.
    pub(crate) async fn until(&self, moment: Instant) {
        let Some(Winder { wound, .. }) = &self.winder else {
            return tokio::time::sleep_until(moment).await;
        };
        let mut wound = wound.subscribe();
        loop {
            wound.mark_unchanged();
            let left = moment.saturating_duration_since(self.now());
            tokio::select! {
                biased;
                () = tokio::time::sleep(left) => return,
                // The sender still exists, so this cannot be an error.
                _ = wound.changed() => {}
            }
        }
    }

    /// The output of `future`; `None` if it takes longer than this.
    pub(crate) async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        let end = self.after(limit);
        tokio::select! {
            biased;
            output = future => Some(output),
            () = self.until(end) => None,
        }
    }

    /// Sets the time of day forward, or back, as an administrator may.
    #[cfg(test)]
    pub(crate) fn set(&self, by: SignedDuration) {
        self.set.fetch_add(by.as_secs(), Ordering::SeqCst);
    }

    /// Advances a clock for tests, and ends every wait for a moment that has then passed.
    ///
    /// # Panics
    /// If the clock shows the real time.
    pub fn wind(&self, by: Duration) {
        let winder = self.winder.as_ref().expect("a clock for tests");
        let advance = |wound: &mut Duration| *wound = wound.saturating_add(by).min(FOR_EVER);
        winder.wound.send_modify(advance);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn the_clock_follows_real_time() {
        let (timer, start) = (Timer::for_tests(), Instant::now());
        timer.until(timer.after(HOUR)).await;
        assert_eq!(start.elapsed().as_secs(), 3600);
        assert_eq!(timer.timeout(HOUR, pending::<()>()).await, None);
        assert_eq!(start.elapsed().as_secs(), 7200);
        assert_eq!(timer.timeout(Duration::ZERO, ready(1)).await, Some(1));
        assert_eq!(timer.timeout(Duration::MAX, ready(2)).await, Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_once_the_clock_is_advanced_far_enough() {
        let (timer, start) = (Timer::for_tests(), Instant::now());
        let moment = timer.after(HOUR);
        let wind = async {
            for minutes in [59, 2] {
                tokio::task::yield_now().await;
                timer.wind(minutes * Duration::from_secs(60));
            }
        };
        tokio::join!(timer.until(moment), wind);
        assert_eq!(start.elapsed(), Duration::ZERO);
        // A moment in the past is not waited for.
        timer.until(moment).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        // From then on, real time continues.
        timer.until(timer.after(HOUR)).await;
        assert_eq!(start.elapsed().as_secs(), 3600);
    }
}
