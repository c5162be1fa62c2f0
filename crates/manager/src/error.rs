//! Formats errors as one line of text, and catches panics.

use std::{
    any::Any,
    error::Error,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
};

use crate::key::Key;

/// The message of `error` and of all its causes, without duplicates: many errors repeat the message of their cause.
///
/// For an error response of the API server, it is only the message: kube appends the whole response in `Debug` format.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    if let Some(kube::Error::Api(status)) = error.downcast_ref()
        && !status.message.is_empty()
    {
        return status.message.clone();
    }
    let text = error.to_string();
    let Some(cause) = error.source() else {
        return text;
    };
    let (repeated, message) = (cause.to_string(), chain(cause));
    if repeated != message && !repeated.is_empty() && text.contains(&repeated) {
        return text.replace(&repeated, &message);
    }
    if text.contains(&message) {
        return text;
    }
    format!("{text}: {message}")
}

/// Calls a function of the user, and catches its panic, which would end a watch; `None` if it panics. `what` names the
/// function.
pub(crate) fn caught<T>(what: &str, key: &Key, call: impl FnOnce() -> T) -> Option<T> {
    let result = catch_unwind(AssertUnwindSafe(call));
    if result.is_err() {
        tracing::error!(%key, "{what} panicked");
    }
    result.ok()
}

/// The output of `future`, or the message of its panic. After a panic, do not use the values that it was changing.
pub(crate) async fn unwound<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let poll = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        poll.map_or_else(
            |payload| Poll::Ready(Err(panic_message(&*payload).to_owned())),
            |poll| poll.map(Ok),
        )
    })
    .await
}

/// The message of a panic.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&'static str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}

/// `text`, truncated to at most `most` bytes at a character boundary.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_is_already_in_the_message_is_not_repeated() {
        let error = anyhow::anyhow!("no route").context("cannot connect");
        assert_eq!(chain(error.as_ref()), "cannot connect: no route");
        let error = anyhow::anyhow!("no route").context("cannot connect: no route");
        assert_eq!(chain(error.as_ref()), "cannot connect: no route");
    }

    #[test]
    fn an_api_error_is_shown_as_its_message_at_any_depth() {
        let answer = || {
            let status = kube::core::Status::failure("pods \"a\" is forbidden", "Forbidden");
            kube::Error::Api(status.with_code(403).boxed())
        };
        let message = "pods \"a\" is forbidden";
        assert_eq!(chain(&answer()), message);
        let error = anyhow::Error::new(answer()).context("cannot read");
        assert_eq!(chain(error.as_ref()), format!("cannot read: {message}"));
        let error = anyhow::Error::new(answer());
        let error = error.context(format!("cannot read: {}", answer()));
        assert_eq!(chain(error.as_ref()), format!("cannot read: {message}"));
        let error = kube::runtime::watcher::Error::WatchStartFailed(answer());
        let said = chain(&error);
        assert!(said.ends_with(&format!(": {message}")), "{said}");
    }

    #[test]
    fn text_is_truncated_between_characters() {
        assert_eq!(cut("aä", 2), "a");
        assert_eq!(cut("aä", 9), "aä");
    }
}
