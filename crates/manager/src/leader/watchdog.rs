//! Kills the process if it does not end by itself.
//!
//! A reconcile that blocks its thread cannot be cancelled, and the runtime waits for it when the program ends.
//! controller-runtime has no such problem, because a Go program ends together with all its goroutines.

use std::{
    process,
    thread::{self, sleep},
    time::Duration,
};

use tokio_util::sync::{CancellationToken, DropGuard};

use crate::leader::fence::Fence;

/// How long a program may take to end after its manager has failed.
const ENDING: Duration = Duration::from_secs(5);

/// How often to check whether this process leads.
const PERIOD: Duration = Duration::from_millis(500);

/// Ends the process if it is still running `grace` after it has lost the lease; from then on another one may lead. This
/// does not need the runtime, because all threads of that may be blocked. It watches until what it returns is dropped, as
/// it is with the future that runs the manager.
pub(crate) fn watch(fence: Fence, grace: Duration) -> std::io::Result<DropGuard> {
    let token = CancellationToken::new();
    let ended = token.clone();
    let watch = move || {
        loop {
            let left = fence.time_left(grace);
            if ended.is_cancelled() {
                return;
            }
            if left == Some(Duration::ZERO) {
                break;
            }
            sleep(left.map_or(PERIOD, |left| left.min(PERIOD)));
        }
        tracing::error!("leadership lost, and this process still runs; ending at once");
        process::exit(1);
    };
    thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(watch)?;
    Ok(token.drop_guard())
}

/// Ends the process after its manager has failed with `error`, unless it soon ends by itself.
pub(crate) fn end(error: &anyhow::Error) {
    let error = format!("{error:#}");
    // If no thread can be started, the process ends by itself, or its parent ends it.
    let _ = thread::Builder::new().spawn(move || {
        sleep(ENDING);
        tracing::error!(
            error,
            "something blocks its thread and holds up the end; ending at once"
        );
        process::exit(1);
    });
}
