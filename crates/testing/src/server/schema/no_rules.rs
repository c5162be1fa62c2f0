//! Rules in CEL, without the feature `cel`: they accept everything, and are counted.

use serde_json::Value;

use super::problem::Problem;

/// The rules of a schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules;

#[allow(
    clippy::unused_self,
    reason = "as with the feature, where they are evaluated"
)]
impl Rules {
    pub(crate) fn of(_: &Value) -> Self {
        Self
    }

    /// Whether there are any to evaluate.
    pub(crate) fn any(&self) -> bool {
        false
    }

    /// What they reject.
    pub(crate) fn problems(&self, _: &Value, _: &Value, _: Option<&Value>) -> Vec<Problem> {
        Vec::new()
    }

    /// Whether they accept an update.
    #[cfg(feature = "simulate")]
    pub(crate) fn accept(&self, _: &Value, _: &Value, _: &Value) -> bool {
        true
    }

    /// The rules that could not be evaluated.
    #[cfg(feature = "simulate")]
    pub(crate) fn unevaluated(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Whether a match condition holds.
pub(crate) fn holds(_: &str, _: &[(&str, &Value)]) -> Option<Result<bool, String>> {
    None
}
