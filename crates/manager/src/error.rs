//! Errors as one line of text, and panics that must not go further.

use std::{
    error::Error,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::key::Key;

/// The message of `error` and of all its causes, each once: many errors repeat that of their cause.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}

/// Calls a function of the user's where a panic would end a watch; `None` if it panics. `what` says what it is.
pub(crate) fn caught<T>(what: &str, key: &Key, call: impl FnOnce() -> T) -> Option<T> {
    let result = catch_unwind(AssertUnwindSafe(call));
    if result.is_err() {
        tracing::error!(%key, "{what} panicked");
    }
    result.ok()
}

/// `text`, cut to at most `most` bytes between two characters.
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
    fn a_cause_that_is_named_already_is_not_repeated() {
        let error = anyhow::anyhow!("no route").context("cannot connect");
        assert_eq!(chain(error.as_ref()), "cannot connect: no route");
        let error = anyhow::anyhow!("no route").context("cannot connect: no route");
        assert_eq!(chain(error.as_ref()), "cannot connect: no route");
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("aä", 2), "a");
        assert_eq!(cut("aä", 9), "aä");
    }
}
