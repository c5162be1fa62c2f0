//! What is wrong with a field, as the API server reports it.
//!
//! Source: `k8s.io/apimachinery/pkg/util/validation/field/errors.go`.

use std::fmt;

use serde_json::{Value, json};

/// Why a field is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Duplicate,
    #[cfg(feature = "cel")]
    Forbidden,
    Invalid,
    NotSupported,
    Required,
    TooLong,
    TooMany,
    TypeInvalid,
}

/// A field, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) reason: Reason,
    field: String,
    body: String,
}

impl Reason {
    /// The reason in the causes of an answer.
    fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "FieldValueDuplicate",
            #[cfg(feature = "cel")]
            Self::Forbidden => "FieldValueForbidden",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Required => "FieldValueRequired",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// How a message begins.
    fn text(self) -> &'static str {
        match self {
            Self::Duplicate => "Duplicate value",
            #[cfg(feature = "cel")]
            Self::Forbidden => "Forbidden",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Required => "Required value",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }
}

impl Problem {
    /// Of a field whose value is not shown.
    pub(crate) fn new(reason: Reason, field: &str, why: &str) -> Self {
        Self::with(reason, field, &[why])
    }

    /// Of a field with this value.
    pub(crate) fn of_value(reason: Reason, field: &str, value: &Value, why: &str) -> Self {
        Self::with(reason, field, &[&shown(value), why])
    }

    /// Of a field with so many items, or a map with so many entries.
    pub(crate) fn too_many(field: &str, count: usize, most: usize) -> Self {
        let why = format!("must have at most {most} items");
        Self::with(Reason::TooMany, field, &[&count.to_string(), &why])
    }

    fn with(reason: Reason, field: &str, parts: &[&str]) -> Self {
        let mut body = reason.text().to_owned();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            body = format!("{body}: {part}");
        }
        // A path of nothing is printed so.
        let field = if field.is_empty() { "<nil>" } else { field };
        let field = field.to_owned();
        Self {
            reason,
            field,
            body,
        }
    }

    /// The cause in the details of an answer.
    pub(crate) fn cause(&self) -> Value {
        json!({"reason": self.reason.name(), "message": self.body, "field": self.field})
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body)
    }
}

/// A value as it is in the API server's messages: objects and lists only by their kind.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "\"object\"".to_owned(),
        Value::Array(_) => "\"array\"".to_owned(),
        value => value.to_string(),
    }
}
