//! Numbers as Go takes and prints them.

use serde_json::Value;

/// Whether a value counts as an integer: `1.0` does.
pub(crate) fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(is_almost_whole)
}

/// Whether a number counts as a whole one: `IsFloat64AJSONInteger` of swag.
pub(crate) fn is_almost_whole(number: f64) -> bool {
    const LIMIT: f64 = 9_007_199_254_740_991.0;
    const TOLERANCE: f64 = 1e-9;
    let whole = number.round();
    number.abs() <= LIMIT && (number - whole).abs() <= TOLERANCE * whole.abs()
}

/// Writes whole numbers as Go does, by which the API server stores them and kubectl sends them: `1.0` becomes `1`.
pub fn normalise(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            const LIMIT: f64 = 9e18;
            let float = number.as_f64().unwrap_or_default();
            if float.fract() == 0.0 && float.abs() < LIMIT {
                #[allow(clippy::cast_possible_truncation, reason = "it is whole and fits")]
                let whole = float as i64;
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalise),
        Value::Object(fields) => fields.values_mut().for_each(normalise),
        _ => {}
    }
}

/// A number as Go prints it by `%v`: with an exponent from 1e+06 on, or below 1e-4.
pub(crate) fn go(number: f64) -> String {
    if number == 0.0 || (1e-4..1e6).contains(&number.abs()) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
        None => text,
    }
}
