//! The checks of the operator's author. A check that hangs fails in time, and hangs no probe.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout,
};

use crate::{
    error::{chain, panic_message},
    spawn::AbortOnDrop,
};

/// How long a check may take: less than the second that the kubelet waits by default.
const LIMIT: Duration = Duration::from_millis(800);

type Outcome = Result<(), String>;

/// Starts a check, which keeps the permit until it has ended, even if the returned future is dropped.
type Start = dyn Fn(OwnedSemaphorePermit) -> BoxFuture<'static, Outcome> + Send + Sync;

/// A check that may take a while.
pub(crate) struct Check {
    start: Box<Start>,
    /// One run at a time: a check that hangs must not use up threads.
    free: Arc<Semaphore>,
}

impl Check {
    /// A check that may block its thread.
    pub(crate) fn blocking(check: impl Fn() -> Outcome + Send + Sync + 'static) -> Self {
        let check = Arc::new(check);
        Self::new(move |permit| {
            let check = check.clone();
            let (send, result) = oneshot::channel();
            // Not a thread of the runtime's pool: at the end, the runtime waits for those.
            let thread = thread::Builder::new().name("check".to_owned());
            let started = thread.spawn(move || {
                // A check's state is used only by that check.
                let outcome = catch_unwind(AssertUnwindSafe(|| check()));
                drop(permit);
                // The receiver is gone if the probe has not waited.
                let _ = send.send(outcome.unwrap_or_else(|panic| Err(panicked(&*panic))));
            });
            Box::pin(async move {
                started.map_err(|error| format!("cannot start a thread: {error}"))?;
                result.await.map_err(|error| error.to_string())?
            })
        })
    }

    /// A check that runs as a task.
    pub(crate) fn task<R>(check: impl Fn() -> R + Send + Sync + 'static) -> Self
    where
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let check = Arc::new(check);
        Self::new(move |permit| {
            let check = check.clone();
            Box::pin(async move {
                let result = check().await;
                drop(permit);
                result.map_err(|error| chain(error.as_ref()))
            })
        })
    }

    fn new(
        start: impl Fn(OwnedSemaphorePermit) -> BoxFuture<'static, Outcome> + Send + Sync + 'static,
    ) -> Self {
        Self {
            start: Box::new(start),
            free: Arc::new(Semaphore::new(1)),
        }
    }

    /// Runs it on this runtime, and waits at most [`LIMIT`].
    pub(crate) async fn run(&self, runtime: &Handle) -> Outcome {
        let outcome = async {
            // The semaphore is never closed.
            let permit = self.free.clone().acquire_owned().await;
            let permit = permit.map_err(|error| error.to_string())?;
            let task = runtime.spawn((self.start)(permit));
            let _abort = AbortOnDrop(task.abort_handle());
            match task.await {
                Ok(outcome) => outcome,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => Err(panicked(&*panic)),
                    Err(_) => Err("the runtime has ended".to_owned()),
                },
            }
        };
        let late = |_| Err(format!("it has not ended within {LIMIT:?}"));
        timeout(LIMIT, outcome).await.unwrap_or_else(late)
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> String {
    format!("the check panicked: {}", panic_message(panic))
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    use super::*;

    async fn run(check: &Check) -> Outcome {
        check.run(&Handle::current()).await
    }

    /// The outcome of a check that hangs no more. On a busy machine, its thread may start late.
    async fn ended(check: &Check) -> Outcome {
        loop {
            let outcome = run(check).await;
            if outcome != failed("it has not ended within 800ms") {
                return outcome;
            }
        }
    }

    fn failed(reason: &str) -> Outcome {
        Err(reason.to_owned())
    }

    #[tokio::test]
    async fn a_check_reports_its_error_or_panic() {
        let blocking = Check::blocking(|| Err("away".to_owned()));
        assert_eq!(ended(&blocking).await, failed("away"));
        let task = Check::task(async || Err(anyhow::anyhow!("down").context("no answer")));
        assert_eq!(ended(&task).await, failed("no answer: down"));
        let blocking = Check::blocking(|| panic!("no steam"));
        let task = Check::task(async || panic!("no steam"));
        for _ in 0..2 {
            let reason = "the check panicked: no steam";
            assert_eq!(ended(&blocking).await, failed(reason));
            assert_eq!(ended(&task).await, failed(reason));
        }
        assert_eq!(ended(&Check::blocking(|| Ok(()))).await, Ok(()));
        assert_eq!(ended(&Check::task(async || Ok(()))).await, Ok(()));
    }

    #[tokio::test]
    async fn a_hanging_thread_fails_in_time_and_is_not_started_again_until_it_ends() {
        let (go_on, waits) = mpsc::channel::<()>();
        let (waits, count) = (Mutex::new(waits), Arc::new(AtomicUsize::new(0)));
        let counted = count.clone();
        let check = Check::blocking(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            let waits = waits.lock().unwrap_or_else(PoisonError::into_inner);
            waits.recv().map_err(|error| error.to_string())
        });
        let late = failed("it has not ended within 800ms");
        assert_eq!(run(&check).await, late);
        assert_eq!(run(&check).await, late);
        assert_eq!(count.load(Ordering::SeqCst), 1);
        go_on.send(()).unwrap();
        drop(go_on);
        // The second call fails, because the channel is closed by now.
        let closed = mpsc::RecvError.to_string();
        assert_eq!(ended(&check).await, failed(&closed));
        assert!(count.load(Ordering::SeqCst) >= 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_task_is_cancelled_so_that_the_next_probe_starts_it_again() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let check = Check::task(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            std::future::pending()
        });
        for wanted in [1, 2] {
            assert_eq!(run(&check).await, failed("it has not ended within 800ms"));
            assert_eq!(count.load(Ordering::SeqCst), wanted);
        }
    }
}
