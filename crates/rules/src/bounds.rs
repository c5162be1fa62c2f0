//! Validates numbers like kube-openapi, which compares and divides them as Go does.
//!
//! Source: `k8s.io/kube-openapi/pkg/validation/validate/{validator,values}.go`; `swag` of go-openapi.

use serde_json::Value;

use crate::number::{go, is_almost_whole};
use crate::problem::{Problem, Reason, dotted};

/// The least and the greatest float that a 64-bit integer can have.
const LEAST: f64 = -9_223_372_036_854_775_808.0;
const MOST: f64 = 9_223_372_036_854_774_784.0;

/// What is wrong with a number.
///
/// A value that is written as an integer is compared with the whole part of a bound, any other as a float. A bound that does not fit into
/// the type and format of its schema is an error of each value.
pub(crate) fn problems(value: &Value, schema: &Value, path: &str) -> Vec<Problem> {
    let number = value.as_f64().unwrap_or_default();
    let mut found = Vec::new();
    let misfit = |what: &str, number: f64, plain: String| {
        let width = width(number, schema)?;
        let why = format!("{what} value must be of type {width} in {path}");
        let problem = Problem::of_value(Reason::Invalid, "", &Value::from(""), &why);
        Some(problem.of(dotted(path)).plain(plain))
    };
    let invalid = |is_integer: bool, why: String, plain: String| {
        let why = format!("{path} in body {why}");
        let float = Value::from(number);
        let shown = if is_integer { value } else { &float };
        let problem = Problem::of_value(Reason::Invalid, path, shown, &why);
        problem.plain(plain)
    };
    // As floats, the greatest integers would be greater.
    let checked = if value.is_i64() {
        number.clamp(LEAST, MOST)
    } else {
        number
    };
    let kind = width(checked, schema).unwrap_or_default();
    let plain = format!("does not fit into `{kind}`");
    found.extend(misfit("Checked", checked, plain));
    let bounds = [
        ("minimum", "Minimum", "greater", ["below", "not above"]),
        ("maximum", "Maximum", "less", ["above", "not below"]),
    ];
    for (key, name, side, plain) in bounds {
        let Some(bound) = schema[key].as_f64() else {
            continue;
        };
        let own = format!("cannot be valid: `{key}` is {bound}, which its type or format has not");
        let wrong = misfit(&format!("{name} boundary"), bound, own);
        let is_integer = wrong.is_none() && !value.is_f64();
        let limit = if is_integer { bound.trunc() } else { bound };
        found.extend(wrong);
        let exclusive = schema[format!("exclusive{name}")] == true;
        #[allow(clippy::float_cmp, reason = "as the API server does")]
        let is_equal = number == limit;
        let is_beyond = match key {
            "minimum" => number < limit,
            _ => number > limit,
        };
        if is_beyond || exclusive && is_equal {
            let or_equal = if exclusive { "" } else { " or equal to" };
            let shown = if is_integer {
                limit.to_string()
            } else {
                go(limit)
            };
            let plain = plain[usize::from(exclusive && is_equal)];
            found.push(invalid(
                is_integer,
                format!("should be {side} than{or_equal} {shown}"),
                format!("is {plain} {bound}"),
            ));
        }
    }
    if let Some(factor) = schema["multipleOf"].as_f64().filter(|it| *it != 0.0) {
        let own = format!("is an integer, but `multipleOf` is {factor}, which is not");
        let wrong = misfit("MultipleOf", factor, own);
        let is_integer = wrong.is_none() && !value.is_f64();
        found.extend(wrong);
        let plain = format!("is not a multiple of {factor}");
        if is_integer && factor < 1.0 {
            let why = format!("factor MultipleOf declared for {path} must be positive: 0");
            let problem = Problem::of_value(Reason::Invalid, path, &Value::from(0), &why);
            found.push(problem.plain(format!(
                "has no fraction, so the API server divides by `multipleOf` without its fraction: by 0 for {factor}"
            )));
        } else if is_integer && number % factor.trunc() != 0.0 {
            found.push(invalid(
                is_integer,
                format!("should be a multiple of {}", factor.trunc()),
                plain,
            ));
        } else if !is_integer && !is_almost_whole(quotient(number, factor)) {
            found.push(invalid(
                is_integer,
                format!("should be a multiple of {}", go(factor)),
                plain,
            ));
        }
    }
    found
}

/// In this order of operations, the API server's result for 0.3 and 0.1 is 3.
fn quotient(number: f64, factor: f64) -> f64 {
    if factor < 1.0 {
        1.0 / factor * number
    } else {
        number / factor
    }
}

/// The type and format of a schema, if a number does not fit into their width: a bound that does not makes every value invalid.
#[must_use]
pub fn width(number: f64, schema: &Value) -> Option<String> {
    let format = schema["format"].as_str();
    let (kind, formats, range) = match (schema["type"].as_str()?, format) {
        ("integer", Some("int32")) => (
            "integer",
            ["int32", "int64"],
            f64::from(i32::MIN)..=f64::from(i32::MAX),
        ),
        ("integer", _) => ("integer", ["int32", "int64"], LEAST..=MOST),
        ("number", Some("float")) => (
            "number",
            ["float", "double"],
            f64::from(f32::MIN)..=f64::from(f32::MAX),
        ),
        _ => return None,
    };
    if range.contains(&number) && (kind == "number" || number.fract() == 0.0) {
        return None;
    }
    Some(match format.filter(|format| formats.contains(format)) {
        Some(format) => format!("{kind} with format {format}"),
        None => format!("{kind} (default format)"),
    })
}
