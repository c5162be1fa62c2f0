//! What comes of running an expression.

use super::data::Data;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The API server has none either, and takes a rule that ends so for broken.
    Failed(String),
    /// It may have one: a function that is not known here, or a value that is not.
    Unknown,
}

/// What comes of an expression.
pub type Outcome = Result<Data, Stop>;

/// No value, for the API server too.
pub fn failed<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Failed(why.into()))
}
