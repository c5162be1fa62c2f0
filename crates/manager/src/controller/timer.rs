//! The time that delays and time-outs of reconciles go by: the real one, which a test may wind on.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
#[cfg(any(test, feature = "testing"))]
use tokio::sync::watch;
use tokio::time::Instant;

/// The longest delay, thirty years: a longer one must not overflow.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Tells the time. Clones tell the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timer {
    /// By how much it was wound on.
    #[cfg(any(test, feature = "testing"))]
    wound: watch::Sender<Duration>,
}

impl Timer {
    /// This moment; compared with others of this timer only.
    #[cfg_attr(
        not(any(test, feature = "testing")),
        expect(clippy::unused_self, reason = "it may be wound on in tests only")
    )]
    pub(crate) fn now(&self) -> Instant {
        let now = Instant::now();
        #[cfg(any(test, feature = "testing"))]
        let now = now + *self.wound.borrow();
        now
    }

    /// The time of day at this moment.
    #[cfg_attr(
        not(any(test, feature = "testing")),
        expect(clippy::unused_self, reason = "it may be wound on in tests only")
    )]
    pub(crate) fn timestamp(&self) -> Timestamp {
        let now = Timestamp::now();
        #[cfg(any(test, feature = "testing"))]
        let now = now.saturating_add(*self.wound.borrow()).unwrap_or(now);
        now
    }

    /// How long it is until this time of day; zero if it has passed.
    pub(crate) fn until_timestamp(&self, time: Timestamp) -> Duration {
        let left = time.duration_since(self.timestamp());
        Duration::try_from(left).unwrap_or_default()
    }

    /// The moment after this delay.
    pub(crate) fn after(&self, delay: Duration) -> Instant {
        self.now() + delay.min(FOR_EVER)
    }

    /// Waits for a moment.
    #[cfg(not(any(test, feature = "testing")))]
    pub(crate) async fn until(&self, moment: Instant) {
        tokio::time::sleep_until(moment).await;
    }

    /// Waits for a moment.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) async fn until(&self, moment: Instant) {
        let mut wound = self.wound.subscribe();
        loop {
            wound.mark_unchanged();
            let left = moment.saturating_duration_since(self.now());
            tokio::select! {
                () = tokio::time::sleep(left) => return,
                // The sender is here, so this is no error.
                _ = wound.changed() => {}
            }
        }
    }

    /// What `future` returns; `None` if it has not within this time.
    pub(crate) async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        let end = self.after(limit);
        tokio::select! {
            biased;
            output = future => Some(output),
            () = self.until(end) => None,
        }
    }

    /// Winds it on, and wakes who waits for what is past then.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn wind(&self, by: Duration) {
        self.wound
            .send_modify(|wound| *wound = wound.saturating_add(by).min(FOR_EVER));
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn it_goes_as_the_real_time_does() {
        let (timer, start) = (Timer::default(), Instant::now());
        timer.until(timer.after(HOUR)).await;
        assert_eq!(start.elapsed().as_secs(), 3600);
        assert_eq!(timer.timeout(HOUR, pending::<()>()).await, None);
        assert_eq!(start.elapsed().as_secs(), 7200);
        assert_eq!(timer.timeout(Duration::ZERO, ready(1)).await, Some(1));
        assert_eq!(timer.timeout(Duration::MAX, ready(2)).await, Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_woken_when_it_is_wound_on_far_enough() {
        let (timer, start) = (Timer::default(), Instant::now());
        let moment = timer.after(HOUR);
        let wind = async {
            for minutes in [59, 2] {
                tokio::task::yield_now().await;
                timer.wind(minutes * Duration::from_secs(60));
            }
        };
        tokio::join!(timer.until(moment), wind);
        assert_eq!(start.elapsed(), Duration::ZERO);
        // What is past is waited for no more.
        timer.until(moment).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        // And from then on the real time goes on.
        timer.until(timer.after(HOUR)).await;
        assert_eq!(start.elapsed().as_secs(), 3600);
    }
}
