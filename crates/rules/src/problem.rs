//! What is wrong with a field, as the API server reports it.
//!
//! Source: `k8s.io/apimachinery/pkg/util/validation/field/errors.go`.

use std::fmt;

use serde_json::{Value, json};

use crate::number::{go, normalise};

/// Why a field is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It occurs already.
    Duplicate,
    /// It may not be there.
    Forbidden,
    /// Anything else.
    Invalid,
    /// It is not one of those that are allowed.
    NotSupported,
    /// It is missing.
    Required,
    /// It is longer than allowed.
    TooLong,
    /// It has more items or entries than allowed.
    TooMany,
    /// It has another type.
    TypeInvalid,
}

/// A field, and what is wrong with it: as the API server says it, and in plain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Why it is wrong.
    pub reason: Reason,
    /// The path of the value that is wrong: `.spec.ports[0]`, empty for the whole. The API server may name another field, or none.
    pub path: String,
    /// What is wrong as the end of a sentence about that value: `is below 1`.
    pub plain: String,
    field: String,
    body: String,
}

impl Reason {
    /// The reason in the causes of an answer.
    fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "FieldValueDuplicate",
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
    #[must_use]
    pub fn new(reason: Reason, field: &str, why: &str) -> Self {
        Self::with(reason, field, &[why])
    }

    /// Of a field with this value.
    #[must_use]
    pub fn of_value(reason: Reason, field: &str, value: &Value, why: &str) -> Self {
        Self::with(reason, field, &[&shown(value), why])
    }

    /// Of a field with so many items, or a map with so many entries.
    #[must_use]
    pub fn too_many(field: &str, count: usize, most: usize) -> Self {
        let items = if most == 1 { "item" } else { "items" };
        let why = format!("must have at most {most} {items}");
        Self::with(Reason::TooMany, field, &[&count.to_string(), &why])
    }

    fn with(reason: Reason, field: &str, parts: &[&str]) -> Self {
        let mut body = reason.text().to_owned();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            body = format!("{body}: {part}");
        }
        // A path of nothing is printed so.
        let shown = if field.is_empty() { "<nil>" } else { field };
        Self {
            reason,
            path: dotted(field),
            plain: String::new(),
            field: shown.to_owned(),
            body,
        }
    }

    /// The same about the value at another path: `.spec`.
    pub(crate) fn of(self, path: String) -> Self {
        Self { path, ..self }
    }

    /// The same with plain words.
    pub(crate) fn plain(self, plain: String) -> Self {
        Self { plain, ..self }
    }

    /// The field that the API server names: `spec.ports[0].name`, or `<nil>` for none.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The cause in the details of an answer.
    #[must_use]
    pub fn cause(&self) -> Value {
        json!({"reason": self.reason.name(), "message": self.body, "field": self.field})
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body)
    }
}

/// The path of a field: `spec.size`.
pub(crate) fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

/// The path of a field as in plain words: with a dot in front, but for the whole.
pub(crate) fn dotted(field: &str) -> String {
    match field {
        "" => String::new(),
        field => format!(".{field}"),
    }
}

/// A value as it is in the API server's messages.
fn shown(value: &Value) -> String {
    if let Some(float) = value.as_f64().filter(|_| value.is_f64()) {
        return go(float);
    }
    let mut value = value.clone();
    normalise(&mut value);
    value.to_string()
}
