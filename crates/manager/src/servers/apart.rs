//! One thread for what takes much memory. The allocator of the C library keeps what a thread has freed for that thread, so
//! that the peaks of all threads would add up.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{LazyLock, mpsc},
    thread,
};

use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// The jobs of the thread; `None` if it cannot be started.
static JOBS: LazyLock<Option<mpsc::Sender<Job>>> = LazyLock::new(|| {
    let (sender, jobs) = mpsc::channel::<Job>();
    let thread = thread::Builder::new().name("large-reviews".to_owned());
    let started = thread.spawn(move || jobs.into_iter().for_each(|job| job()));
    started.is_ok().then_some(sender)
});

/// Does work on the thread. It goes on if this future is dropped.
pub(super) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = begin(work).await;
    result(done)
}

/// Like [`run`], but blocks this thread.
pub(super) fn wait<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = begin(work).blocking_recv();
    result(done)
}

/// What came of some work, unless it panicked.
type Done<T> = Result<thread::Result<T>, oneshot::error::RecvError>;

fn begin<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> oneshot::Receiver<thread::Result<T>> {
    let (sender, done) = oneshot::channel();
    let job: Job = Box::new(move || {
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
    });
    match &*JOBS {
        Some(jobs) => {
            // The thread ends only with the process.
            let _ = jobs.send(job);
        }
        None => job(),
    }
    done
}

fn result<T>(done: Done<T>) -> T {
    match done {
        Ok(Ok(value)) => value,
        Ok(Err(panic)) => resume_unwind(panic),
        // The thread answers every job, even one that panics, and lives as long as the process.
        Err(error) => panic!("the thread for large reviews has ended: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::thread::current;

    use super::*;

    #[tokio::test]
    async fn work_is_done_on_one_thread_even_after_a_panic() {
        let first = run(|| current().id()).await;
        let panicked = tokio::spawn(run(|| panic!("told to"))).await;
        assert!(panicked.unwrap_err().is_panic());
        assert_eq!(run(|| current().id()).await, first);
        let waited = tokio::task::spawn_blocking(|| wait(|| current().id())).await;
        assert_eq!(waited.unwrap(), first);
        assert_ne!(current().id(), first);
    }
}
