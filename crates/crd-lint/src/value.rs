//! Validates, prunes and defaults values by a schema like the API server.

mod stored;

use serde_json::{Map, Value, json};

use crate::formats;
pub use crate::formats::example;
use crate::node::is_embedded;
use crate::re2;

pub use stored::{defaulted, pruned};

/// A violation of a schema: the path (`.spec.ports[0]`, below the given path) and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The path of the invalid value.
    pub path: String,
    /// The reason, as the end of a sentence: `is below 1`.
    pub reason: String,
}

/// All violations in `value`, whose path is `path`. Unknown fields are not violations, since they are only dropped.
#[must_use]
pub fn violations(schema: &Value, value: &Value, path: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    check(schema, value, path, &mut found);
    found
}

fn check(schema: &Value, value: &Value, path: &str, found: &mut Vec<Violation>) {
    if value.is_null() && schema["nullable"] == json!(true) {
        return;
    }
    if let Some(reason) = wrong_type(schema, value) {
        found.push(Violation {
            path: path.to_owned(),
            reason,
        });
        return;
    }
    let mut fault = |reason: String| {
        found.push(Violation {
            path: path.to_owned(),
            reason,
        });
    };
    if let Some(values) = schema["enum"].as_array()
        && !values.iter().any(|known| same(known, value))
    {
        let known: Vec<String> = values
            .iter()
            .map(|known| format!("`{}`", plain(known)))
            .collect();
        fault(format!("is not one of {}", known.join(", ")));
    }
    match value {
        Value::String(text) => string(schema, text, &mut fault),
        Value::Number(_) => number(schema, value, &mut fault),
        Value::Array(items) => list(schema, items, path, found),
        Value::Object(fields) => object(schema, fields, path, found),
        Value::Null | Value::Bool(_) => {}
    }
    combined(schema, value, path, found);
}

/// A string without quotes, any other value as JSON.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Equal as data: `1` is `1.0`.
fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b).is_eq(),
        _ => a == b,
    }
}

fn wrong_type(schema: &Value, value: &Value) -> Option<String> {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() != 0.0) => {
            "number"
        }
        Value::Number(_) => "integer",
    };
    if schema["x-kubernetes-int-or-string"] == json!(true) {
        return (!["integer", "string"].contains(&kind))
            .then(|| format!("is of type `{kind}`, not `integer` or `string`"));
    }
    let wanted = schema["type"].as_str()?;
    let fits = wanted == kind || wanted == "number" && kind == "integer";
    (!fits).then(|| format!("is of type `{kind}`, not `{wanted}`"))
}

fn string(schema: &Value, text: &str, fault: &mut impl FnMut(String)) {
    let length = text.chars().count() as u64;
    if let Some(max) = schema["maxLength"].as_u64().filter(|max| length > *max) {
        fault(format!("is longer than {max}"));
    }
    if let Some(min) = schema["minLength"].as_u64().filter(|min| length < *min) {
        fault(format!("is shorter than {min}"));
    }
    if let Some(pattern) = schema["pattern"].as_str()
        && re2::matches(pattern, text) == Some(false)
    {
        fault(format!("does not match `{pattern}`"));
    }
    if let Some(format) = schema["format"].as_str()
        && !formats::matches(format, text)
    {
        fault(format!("does not have the format `{format}`"));
    }
}

fn number(schema: &Value, value: &Value, fault: &mut impl FnMut(String)) {
    let number = value.as_f64().unwrap_or_default();
    let limit = |key: &str| schema[key].as_f64();
    let exclusive = |key: &str| schema[key] == json!(true);
    if let Some(min) = limit("minimum") {
        if number < min {
            fault(format!("is below {min}"));
        } else if exclusive("exclusiveMinimum") && number <= min {
            fault(format!("is not above {min}"));
        }
    }
    if let Some(max) = limit("maximum") {
        if number > max {
            fault(format!("is above {max}"));
        } else if exclusive("exclusiveMaximum") && number >= max {
            fault(format!("is not below {max}"));
        }
    }
    if let Some(factor) = limit("multipleOf").filter(|factor| *factor != 0.0)
        && let Some(reason) = not_multiple(schema, value, factor)
    {
        fault(reason);
    }
    // The API server parses numbers with these formats into types of that width.
    let (low, high) = match schema["format"].as_str() {
        Some("int32") => (f64::from(i32::MIN), f64::from(i32::MAX)),
        _ => return,
    };
    if !(low..=high).contains(&number) {
        fault("is not a 32-bit integer".to_owned());
    }
}

