//! The clock for leases: it keeps running while the machine is suspended.

use std::time::Duration;

use crate::simulated;

// Unit tests of the election pause tokio's clock and advance it.
#[cfg(not(test))]
pub(crate) use Boot as Instant;
#[cfg(test)]
pub(crate) use tokio::time::Instant;

/// A moment, as the time since the machine was booted, including time in suspension; or since a simulation began.
///
/// On Linux, `std::time::Instant` stops while the machine is suspended (`CLOCK_MONOTONIC`). A leader that used it would
/// resume and believe that it still leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Boot(Duration);

impl Boot {
    /// The current moment.
    pub(crate) fn now() -> Self {
        if let Some(elapsed) = simulated::elapsed() {
            return Self(elapsed);
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let clock = rustix::time::ClockId::Boottime;
        // On macOS, this clock keeps running during sleep.
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let clock = rustix::time::ClockId::Monotonic;
        let now = rustix::time::clock_gettime(clock);
        let (seconds, nanos) = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
        Self(Duration::new(
            seconds.unwrap_or_default(),
            nanos.unwrap_or_default(),
        ))
    }

    /// The time since this moment; zero if it is in the future.
    pub(crate) fn elapsed(self) -> Duration {
        Self::now().saturating_duration_since(self)
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    pub(crate) fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl std::ops::Add<Duration> for Boot {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_time_advances_like_the_monotonic_clock() {
        let (boot, ordinary) = (Boot::now(), std::time::Instant::now());
        while ordinary.elapsed() < Duration::from_millis(20) {
            std::thread::yield_now();
        }
        assert!(boot.elapsed() >= Duration::from_millis(20));
        assert!(boot + Duration::from_secs(1) > Boot::now());
        assert_eq!(boot.saturating_duration_since(Boot::now()), Duration::ZERO);
    }
}
