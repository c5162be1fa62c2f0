//! Errors that decide when their reconcile runs again.

use std::{error::Error, fmt, time::Duration};

use crate::error::causes;

/// When a reconcile that failed runs again, if nothing changes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// After the back-off of its object.
    Backoff,
    /// After this duration.
    After(Duration),
    /// Never.
    Never,
}

/// An error with its retry. Its message and its cause are those of `error`.
#[derive(Debug)]
struct Decided {
    error: anyhow::Error,
    retry: Retry,
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl Error for Decided {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.error.as_ref())
    }
}

/// Makes an error terminal: the reconcile that returns it is not retried until something changes. Use it for what no
/// retry solves, such as a spec that contradicts itself.
///
/// The reconcile fails like any other: it sets `Ready` to `False` (see [`conditions`](crate::Controller::conditions)),
/// is logged, and counts in `controller_runtime_reconcile_errors_total`, and also in
/// `controller_runtime_terminal_reconcile_errors_total`. In addition, an event of type `Warning` with the reason
/// `ReconcileFailed` is published on the object. The object is reconciled again when it or one of its children changes,
/// when a trigger enqueues it, for a requeue that an earlier reconcile asked for, at the
/// [resync](crate::Controller::resync), and when the operator starts. In a clean-up, the finalizer stays until then.
///
/// It is controller-runtime's `reconcile.TerminalError`. What is added to the error later, with anyhow's `context`, does
/// not change that.
///
/// ```
/// # use std::{num::ParseIntError, sync::Arc};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use manager::{Action, Context};
/// async fn reconcile(map: Arc<ConfigMap>, _cx: Context<ConfigMap>) -> anyhow::Result<Action> {
///     let data = map.data.iter().flatten();
///     for (port, number) in data {
///         // Only an edit can repair this, and an edit triggers a reconcile.
///         let _number: u16 = number.parse().map_err(manager::terminal)?;
///         if port.is_empty() {
///             return Err(manager::terminal(anyhow::anyhow!("a port needs a name")));
///         }
///     }
///     Ok(Action::await_change())
/// }
/// ```
#[must_use = "a terminal error has an effect if the reconcile returns it"]
pub fn terminal(error: impl Into<anyhow::Error>) -> anyhow::Error {
    decided(error.into(), Retry::Never)
}

/// Gives an error the time of its retry: the reconcile that returns it runs again after this duration, or earlier when
/// something changes. Use it if the error itself tells when to try again, as the `Retry-After` of a service does.
///
/// Otherwise the reconcile fails like any other. The failure does not count for the back-off of the object, and resets
/// it. `Duration::ZERO` means the back-off.
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use manager::{Action, Context};
/// # async fn berth(_: &str) -> std::io::Result<()> { Ok(()) }
/// async fn reconcile(_: Arc<ConfigMap>, cx: Context<ConfigMap>) -> anyhow::Result<Action> {
///     let minute = Duration::from_secs(60);
///     berth(cx.name()).await.map_err(|error| manager::retry_after(minute, error))?;
///     Ok(Action::await_change())
/// }
/// ```
#[must_use = "the error has an effect if the reconcile returns it"]
pub fn retry_after(delay: Duration, error: impl Into<anyhow::Error>) -> anyhow::Error {
    let retry = match delay {
        Duration::ZERO => Retry::Backoff,
        delay => Retry::After(delay),
    };
    decided(error.into(), retry)
}

/// Ends a reconcile that has to wait for something that is missing, such as a Secret that the object names. `reason` is
/// that of a condition: one word in camel case.
///
/// With [`conditions`](crate::Controller::conditions), `Ready` becomes `False` with this reason and message. A success
/// does not take it back: that reconcile sets `Ready` itself. Nothing has failed, so it is logged as information and
/// counts as a requeue. The object is reconciled again when something changes, so watch the kind that is missing, and
/// otherwise after its back-off, because what is missing may be outside the cluster. In a clean-up, the finalizer stays
/// until then.
///
/// ```
/// # use std::sync::Arc;
/// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::Secret};
/// # use manager::{Action, Context, waiting};
/// async fn reconcile(_: Arc<Deployment>, cx: Context<Deployment>) -> anyhow::Result<Action> {
///     let Some(secret) = cx.get::<Secret>("harbor")? else {
///         return Err(waiting("SecretNotFound", "the Secret `harbor` does not exist"));
///     };
/// #   drop(secret);
///     Ok(Action::await_change())
/// }
/// ```
#[must_use = "the error has an effect if the reconcile returns it"]
pub fn waiting(reason: &str, message: impl Into<String>) -> anyhow::Error {
    let (reason, message) = (reason.to_owned(), message.into());
    Waiting { reason, message }.into()
}

/// What a reconcile waits for.
#[derive(Debug)]
struct Waiting {
    reason: String,
    message: String,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Waiting {}

/// The reason of a reconcile that only waits.
pub(crate) fn waits(error: &anyhow::Error) -> Option<&str> {
    let waiting = causes(error.as_ref()).find_map(|cause| cause.downcast_ref());
    waiting.map(|waiting: &Waiting| waiting.reason.as_str())
}

fn decided(error: anyhow::Error, retry: Retry) -> anyhow::Error {
    Decided { error, retry }.into()
}

/// When the reconcile that returned `error` runs again.
pub(crate) fn of(error: &anyhow::Error) -> Retry {
    let decided = causes(error.as_ref()).find_map(|cause| cause.downcast_ref());
    decided.map_or(Retry::Backoff, |decided: &Decided| decided.retry)
}

/// Whether an error says something of the API server and not of the object, and the next attempt may succeed: it is
/// overloaded, restarts, changes its leader, had another writer of the object, or gave no answer.
pub(crate) fn may_pass(error: &anyhow::Error) -> bool {
    let error = causes(error.as_ref()).find_map(|cause| cause.downcast_ref());
    match error {
        Some(kube::Error::Api(status)) => matches!(status.code, 408 | 409 | 429 | 500..),
        Some(kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_)) => {
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};

    use super::*;
    use crate::error::chain;

    #[test]
    fn a_retry_is_found_below_any_context_and_the_outermost_counts() {
        const SECOND: Duration = Duration::from_secs(1);
        assert_eq!(of(&anyhow!("no wind")), Retry::Backoff);
        let result: Result<u8, _> = "many".parse().map_err(terminal);
        let error = result.context("ships").context("fleet").unwrap_err();
        assert_eq!(of(&error), Retry::Never);
        let error = retry_after(SECOND, error);
        assert_eq!(of(&error), Retry::After(SECOND));
        assert_eq!(of(&retry_after(Duration::ZERO, error)), Retry::Backoff);
    }

    #[test]
    fn what_a_reconcile_waits_for_is_found_below_any_context() {
        assert_eq!(waits(&anyhow!("no wind")), None);
        let error = waiting("NoWind", "no wind").context("cannot sail");
        assert_eq!(waits(&error), Some("NoWind"));
        assert_eq!(of(&error), Retry::Backoff);
        assert_eq!(chain(error.as_ref()), "cannot sail: no wind");
    }

    #[test]
    fn a_retry_is_not_visible_in_the_message_and_the_error_can_be_found() {
        let status = kube::core::Status::failure("pods \"a\" is forbidden", "Forbidden");
        let error = kube::Error::Api(status.with_code(403).boxed());
        let error = terminal(error).context("cannot read");
        let message = "cannot read: pods \"a\" is forbidden";
        assert_eq!(chain(error.as_ref()), message);
        let cause = error.chain().find_map(|cause| cause.downcast_ref());
        assert!(matches!(cause, Some(kube::Error::Api(_))));
    }
}