/// Why the API server does not take `value` as a multiple of `factor`, by the arithmetic of `MultipleOfNativeType`, `MultipleOf` and
/// `IsValueValidAgainstRange` in kube-openapi: an integer is divided by the factor without its fraction, any other number as a float.
fn not_multiple(schema: &Value, value: &Value, factor: f64) -> Option<String> {
    if schema["type"] == "integer" && factor.fract() != 0.0 {
        return Some(format!(
            "is an integer, but `multipleOf` is {factor}, which is not"
        ));
    }
    let is_multiple = match whole(value) {
        Some(_) if factor < 1.0 => {
            return Some(format!(
                "has no fraction, so the API server divides by `multipleOf` without its fraction: by 0 for {factor}"
            ));
        }
        #[allow(clippy::cast_possible_truncation, reason = "as the API server does")]
        Some(number) => number % (factor as i64) == 0,
        None => {
            let number = value.as_f64().unwrap_or_default();
            // In this order, the API server's result for 0.3 and 0.1 is 3.
            is_almost_whole(if factor < 1.0 {
                1.0 / factor * number
            } else {
                number / factor
            })
        }
    };
    (!is_multiple).then(|| format!("is not a multiple of {factor}"))
}

/// A number without a fraction, also if it is written as `1.0`: clients in Go send it as `1`.
fn whole(value: &Value) -> Option<i64> {
    const LIMIT: f64 = 9e18;
    let whole = |number: &f64| number.fract() == 0.0 && number.abs() < LIMIT;
    #[allow(clippy::cast_possible_truncation, reason = "it is whole and fits")]
    let written = || value.as_f64().filter(whole).map(|number| number as i64);
    value.as_i64().or_else(written)
}

/// Whether a quotient counts as a whole number: `IsFloat64AJSONInteger` of go-openapi's swag, which kube-openapi calls.
fn is_almost_whole(number: f64) -> bool {
    const LIMIT: f64 = 9_007_199_254_740_991.0;
    const TOLERANCE: f64 = 1e-9;
    let whole = number.round();
    number.abs() <= LIMIT && (number - whole).abs() <= TOLERANCE * whole.abs()
}

fn list(schema: &Value, items: &[Value], path: &str, found: &mut Vec<Violation>) {
    let mut fault = |reason: String| {
        found.push(Violation {
            path: path.to_owned(),
            reason,
        });
    };
    let length = items.len() as u64;
    if let Some(max) = schema["maxItems"].as_u64().filter(|max| length > *max) {
        fault(format!("has more than {max} items"));
    }
    if let Some(min) = schema["minItems"].as_u64().filter(|min| length < *min) {
        fault(format!("has fewer than {min} items"));
    }
    if schema["items"].is_object() {
        for (position, item) in items.iter().enumerate() {
            check(
                &schema["items"],
                item,
                &format!("{path}[{position}]"),
                found,
            );
        }
    }
}

fn object(schema: &Value, fields: &Map<String, Value>, path: &str, found: &mut Vec<Violation>) {
    let mut fault = |reason: String| {
        found.push(Violation {
            path: path.to_owned(),
            reason,
        });
    };
    let count = fields.len() as u64;
    if let Some(max) = schema["maxProperties"].as_u64().filter(|max| count > *max) {
        fault(format!("has more than {max} entries"));
    }
    if let Some(min) = schema["minProperties"].as_u64().filter(|min| count < *min) {
        fault(format!("has fewer than {min} entries"));
    }
    for name in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if !fields.contains_key(name) {
            fault(format!("has no `{name}`, which is required"));
        }
    }
    if is_embedded(schema) {
        let nameless = |name: &&str| fields.get(*name).is_none_or(|value| value == "");
        for name in ["apiVersion", "kind"].iter().filter(|name| nameless(name)) {
            fault(format!("has no `{name}`, which an embedded object needs"));
        }
    }
    for (name, value) in fields {
        let path = format!("{path}.{name}");
        if let Some(field) = schema["properties"].get(name) {
            check(field, value, &path, found);
        } else if schema["additionalProperties"].is_object() {
            check(&schema["additionalProperties"], value, &path, found);
        }
    }
}

/// `allOf`, `anyOf`, `oneOf` and `not`.
fn combined(schema: &Value, value: &Value, path: &str, found: &mut Vec<Violation>) {
    for part in schema["allOf"].as_array().into_iter().flatten() {
        check(part, value, path, found);
    }
    let fits = |part: &&Value| violations(part, value, path).is_empty();
    let mut fault = |reason: &str| {
        found.push(Violation {
            path: path.to_owned(),
            reason: reason.to_owned(),
        });
    };
    if let Some(parts) = schema["anyOf"].as_array()
        && !parts.iter().any(|part| fits(&part))
    {
        fault("matches none of the schemas in `anyOf`");
    }
    if let Some(parts) = schema["oneOf"].as_array() {
        match parts.iter().filter(fits).count() {
            1 => {}
            0 => fault("matches none of the schemas in `oneOf`"),
            _ => fault("matches several of the schemas in `oneOf` instead of exactly one"),
        }
    }
    if schema["not"].is_object() && fits(&&schema["not"]) {
        fault("matches the schema in `not`");
    }
}

#[cfg(test)]
mod tests;
