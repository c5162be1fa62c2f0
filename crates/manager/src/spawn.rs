//! Tasks of code that is generic over a kind.
//!
//! Their futures are boxed, and these functions are not generic, so that the code of tokio is compiled with this crate, and not again
//! for each kind of each operator: a quarter of what the compiler does after a change of a type.

use futures_util::future::BoxFuture;
use tokio::task::{AbortHandle, JoinSet};

/// Runs the watch of a kind.
pub(crate) fn watch(
    watches: &mut JoinSet<anyhow::Error>,
    watch: BoxFuture<'static, anyhow::Error>,
) {
    watches.spawn(watch);
}

/// Runs the work on one object.
pub(crate) fn work(under_way: &mut JoinSet<()>, work: BoxFuture<'static, ()>) {
    under_way.spawn(work);
}

/// Cancels a task when it is dropped.
pub(crate) struct AbortOnDrop(pub(crate) AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
