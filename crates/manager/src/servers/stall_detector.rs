//! Detects whether the runtime still runs its tasks.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How often the task reports that it ran.
const BEAT: Duration = Duration::from_secs(1);

/// How long it may pause before the runtime counts as stalled. On a busy machine, a task waits for its turn for less
/// than that.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A task that does nothing but record, again and again, that the runtime ran it; it is checked from another thread.
#[derive(Clone, Debug)]
pub(crate) struct StallDetector {
    /// The last beat, on a clock that stops while the machine is suspended; `None` before the first.
    last: Arc<Mutex<Option<Instant>>>,
    longest_pause: Duration,
}

impl Default for StallDetector {
    fn default() -> Self {
        Self::new(LONGEST_PAUSE)
    }
}

impl StallDetector {
    fn new(longest_pause: Duration) -> Self {
        Self {
            last: Arc::default(),
            longest_pause,
        }
    }

    /// Beats for as long as it is polled.
    pub(crate) async fn beat(self) {
        loop {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
            tokio::time::sleep(BEAT.min(self.longest_pause / 2)).await;
        }
    }

    /// Fails if the last beat is too long ago.
    pub(crate) fn check(&self) -> Result<(), String> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.map(|last| last.elapsed()) {
            Some(pause) if pause > self.longest_pause => Err(format!(
                "no task has been run for {} s: they block the threads of the runtime",
                pause.as_secs()
            )),
            _ => Ok(()),
        }
    }

    /// Logs when the runtime stalls, and when it recovers. Must run on another runtime.
    pub(crate) async fn watch(self) {
        let mut stalled = false;
        loop {
            let check = self.check();
            match &check {
                Err(error) if !stalled => tracing::error!(error, "the runtime stalls"),
                Ok(()) if stalled => tracing::info!("the runtime goes on"),
                _ => {}
            }
            stalled = check.is_err();
            tokio::time::sleep(BEAT).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::runtime::Builder;

    use super::*;

    /// Waits at most a minute until the check has this result.
    fn becomes(stall_detector: &StallDetector, stalled: bool) {
        let started = Instant::now();
        while stall_detector.check().is_err() != stalled {
            assert!(started.elapsed().as_secs() < 60, "not {stalled}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_runtime_is_stalled_while_all_its_threads_are_blocked() {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .unwrap();
        let stall_detector = StallDetector::new(Duration::from_millis(200));
        assert_eq!(stall_detector.check(), Ok(()), "before it starts");
        runtime.spawn(stall_detector.clone().beat());
        let (go_on, blocked) = mpsc::channel::<()>();
        runtime.spawn(async move { blocked.recv() });
        becomes(&stall_detector, true);
        go_on.send(()).unwrap();
        becomes(&stall_detector, false);
    }
}
