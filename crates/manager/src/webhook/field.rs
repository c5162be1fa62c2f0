//! Field errors, with the wording of Kubernetes' own validation.

use std::{collections::HashSet, fmt};

use serde::Serialize;
use serde_json::{Value, json};

/// An error in one field. Messages and reasons are those of Kubernetes' own validation
/// (`k8s.io/apimachinery/pkg/util/validation/field`), so `kubectl` prints them in the same way.
///
/// A path is written as in `kubectl explain`, with indices and keys in brackets: `spec.ports[0].name`,
/// `metadata.annotations[example.com/size]`.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    reason: &'static str,
    field: String,
    message: String,
}

impl FieldError {
    /// An invalid value: malformed or out of bounds. `detail` describes the valid values.
    #[must_use]
    pub fn invalid(field: impl Into<String>, value: impl Serialize, detail: &str) -> Self {
        let message = format!("Invalid value: {}", shown(value));
        Self::new("FieldValueInvalid", field, message, detail)
    }

    /// A required value is missing. `detail` may be empty.
    #[must_use]
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        let message = "Required value".to_owned();
        Self::new("FieldValueRequired", field, message, detail)
    }

    /// A value that is not permitted in this situation, such as a change of an immutable field.
    #[must_use]
    pub fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        let message = "Forbidden".to_owned();
        Self::new("FieldValueForbidden", field, message, detail)
    }

    /// A value that is not one of `supported`.
    #[must_use]
    pub fn not_supported(
        field: impl Into<String>,
        value: impl Serialize,
        supported: &[&str],
    ) -> Self {
        let message = format!("Unsupported value: {}", shown(value));
        let supported: Vec<_> = supported.iter().map(|value| format!("{value:?}")).collect();
        let detail = match &supported[..] {
            [] => String::new(),
            values => format!("supported values: {}", values.join(", ")),
        };
        Self::new("FieldValueNotSupported", field, message, &detail)
    }

    /// A value that occurs twice but must be unique.
    #[must_use]
    pub fn duplicate(field: impl Into<String>, value: impl Serialize) -> Self {
        let message = format!("Duplicate value: {}", shown(value));
        Self::new("FieldValueDuplicate", field, message, "")
    }

    /// A reference to something that does not exist.
    #[must_use]
    pub fn not_found(field: impl Into<String>, value: impl Serialize) -> Self {
        let message = format!("Not found: {}", shown(value));
        Self::new("FieldValueNotFound", field, message, "")
    }

    /// A string longer than `most` bytes.
    #[must_use]
    pub fn too_long(field: impl Into<String>, most: usize) -> Self {
        let detail = format!("may not be more than {most} {}", plural(most, "byte"));
        Self::new("FieldValueTooLong", field, "Too long".to_owned(), &detail)
    }

    /// A list with `found` items, where at most `most` are allowed.
    #[must_use]
    pub fn too_many(field: impl Into<String>, found: usize, most: usize) -> Self {
        let detail = format!("must have at most {most} {}", plural(most, "item"));
        let message = format!("Too many: {found}");
        Self::new("FieldValueTooMany", field, message, &detail)
    }

    fn new(
        reason: &'static str,
        field: impl Into<String>,
        mut message: String,
        detail: &str,
    ) -> Self {
        if !detail.is_empty() {
            message.push_str(": ");
            message.push_str(detail);
        }
        Self {
            reason,
            field: field.into(),
            message,
        }
    }

    /// An element of `details.causes` of a `Status`.
    pub(super) fn cause(&self) -> Value {
        json!({ "reason": self.reason, "message": self.message, "field": self.field })
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// A value as it is printed in an error.
fn shown(value: impl Serialize) -> String {
    serde_json::to_string(&value).unwrap_or_default()
}

fn plural(count: usize, word: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{word}{s}")
}

/// The errors in the fields of an object, to report all at once.
///
/// ```
/// use manager::webhook::{FieldError, FieldErrors, Rejection};
///
/// fn check(replicas: i32, name: &str) -> Result<(), Rejection> {
///     let mut errors = FieldErrors::default();
///     if replicas < 1 {
///         errors.push(FieldError::invalid("spec.replicas", replicas, "must be at least 1"));
///     }
///     if name.is_empty() {
///         errors.push(FieldError::required("spec.name", ""));
///     }
///     errors.check()
/// }
///
/// assert!(check(1, "a").is_ok());
/// assert!(check(0, "").is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldErrors(pub(super) Vec<FieldError>);

impl FieldErrors {
    /// Adds an error.
    pub fn push(&mut self, error: FieldError) {
        self.0.push(error);
    }

    /// Whether there are no errors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        self.0.extend(errors);
    }
}

impl fmt::Display for FieldErrors {
    /// Joins errors like Kubernetes: without duplicates, in brackets if there are several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seen = HashSet::new();
        let mut texts: Vec<String> = self.0.iter().map(FieldError::to_string).collect();
        texts.retain(|text| seen.insert(text.clone()));
        match &texts[..] {
            [text] => f.write_str(text),
            texts => write!(f, "[{}]", texts.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: &FieldError, reason: &str, text: &str) {
        assert_eq!((error.reason, &*error.to_string()), (reason, text));
    }

    #[test]
    fn errors_have_the_format_of_kubernetes() {
        check(
            &FieldError::invalid("spec.a", -1, "must be positive"),
            "FieldValueInvalid",
            "spec.a: Invalid value: -1: must be positive",
        );
        check(
            &FieldError::invalid("spec.a", "x y", "no spaces"),
            "FieldValueInvalid",
            r#"spec.a: Invalid value: "x y": no spaces"#,
        );
        check(
            &FieldError::required("spec.a", ""),
            "FieldValueRequired",
            "spec.a: Required value",
        );
        check(
            &FieldError::forbidden("spec.a", "is immutable"),
            "FieldValueForbidden",
            "spec.a: Forbidden: is immutable",
        );
        check(
            &FieldError::not_supported("spec.a", "c", &["a", "b"]),
            "FieldValueNotSupported",
            r#"spec.a: Unsupported value: "c": supported values: "a", "b""#,
        );
        check(
            &FieldError::duplicate("spec.a[1]", "x"),
            "FieldValueDuplicate",
            r#"spec.a[1]: Duplicate value: "x""#,
        );
        check(
            &FieldError::not_found("spec.a", "x"),
            "FieldValueNotFound",
            r#"spec.a: Not found: "x""#,
        );
        check(
            &FieldError::too_long("spec.a", 1),
            "FieldValueTooLong",
            "spec.a: Too long: may not be more than 1 byte",
        );
        check(
            &FieldError::too_many("spec.a", 4, 3),
            "FieldValueTooMany",
            "spec.a: Too many: 4: must have at most 3 items",
        );
    }

    #[test]
    fn several_errors_are_bracketed_and_deduplicated() {
        let mut errors = FieldErrors::default();
        errors.push(FieldError::required("a", ""));
        assert_eq!(errors.to_string(), "a: Required value");
        errors.extend([FieldError::required("b", ""), FieldError::required("a", "")]);
        assert_eq!(errors.to_string(), "[a: Required value, b: Required value]");
    }
}
