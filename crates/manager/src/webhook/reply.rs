//! The reply to an admission request.

use hyper::StatusCode;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{
    rejection::Rejection,
    review::{Answer, GroupVersionKind, Question},
    serve::Call,
    traits::Warnings,
};
use crate::{metrics::WebhookMetrics, parse::Error, servers::http::Reply};

/// The most bytes that what describes a request takes.
const DESCRIPTION: usize = 256 << 10;

/// The answer to an admission request that is allowed.
#[derive(Clone, Debug, Default)]
#[must_use = "return it from the webhook"]
pub struct Allowed {
    /// The steps of a JSON patch, with commas between them.
    steps: String,
    warnings: Warnings,
}

impl Allowed {
    /// Adds a warning for the user; `kubectl` prints it. Keep it under 120 characters.
    pub fn with_warning(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }

    /// Changes the object by the operations of a JSON patch (RFC 6902). The API server accepts them from mutating
    /// webhooks only.
    pub fn with_patch(mut self, operations: impl IntoIterator<Item = Value>) -> Self {
        for operation in operations {
            let comma = if self.steps.is_empty() { "" } else { "," };
            self.steps.push_str(comma);
            self.steps.push_str(&operation.to_string());
        }
        self
    }

    pub(super) fn patched(steps: String) -> Self {
        let warnings = Warnings::new();
        Self { steps, warnings }
    }

    pub(super) fn warning(warnings: Warnings) -> Self {
        let steps = String::new();
        Self { steps, warnings }
    }
}

/// The answer to a call that cannot be read, or takes too much memory.
pub(super) fn unread(call: &Call, error: &Error) -> Reply {
    if !error.is_too_large() {
        let problem = format!("not a review: {error}\n");
        return Reply::text(StatusCode::BAD_REQUEST, problem);
    }
    // What describes the request takes little, unless it comes from another client than the API server.
    match Question::<IgnoredAny>::read(&call.body, DESCRIPTION) {
        Ok(question) => reply(&question, Err(Rejection::too_large(error)), &call.metrics),
        Err(_) => Reply::text(StatusCode::PAYLOAD_TOO_LARGE, format!("{error}\n")),
    }
}

/// The answer to `question`.
pub(super) fn reply<T, O>(
    question: &Question<T, O>,
    verdict: Result<Allowed, Rejection>,
    metrics: &WebhookMetrics,
) -> Reply {
    let uid = question.uid.clone();
    let answer = match verdict {
        Ok(Allowed { steps, warnings }) => Answer {
            warnings,
            ..Answer::allowed(uid).with_patch(&steps)
        },
        Err(rejection) => {
            let (name, GroupVersionKind { group, kind, .. }) = (&question.name, &question.kind);
            if let Some(failure) = rejection.failure() {
                let namespace = &question.namespace;
                tracing::error!(error = failure, kind, namespace, name, "webhook failed");
            }
            if rejection.is_panic() {
                metrics.panicked();
            }
            Answer::refused(uid, rejection.status(group, kind, name))
        }
    };
    Reply::json(answer.review())
}
