//! How long a key that fails waits.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(1000);

/// The shortest and the longest delay of a key that fails.
///
/// Source: `k8s.io/client-go/util/workqueue/default_rate_limiters.go`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    pub(super) first: Duration,
    pub(super) longest: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            first: FIRST,
            longest: LONGEST,
        }
    }
}

impl Delays {
    /// The delay after this many failures in a row.
    pub(super) fn after(self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_is_capped_at_1000_seconds() {
        let delays = Delays::default();
        assert_eq!(delays.after(18), Duration::from_millis(655_360));
        for failures in [19, 64, u32::MAX] {
            assert_eq!(delays.after(failures), Duration::from_secs(1000));
        }
    }
}
