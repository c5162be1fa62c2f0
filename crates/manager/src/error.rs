//! Formats errors as text.

use std::{error::Error, iter};

use crate::permission;

/// How many errors of a chain are looked at. One that is its own cause has no end.
const DEEPEST: usize = 64;

/// An error and its causes.
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let cause = |error: &&'a (dyn Error + 'static)| (*error).source();
    iter::successors(Some(error), cause).take(DEEPEST)
}

/// The message of `error` and of all its causes, without duplicates: many errors repeat the message of their cause.
///
/// For an error response of the API server, it is only the message: kube appends the whole response in `Debug` format.
/// If a request was denied, a second line says how to permit it.
///
/// It calls code of the author if the error is the author's.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let text = chain_of(error, DEEPEST);
    match help(error) {
        Some(help) => format!("{text}\n{help}"),
        None => text,
    }
}

/// How to permit what the API server has denied.
pub(crate) fn help(error: &(dyn Error + 'static)) -> Option<String> {
    let comment = causes(error).find_map(|cause| match cause.downcast_ref() {
        Some(kube::Error::Api(status)) => permission::denied(&status.message),
        _ => None,
    })?;
    Some(format!(
        "help: write `{comment}` where the controller is registered, and run `make manifests`"
    ))
}

fn chain_of(error: &(dyn Error + 'static), deepest: usize) -> String {
    if let Some(kube::Error::Api(status)) = error.downcast_ref()
        && !status.message.is_empty()
    {
        return status.message.clone();
    }
    let text = error.to_string();
    let Some(cause) = error.source().filter(|_| deepest > 1) else {
        return text;
    };
    let (repeated, message) = (cause.to_string(), chain_of(cause, deepest - 1));
    if repeated != message && !repeated.is_empty() && text.contains(&repeated) {
        return text.replace(&repeated, &message);
    }
    if text.contains(&message) {
        return text;
    }
    format!("{text}: {message}")
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
    fn a_denied_request_is_shown_with_the_comment_that_permits_it() {
        let message = r#"pods "a" is forbidden: User "system:serviceaccount:crew:captains" cannot patch resource "pods" in API group "" in the namespace "crew""#;
        let status = kube::core::Status::failure(message, "Forbidden").with_code(403);
        let error = anyhow::Error::new(kube::Error::Api(status.boxed())).context("cannot sail");
        let help = "write `// +kbr:rbac:groups=core,resources=pods,verbs=patch` where the controller is registered, and run `make manifests`";
        assert_eq!(
            chain(error.as_ref()),
            format!("cannot sail: {message}\nhelp: {help}")
        );
    }

    #[test]
    fn text_is_truncated_between_characters() {
        assert_eq!(cut("aä", 2), "a");
        assert_eq!(cut("aä", 9), "aä");
    }
}
