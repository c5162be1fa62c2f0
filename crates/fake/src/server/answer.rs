//! The answers of the server: objects, and `Status` bodies with the reasons of the real one.
//!
//! Source: `k8s.io/apimachinery/pkg/api/errors/errors.go`.

use std::collections::BTreeSet;

use hyper::StatusCode;
use serde_json::{Value, json};

use apiserver_rules::Problem;

use super::path::Path;

/// An answer to a request.
pub type Answer = Result<(StatusCode, Value), ErrorResponse>;

/// The reason of an error.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorResponse {
    code: StatusCode,
    reason: &'static str,
    message: String,
    details: Value,
}

impl ErrorResponse {
    fn new(code: StatusCode, reason: &'static str, path: &Path, message: String) -> Self {
        let details = json!({"name": path.name, "group": path.group(), "kind": path.plural});
        Self {
            code,
            reason,
            message,
            details,
        }
    }

    /// Without the details of the object.
    fn bare(mut self) -> Self {
        self.details = Value::Null;
        self
    }

    /// The object does not exist.
    pub(super) fn not_found(path: &Path) -> Self {
        let message = format!("{} \"{}\" not found", path.resource(), path.name);
        Self::new(StatusCode::NOT_FOUND, "NotFound", path, message)
    }

    /// The kind, or the subresource, does not exist.
    pub(super) fn no_such_path(path: &Path) -> Self {
        let message = "the server could not find the requested resource".to_owned();
        Self::new(StatusCode::NOT_FOUND, "NotFound", path, message).bare()
    }

    /// The user may not do this.
    #[must_use]
    pub fn forbidden(path: &Path, why: &str) -> Self {
        let message = format!("{} \"{}\" is forbidden: {why}", path.resource(), path.name);
        Self::new(StatusCode::FORBIDDEN, "Forbidden", path, message)
    }

    pub(super) fn already_exists(path: &Path) -> Self {
        let message = format!("{} \"{}\" already exists", path.resource(), path.name);
        Self::new(StatusCode::CONFLICT, "AlreadyExists", path, message)
    }

    /// Another writer was faster, or a precondition does not hold.
    pub(super) fn conflict(path: &Path, why: &str) -> Self {
        let what = format!("{} \"{}\"", path.resource(), path.name);
        let message = format!("Operation cannot be fulfilled on {what}: {why}");
        Self::new(StatusCode::CONFLICT, "Conflict", path, message)
    }

