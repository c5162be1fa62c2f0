//! Runs the user's code where a panic does no harm.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
};

use super::rejection::Rejection;

/// Runs a webhook: its panic becomes a rejection. What it was about to change is not looked at after that.
pub(super) async fn guarded<T>(
    webhook: impl Future<Output = Result<T, Rejection>>,
) -> Result<T, Rejection> {
    let mut webhook = pin!(webhook);
    poll_fn(|cx| {
        let poll = catch_unwind(AssertUnwindSafe(|| webhook.as_mut().poll(cx)));
        poll.unwrap_or_else(|payload| Poll::Ready(Err(Rejection::panicked(message(&*payload)))))
    })
    .await
}

/// What a panic said.
pub(super) fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&'static str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}
