//! The result of evaluating an expression.

use super::data::Data;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A runtime error in the API server too, which treats the rule as violated.
    Failed(String),
    /// Unknown, because of an unknown function or value.
    Unknown,
}

/// The value of an expression, or why it has none.
pub type Outcome = Result<Data, Stop>;

/// A runtime error, in the API server too.
pub fn failed<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Failed(why.into()))
}
