//! The result of type inference.

use std::sync::Arc;

use super::super::nearest::nearest;
use super::types::Type;

/// A type, or an error.
pub type Inferred = Result<Type, TypeError>;

/// Why an expression has no type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// Its kind.
    pub cause: Cause,
    /// The message, as part of a sentence.
    pub message: String,
}

/// The kind of error in an expression. A newer Kubernetes may know unknown names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No unknown names, but it does not parse, or its types do not match.
    Mismatch,
    /// The function is not known.
    UnknownFunction,
    /// The function is known, but has no overload for these arguments.
    UnknownOverload,
    /// The variable is not known.
    UnknownVariable,
}

impl Cause {
    /// The error with this cause.
    pub fn error(self, message: impl Into<String>) -> TypeError {
        let message = message.into();
        TypeError {
            cause: self,
            message,
        }
    }
}

impl From<String> for TypeError {
    fn from(message: String) -> Self {
        Cause::Mismatch.error(message)
    }
}

/// The type of a field.
pub fn field(on: &Type, name: &str) -> Inferred {
    match on {
        Type::Object(_, fields) => fields.get(name).cloned().ok_or_else(|| {
            let near = nearest(name, fields.keys().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`"));
            format!("unknown field `{name}`{near}").into()
        }),
        Type::Map(_, value) => Ok((**value).clone()),
        Type::Dyn => Ok(Type::Dyn),
        Type::Optional(inner) => Ok(Type::Optional(Arc::new(field(inner, name)?))),
        other => Err(format!("{other} has no field `{name}`").into()),
    }
}
