//! The reason of a rejection, and the `Status` that reports it.

use std::fmt::Display;

use serde_json::{Value, json};

use super::field::{FieldError, FieldErrors};
use crate::{error::chain, panics::unwound};

/// The reason why a webhook rejects a request.
///
/// Field errors become the answer of Kubernetes' own validation: code 422, reason `Invalid`, and one cause for each
/// field. Any other error, by `?`, is a failure of the webhook: code 500, which rejects the request as well.
#[derive(Debug)]
pub struct Rejection(Why);

#[derive(Debug)]
enum Why {
    Fields(FieldErrors),
    Forbidden(String),
    Failed(String),
    /// The webhook cannot answer this request.
    Bad(String),
    /// The request takes too much memory.
    Large(String),
    Panicked(String),
}

impl Rejection {
    /// The user lacks permission: code 403, reason `Forbidden`.
    #[must_use]
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self(Why::Forbidden(message.into()))
    }

    /// The request is malformed: code 400, reason `BadRequest`.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self(Why::Bad(message.into()))
    }

    /// The request takes too much memory: code 413, reason `RequestEntityTooLarge`.
    pub(super) fn too_large(problem: impl Display) -> Self {
        Self(Why::Large(format!("cannot review the object: {problem}")))
    }

    /// The webhook panicked.
    pub(super) fn panicked(message: &str) -> Self {
        Self(Why::Panicked(message.to_owned()))
    }

    /// The error of the webhook itself; `None` if it worked and rejected the request.
    pub(super) fn failure(&self) -> Option<&str> {
        match &self.0 {
            Why::Failed(message) | Why::Panicked(message) => Some(message),
            Why::Fields(_) | Why::Forbidden(_) | Why::Bad(_) | Why::Large(_) => None,
        }
    }

    pub(super) fn is_panic(&self) -> bool {
        matches!(self.0, Why::Panicked(_))
    }

    /// The `Status` of this rejection, for an object of this group and kind.
    pub(super) fn status(&self, group: &str, kind: &str, name: &str) -> Value {
        let (code, reason, message) = match &self.0 {
            Why::Fields(errors) => {
                let dot = if group.is_empty() { "" } else { "." };
                let message = format!("{kind}{dot}{group} {name:?} is invalid: {errors}");
                (422, "Invalid", message)
            }
            Why::Forbidden(message) => (403, "Forbidden", message.clone()),
            Why::Bad(message) => (400, "BadRequest", message.clone()),
            Why::Large(message) => (413, "RequestEntityTooLarge", message.clone()),
            Why::Failed(message) => (500, "InternalError", message.clone()),
            Why::Panicked(message) => (500, "InternalError", format!("panic: {message}")),
        };
        let mut status = json!({
            "metadata": {}, "status": "Failure", "code": code, "reason": reason, "message": message,
        });
        if let Why::Fields(errors) = &self.0 {
            let causes: Vec<_> = errors.0.iter().map(FieldError::cause).collect();
            status["details"] = json!({
                "group": group, "kind": kind, "name": name, "causes": causes,
            });
        }
        status
    }
}

/// Any error inside a webhook is a failure.
impl<E: Into<anyhow::Error>> From<E> for Rejection {
    fn from(error: E) -> Self {
        let error: anyhow::Error = error.into();
        Self(Why::Failed(chain(error.as_ref())))
    }
}

impl FieldErrors {
    /// Rejects the object with all errors, if there are any.
    ///
    /// # Errors
    /// The rejection.
    pub fn check(self) -> Result<(), Rejection> {
        if self.is_empty() {
            return Ok(());
        }
        Err(self.into())
    }
}

impl From<FieldErrors> for Rejection {
    fn from(errors: FieldErrors) -> Self {
        Self(Why::Fields(errors))
    }
}

impl From<FieldError> for Rejection {
    fn from(error: FieldError) -> Self {
        Self(Why::Fields(FieldErrors(vec![error])))
    }
}

/// Runs a webhook and turns a panic into a rejection. The values that it was changing are dropped.
pub(super) async fn guarded<T>(
    webhook: impl Future<Output = Result<T, Rejection>>,
) -> Result<T, Rejection> {
    let result = unwound(webhook).await;
    result.unwrap_or_else(|message| Err(Rejection::panicked(&message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_errors_become_the_status_that_kubernetes_returns() {
        let rejection = Rejection::from(FieldError::required("spec.a", "say which"));
        let status = rejection.status("crew.example.com", "Captain", "james");
        assert_eq!(
            status,
            json!({
                "metadata": {}, "status": "Failure", "code": 422, "reason": "Invalid",
                "message": "Captain.crew.example.com \"james\" is invalid: \
                            spec.a: Required value: say which",
                "details": {
                    "group": "crew.example.com", "kind": "Captain", "name": "james",
                    "causes": [{
                        "reason": "FieldValueRequired", "field": "spec.a",
                        "message": "Required value: say which",
                    }],
                },
            })
        );
        let status = rejection.status("", "Pod", "a");
        assert_eq!(
            status["message"],
            "Pod \"a\" is invalid: spec.a: Required value: say which"
        );
    }

    #[test]
    fn any_other_error_rejects_the_request() {
        let fail = || -> Result<(), Rejection> {
            "x".parse::<i32>()?;
            Ok(())
        };
        let status = fail().unwrap_err().status("", "Pod", "a");
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&json!(500), &json!("InternalError"))
        );
        let status = Rejection::forbidden("not on Sundays").status("", "Pod", "a");
        assert_eq!(status["code"], 403);
    }
}
