//! Conditions on whole objects, whose expressions see values without a schema: the match conditions of webhooks.

use serde_json::Value;

use super::data::Data;
use super::outcome::Stop;
use super::parse::parse;
use super::run::Run;

/// Whether a condition holds for these values; the error is that of the API server. `None` if it is not known.
#[must_use]
pub fn holds(text: &str, values: &[(&str, &Value)]) -> Option<Result<bool, String>> {
    let condition = parse(text).ok()?;
    let values = values
        .iter()
        .map(|(name, value)| (*name, Data::untyped(value)));
    match Run::new(values.collect()).value(&condition) {
        Ok(Data::Bool(holds)) => Some(Ok(holds)),
        Err(Stop::Failed(why)) => Some(Err(why)),
        Ok(_) | Err(Stop::Unknown) => None,
    }
}