    /// The resource version is not the stored one.
    pub(super) fn stale(path: &Path) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(path, why)
    }

    /// Others own fields with other values; `causes` has a manager and a field each.
    pub(super) fn apply_conflict(path: &Path, causes: &[(String, String)]) -> Self {
        let list: Vec<_> = causes
            .iter()
            .map(|(who, field)| json!({"reason": "FieldManagerConflict", "message": format!("conflict with {who}"), "field": field}))
            .collect();
        let message = match causes {
            [(who, field)] => {
                format!("Apply failed with 1 conflict: conflict with {who}: {field}")
            }
            _ => apply_conflicts(causes),
        };
        let mut error = Self::new(StatusCode::CONFLICT, "Conflict", path, message);
        error.details = json!({ "causes": list });
        error
    }

    /// The object would be invalid; `kind` is the name of its kind.
    pub(super) fn invalid(path: &Path, kind: &str, why: &str) -> Self {
        Self::invalid_in(path.group(), path, kind, why)
    }

    fn invalid_in(group: &str, path: &Path, kind: &str, why: &str) -> Self {
        let dot = if group.is_empty() { "" } else { "." };
        let message = format!("{kind}{dot}{group} \"{}\" is invalid: {why}", path.name);
        let code = StatusCode::UNPROCESSABLE_ENTITY;
        Self::new(code, "Invalid", path, message).about(kind)
    }

    /// The object has invalid fields.
    pub fn invalid_fields(path: &Path, kind: &str, problems: &[Problem]) -> Self {
        let mut texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
        let mut seen = BTreeSet::new();
        texts.retain(|text| seen.insert(text.clone()));
        let why = match &texts[..] {
            [one] => one.clone(),
            more => format!("[{}]", more.join(", ")),
        };
        let mut error = Self::invalid(path, kind, &why);
        error.details["causes"] = problems.iter().map(Problem::cause).collect();
        error
    }

    /// A field may not be changed.
    pub(super) fn immutable(path: &Path, kind: &str, field: &str) -> Self {
        Self::unchangeable(path, kind, field, "Invalid value: field is immutable")
    }

    /// A field may not get this value, because it may not be changed.
    pub(super) fn immutable_value(path: &Path, kind: &str, field: &str, value: &Value) -> Self {
        let why = format!("Invalid value: {value}: field is immutable");
        Self::unchangeable(path, kind, field, &why)
    }

    fn unchangeable(path: &Path, kind: &str, field: &str, why: &str) -> Self {
        let mut error = Self::invalid(path, kind, &format!("{field}: {why}"));
        let cause = json!({"reason": "FieldValueInvalid", "field": field, "message": why});
        error.details["causes"] = json!([cause]);
        error
    }

    /// The options of a request are invalid.
    pub(super) fn invalid_options(path: &Path, kind: &str, why: &str) -> Self {
        let group = "meta.k8s.io";
        let mut error = Self::invalid_in(group, path, kind, why);
        error.details["name"] = json!("");
        error.details["group"] = json!(group);
        error
    }

    /// A JSON patch does not apply.
    pub(super) fn invalid_patch(path: &Path, why: &str) -> Self {
        let code = StatusCode::UNPROCESSABLE_ENTITY;
        let message =
            format!("the server rejected our request due to an error in our request: {why}");
        Self::new(code, "Invalid", path, message).bare()
    }

    /// With another name for the kind.
    pub(super) fn about(mut self, kind: &str) -> Self {
        self.details["kind"] = json!(kind);
        self
    }

    pub(super) fn bad_request(path: &Path, why: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", path, why.into()).bare()
    }

    pub(super) fn method_not_allowed(path: &Path) -> Self {
        let message = "the server does not allow this method on the requested resource".to_owned();
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            path,
            message,
        )
        .bare()
    }

    /// A type of patch that this path does not support.
    pub(super) fn media_type(path: &Path, given: &str) -> Self {
        let message = format!("the body of the request was in an unknown format: {given:?}");
        let code = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Self::new(code, "UnsupportedMediaType", path, message).bare()
    }

    pub(super) fn internal(path: &Path, why: &str) -> Self {
        let code = StatusCode::INTERNAL_SERVER_ERROR;
        Self::new(code, "", path, why.to_owned()).bare()
    }

    /// The real API server supports this, but this one does not.
    #[must_use]
    pub fn beyond(path: &Path, what: &str) -> Self {
        let message = format!(
            "the API server in memory cannot do this: {what}; help: test it on a real API server, with `Cluster`"
        );
        Self::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", path, message)
    }

    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The answer as it is sent.
    #[must_use]
    pub fn body(&self) -> (StatusCode, Value) {
        let mut details = self.details.clone();
        if let Some(details) = details.as_object_mut() {
            details.retain(|_, value| value != "");
        }
        let mut status = json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure", "metadata": {},
            "code": self.code.as_u16(), "reason": self.reason, "message": self.message,
            "details": details,
        });
        if let Some(status) = status.as_object_mut() {
            status.retain(|_, value| value != "" && !value.is_null());
        }
        (self.code, status)
    }
}

/// All conflicts, by manager.
fn apply_conflicts(causes: &[(String, String)]) -> String {
    let mut lines = Vec::new();
    for (at, (who, field)) in causes.iter().enumerate() {
        if at == 0 || causes[at - 1].0 != *who {
            lines.push(format!("conflicts with {who}:"));
        }
        lines.push(format!("- {field}"));
    }
    let count = causes.len();
    format!("Apply failed with {count} conflicts: {}", lines.join("\n"))
}
