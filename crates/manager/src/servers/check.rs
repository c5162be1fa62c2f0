//! The checks of the operator's author. A check that hangs fails in time, and hangs no probe.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{runtime::Handle, sync::watch, time::timeout};

use crate::{error::chain, panics::unwound};

/// How long a check may take: less than the second that the kubelet waits by default.
const LIMIT: Duration = Duration::from_millis(800);

type Outcome = Result<(), String>;

/// Where a run of a check puts its outcome. It is dropped without one if the run is cancelled.
type Run = watch::Sender<Option<Outcome>>;

type Start = dyn Fn(Run, &Handle) + Send + Sync;

/// A check that may take a while.
pub(crate) struct Check {
    start: Box<Start>,
    /// The last run. Probes that arrive before it has ended share its outcome, so a check that hangs uses up no threads.
    run: Mutex<watch::Receiver<Option<Outcome>>>,
    /// Why the check failed when the last probe ended; `None` if it passed.
    cause: Mutex<Option<String>>,
}

impl Check {
    /// A check that runs as a task of the main runtime, to which the author's connections belong.
    pub(crate) fn new<R>(check: impl Fn() -> R + Send + Sync + 'static) -> Self
    where
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let check = Arc::new(check);
        let start = move |run: Run, main: &Handle| {
            let check = check.clone();
            main.spawn(async move {
                // The text of its error is code of the author, too.
                let outcome =
                    unwound(async { check().await.map_err(|error| chain(error.as_ref())) });
                if let Ok(outcome) = timeout(LIMIT, outcome).await {
                    let panicked = |panic| Err(format!("the check panicked: {panic}"));
                    run.send_replace(Some(outcome.unwrap_or_else(panicked)));
                }
            });
        };
        Self {
            start: Box::new(start),
            run: Mutex::new(watch::channel(None).1),
            cause: Mutex::default(),
        }
    }

    /// Runs the check on the `main` runtime, and waits at most [`LIMIT`].
    ///
    /// The log has the cause of a failure. The response to a probe has not: everyone can read it, and an error may
    /// contain a URL with a password.
    pub(crate) async fn run(&self, name: &str, main: &Handle) -> Outcome {
        let outcome = timeout(LIMIT, self.outcome(main)).await.ok().flatten();
        let (outcome, cause) = match outcome {
            Some(Ok(())) => (Ok(()), None),
            Some(Err(cause)) => (Err("reason withheld".to_owned()), Some(cause)),
            None => {
                let late = format!("it has not ended within {LIMIT:?}");
                (Err(late.clone()), Some(late))
            }
        };
        self.log(name, cause);
        outcome
    }

    /// The outcome of the run in progress, or of a new one; `None` if it is cancelled.
    async fn outcome(&self, main: &Handle) -> Option<Outcome> {
        let mut run = self.join(main);
        run.wait_for(Option::is_some).await.ok()?.clone()
    }

    fn join(&self, main: &Handle) -> watch::Receiver<Option<Outcome>> {
        let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let is_cancelled = run.has_changed().is_err();
        if is_cancelled || run.borrow().is_some() {
            let (sender, receiver) = watch::channel(None);
            (self.start)(sender, main);
            *run = receiver;
        }
        run.clone()
    }

    /// Logs a cause when it changes, not for each probe.
    fn log(&self, name: &str, cause: Option<String>) {
        let mut last = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != cause {
            if let Some(error) = &cause {
                tracing::warn!(check = name, error, "a check fails");
            } else {
                tracing::info!(check = name, "a check passes again");
            }
            *last = cause;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fmt,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use futures_util::future::join_all;
    use tokio::time::{advance, sleep};

    use super::*;

    const LATE: &str = "it has not ended within 800ms";

    /// An error whose text panics.
    #[derive(Debug)]
    struct Mute;

    impl fmt::Display for Mute {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("no steam")
        }
    }

    impl std::error::Error for Mute {}

    async fn run(check: &Check) -> Outcome {
        check.run("engine", &Handle::current()).await
    }

    /// The cause of the failure of a check that hangs no more. On a busy machine, it may start late.
    async fn cause(check: &Check, main: &Handle) -> Option<String> {
        for _ in 0..75 {
            let outcome = check.run("engine", main).await;
            let cause = check.cause.lock().unwrap().clone();
            if cause.as_deref() != Some(LATE) {
                let withheld = cause.as_ref().map(|_| "reason withheld".to_owned());
                assert_eq!(outcome.err(), withheld);
                return cause;
            }
        }
        panic!("it hangs");
    }

    #[tokio::test]
    async fn the_log_has_the_error_or_panic_of_a_check_and_the_response_has_not() {
        let check = async |check, wanted: Option<&str>| {
            for _ in 0..2 {
                assert_eq!(cause(&check, &Handle::current()).await.as_deref(), wanted);
            }
        };
        let task = Check::new(async || Err(anyhow::anyhow!("down").context("no answer")));
        check(task, Some("no answer: down")).await;
        let reason = Some("the check panicked: no steam");
        check(Check::new(async || Err(Mute.into())), reason).await;
        check(Check::new(async || panic!("no steam")), reason).await;
        check(Check::new(async || Ok(())), None).await;
    }

    #[tokio::test(start_paused = true)]
    async fn probes_at_the_same_time_share_one_run() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let check = Check::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async {
                sleep(LIMIT / 2).await;
                Ok(())
            }
        });
        for wanted in [1, 2] {
            let outcomes = join_all((0..5).map(|_| run(&check))).await;
            assert_eq!(outcomes, vec![Ok(()); 5]);
            assert_eq!(count.load(Ordering::SeqCst), wanted);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_task_is_cancelled_so_that_the_next_probe_starts_it_again() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let check = Check::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            std::future::pending()
        });
        for wanted in [1, 2] {
            assert_eq!(run(&check).await, Err(LATE.to_owned()));
            assert_eq!(count.load(Ordering::SeqCst), wanted);
            advance(Duration::from_millis(1)).await;
        }
    }
}
