//! Rules in CEL, without the feature `cel`: there are none.

use serde_json::Value;

use crate::Judgement;

/// The compiled rules of a schema: never any without the feature `cel`.
#[derive(Debug)]
pub enum Rules {}

impl Rules {
    /// Compiles the rules of a schema: none.
    #[must_use]
    pub fn of(_: &Value, _: bool) -> Option<Self> {
        None
    }

    /// What they say.
    #[must_use]
    pub fn judge(&self, _: &Value, _: &Value, _: Option<&Value>) -> Judgement {
        match *self {}
    }
}

/// Whether a match condition holds: unknown.
#[must_use]
pub fn holds(_: &str, _: &[(&str, &Value)]) -> Option<Result<bool, String>> {
    None
}
