//! How a reconcile ended.

use std::{fmt, time::Duration};

use crate::{
    controller::{
        action::{Action, Next},
        retry::{self, Retry},
    },
    error::chain,
    metrics::ControllerMetrics,
};

/// The outcome of a reconcile that did not fail.
#[derive(Debug)]
pub(crate) enum Done {
    /// The user's function ran.
    Asked(Action),
    /// There was nothing to do: the object is being deleted, and does not have our finalizer.
    Nothing,
    /// The object is paused.
    Paused,
    /// The object does not exist.
    Gone,
}

impl Done {
    /// When the object is to be reconciled again.
    pub(crate) fn next(&self) -> Next {
        match self {
            Self::Asked(Action(next)) => *next,
            Self::Nothing | Self::Paused | Self::Gone => Next::Change,
        }
    }
}

/// The reason why a reconcile failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Error(Report),
    Panic(String),
    Timeout(Duration),
}

/// What an error of the author says. The error itself stays behind the guard that has called the author's code, because
/// all of its methods are such code.
#[derive(Debug)]
pub(crate) struct Report {
    message: String,
    retry: Retry,
    may_pass: bool,
    waits: Option<String>,
}

impl From<anyhow::Error> for Failure {
    /// Calls code of the author.
    fn from(error: anyhow::Error) -> Self {
        Self::Error(Report {
            message: chain(error.as_ref()),
            retry: retry::of(&error),
            may_pass: retry::may_pass(&error),
            waits: retry::waits(&error).map(str::to_owned),
        })
    }
}

impl Failure {
    /// When the object is to be reconciled again.
    pub(crate) fn retry(&self) -> Retry {
        match self {
            Self::Error(report) => report.retry,
            Self::Panic(_) | Self::Timeout(_) => Retry::Backoff,
        }
    }

    /// Whether it says nothing of the object, and the retry after its back-off may succeed.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Error(report) => report.retry == Retry::Backoff && report.may_pass,
            Self::Panic(_) | Self::Timeout(_) => false,
        }
    }

    /// The author's reason, if the reconcile only waits for something: that is no error.
    pub(crate) fn waits(&self) -> Option<&str> {
        match self {
            Self::Error(report) => report.waits.as_deref(),
            Self::Panic(_) | Self::Timeout(_) => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(report) => f.write_str(&report.message),
            Self::Panic(message) => write!(f, "panicked: {message}"),
            Self::Timeout(after) => write!(f, "cancelled after {after:?}, see --reconcile-timeout"),
        }
    }
}

impl std::error::Error for Failure {}

/// Counts a reconcile that has ended.
pub(crate) fn count(metrics: &ControllerMetrics, done: &Result<Done, Failure>, took: Duration) {
    metrics.seconds.observe(took.as_secs_f64());
    match done {
        Ok(done) => match done.next() {
            Next::After(Duration::ZERO) => metrics.requeue.inc(),
            Next::After(_) | Next::At(_) => metrics.requeue_after.inc(),
            Next::Change => metrics.success.inc(),
        },
        Err(failure) if failure.waits().is_some() => metrics.requeue_after.inc(),
        Err(failure) => {
            match failure {
                Failure::Error(_) => {}
                Failure::Panic(_) => drop(metrics.panics.inc()),
                Failure::Timeout(_) => drop(metrics.timeouts.inc()),
            }
            if failure.retry() == Retry::Never {
                metrics.terminal_errors.inc();
            }
            metrics.errors.inc();
            metrics.error.inc()
        }
    };
}
