//! Runs code of the operator's author, whose panics end nothing but their own call.
//!
//! Such code is more than the functions that the author passes: the text and the causes of an error, `Drop` of a value
//! or of the payload of a panic, and whatever a type of the author implements. So a result of it leaves a guard only
//! as what this crate has made of it.

use std::{
    any::Any,
    future::Future,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

/// What `call` returns, or the message of its panic. After a panic, do not use the values that it was changing.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(message_of)
}

/// Drops a value of the author.
pub(crate) fn dropped<T>(value: T) {
    if let Err(panic) = caught(move || drop(value)) {
        tracing::error!(panic, "dropping a value panicked");
    }
}

/// The output of `future`, or the message of its panic. After a panic, do not use the values that it was changing.
pub(crate) fn unwound<F: Future>(future: F) -> Unwound<F> {
    Unwound(Some(Box::pin(future)))
}

/// See [`unwound`].
pub(crate) struct Unwound<F>(Option<Pin<Box<F>>>);

impl<F: Future> Future for Unwound<F> {
    type Output = Result<F::Output, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.0 else {
            return Poll::Pending;
        };
        match caught(|| future.as_mut().poll(cx)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

impl<F> Drop for Unwound<F> {
    fn drop(&mut self) {
        dropped(self.0.take());
    }
}

/// The message of a panic whose payload can only be looked at.
pub(crate) fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&'static str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}

/// The message of a panic.
pub(crate) fn message_of(payload: Box<dyn Any + Send>) -> String {
    let text = message(&*payload).to_owned();
    if let Err(again) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        // Its drop may panic, too, and so on.
        mem::forget(again);
    }
    text
}
