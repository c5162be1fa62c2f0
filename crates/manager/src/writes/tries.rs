//! How often a write is tried while others write the same object, and the pauses in between.

use std::time::Duration;

use tokio::time::sleep;

use crate::backoff::jittered;

/// As many as client-go's `retry.DefaultRetry`, with pauses that grow as those of `retry.DefaultBackoff`: writers that meet once
/// must not meet again and again.
const TRIES: u32 = 5;
const FIRST: Duration = Duration::from_millis(10);
const FACTOR: u32 = 5;

/// The tries of one write.
#[derive(Debug)]
pub(crate) struct Tries {
    left: u32,
    pause: Duration,
}

impl Tries {
    pub(crate) fn new() -> Self {
        let (left, pause) = (TRIES, FIRST);
        Self { left, pause }
    }

    /// Waits for the next try after one that has failed; false if that was the last one.
    pub(crate) async fn again(&mut self) -> bool {
        self.left -= 1;
        if self.left == 0 {
            return false;
        }
        sleep(jittered(self.pause)).await;
        self.pause *= FACTOR;
        true
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_is_tried_five_times_with_pauses_that_grow() {
        let (mut tries, begin) = (Tries::new(), Instant::now());
        let mut pauses = Vec::new();
        while tries.again().await {
            pauses.push(begin.elapsed().as_millis());
        }
        assert_eq!(pauses.len(), 4);
        // Each pause is at least half of 10, 50, 250 and 1250 ms.
        assert!((780..=1564).contains(&pauses[3]), "{pauses:?}");
    }
}
