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
    let (sender, done) = oneshot::channel();
    begin(work, |result| drop(sender.send(result)));
    finish(done.await.ok())
}

/// Like [`run`], but blocks this thread, which may run asynchronous code: what the work does would take as long here.
pub(super) fn wait<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, done) = mpsc::channel();
    begin(work, move |result| drop(sender.send(result)));
    finish(done.recv().ok())
}

fn begin<T>(
    work: impl FnOnce() -> T + Send + 'static,
    done: impl FnOnce(thread::Result<T>) + Send + 'static,
) {
    let job: Job = Box::new(move || done(catch_unwind(AssertUnwindSafe(work))));
    match &*JOBS {
        // The thread ends only with the process.
        Some(jobs) => drop(jobs.send(job)),
        None => job(),
    }
}

fn finish<T>(result: Option<thread::Result<T>>) -> T {
    // Every job is answered, even one that panics.
    let result = result.expect("the thread for large reviews lives as long as the process");
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use std::thread::current;

    use super::*;

    #[tokio::test]
    async fn work_is_done_on_one_thread_even_after_a_panic() {
        let first = run(|| current().id()).await;
        let panicked = tokio::spawn(run(|| panic!("as requested"))).await;
        assert!(panicked.unwrap_err().is_panic());
        assert_eq!(run(|| current().id()).await, first);
        // The code of a webhook that asks for an object is asynchronous, and this is not.
        assert_eq!(wait(|| current().id()), first);
        assert_ne!(current().id(), first);
    }
}
