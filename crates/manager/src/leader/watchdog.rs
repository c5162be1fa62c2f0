//! Ends the process by force when it does not end by itself.
//!
//! A reconcile that blocks its thread cannot be cancelled, and the runtime waits for it when the program ends.
//! controller-runtime has no such case, as Go's programs end with all they run.

use std::{
    process,
    thread::{self, sleep},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::leader::fence::Fence;

/// How long a program may take to end once its manager has failed.
const ENDING: Duration = Duration::from_secs(5);

/// How often it looks whether this process leads.
const PERIOD: Duration = Duration::from_millis(500);

/// Ends the process when it still runs `grace` after it has lost the lease; from then on another may lead. Does not
/// need the runtime, all of whose threads may be blocked. It goes on until `ended`.
pub(crate) fn watch(
    fence: Fence,
    grace: Duration,
    ended: CancellationToken,
) -> std::io::Result<()> {
    let watch = move || {
        while fence.time_left(grace) != Some(Duration::ZERO) {
            if ended.is_cancelled() {
                return;
            }
            sleep(
                fence
                    .time_left(grace)
                    .map_or(PERIOD, |left| left.min(PERIOD)),
            );
        }
        tracing::error!("leadership lost, and this process still runs; ending at once");
        process::exit(1);
    };
    thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(watch)?;
    Ok(())
}

/// Ends the process, if it does not soon end by itself, after its manager has failed with `error`.
pub(crate) fn end(error: &anyhow::Error) {
    let error = format!("{error:#}");
    // It ends by itself, or is ended by who started it, if there is no thread to be had.
    let _ = thread::Builder::new().spawn(move || {
        sleep(ENDING);
        tracing::error!(
            error,
            "something blocks its thread and holds up the end; ending at once"
        );
        process::exit(1);
    });
}
