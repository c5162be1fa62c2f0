//! Validates, prunes and defaults values by a schema like the API server.

mod stored;

use std::cell::Cell;
use std::collections::BTreeMap;

use regex::Regex;
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
    let mut found = Found::within(usize::MAX);
    check(schema, value, path, &mut found);
    found.all
}

/// The violations in `value` that are found within some steps: alternatives and values multiply.
pub(crate) fn violations_within(
    steps: &Cell<usize>,
    schema: &Value,
    value: &Value,
) -> Vec<Violation> {
    let mut found = Found::within(steps.get());
    check(schema, value, "", &mut found);
    steps.set(found.steps);
    found.all
}

/// Whether all of `values` are known to be valid.
pub(crate) fn are_valid(schema: &Value, values: &[Value]) -> bool {
    let mut found = Found::within(STEPS);
    let mut values = values.iter();
    values.all(|value| {
        check(schema, value, "", &mut found);
        found.all.is_empty() && found.steps > 0
    })
}

/// Enough for the values of an enum. One step looks at a value, or at one of an enum.
const STEPS: usize = 200_000;

/// What was found so far.
struct Found {
    all: Vec<Violation>,
    /// Those that are left.
    steps: usize,
    /// The patterns so far: compiling one takes longer than matching it. `None` for those that are not known.
    patterns: BTreeMap<String, Option<Regex>>,
}

impl Found {
    fn within(steps: usize) -> Self {
        let (all, patterns) = (Vec::new(), BTreeMap::new());
        Self {
            all,
            steps,
            patterns,
        }
    }

    fn push(&mut self, violation: Violation) {
        self.all.push(violation);
    }

    /// Whether `text` contains a match of a pattern; `None` if it is not known.
    fn matches(&mut self, pattern: &str, text: &str) -> Option<bool> {
        if !self.patterns.contains_key(pattern) {
            let compiled = re2::compiled(pattern);
            self.patterns.insert(pattern.to_owned(), compiled);
        }
        let compiled = self.patterns.get(pattern)?.as_ref()?;
        Some(compiled.is_match(text))
    }

    /// Whether there are still so many.
    fn take(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_sub(steps);
        self.steps > 0
    }
}

fn check(schema: &Value, value: &Value, path: &str, found: &mut Found) {
    let values = schema["enum"].as_array().map_or(0, Vec::len);
    if !found.take(1 + values) {
        return;
    }
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
        const SHOWN: usize = 50;
        let known = values.iter().take(SHOWN);
        let known: Vec<String> = known.map(|known| format!("`{}`", plain(known))).collect();
        let more = match values.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} others"),
        };
        fault(format!("is not one of {}{more}", known.join(", ")));
    }
    match value {
        Value::String(text) => string(schema, text, path, found),
        Value::Number(_) => number(schema, value, &mut |reason| {
            let path = path.to_owned();
            found.push(Violation { path, reason });
        }),
        Value::Array(items) => list(schema, items, path, found),
        Value::Object(fields) => object(schema, fields, path, found),
        Value::Null | Value::Bool(_) => {}
    }
    combined(schema, value, path, found);
}

/// The beginning of a pattern: each value that does not match repeats it.
fn short(pattern: &str) -> String {
    const LENGTH: usize = 200;
    match pattern.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &pattern[..end]),
        None => pattern.to_owned(),
    }
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

fn string(schema: &Value, text: &str, path: &str, found: &mut Found) {
    let pattern = schema["pattern"].as_str();
    let is_mismatch = pattern.is_some_and(|it| found.matches(it, text) == Some(false));
    let mut fault = |reason| {
        let path = path.to_owned();
        found.push(Violation { path, reason });
    };
    let length = text.chars().count() as u64;
    if let Some(max) = schema["maxLength"].as_u64().filter(|max| length > *max) {
        fault(format!("is longer than {max}"));
    }
    if let Some(min) = schema["minLength"].as_u64().filter(|min| length < *min) {
        fault(format!("is shorter than {min}"));
    }
    if let Some(pattern) = pattern.filter(|_| is_mismatch) {
        fault(format!("does not match `{}`", short(pattern)));
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

fn list(schema: &Value, items: &[Value], path: &str, found: &mut Found) {
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

fn object(schema: &Value, fields: &Map<String, Value>, path: &str, found: &mut Found) {
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
fn combined(schema: &Value, value: &Value, path: &str, found: &mut Found) {
    for part in schema["allOf"].as_array().into_iter().flatten() {
        check(part, value, path, found);
    }
    // With the steps that are left; what is found in a part is no violation itself.
    let mut left = Found {
        all: Vec::new(),
        patterns: std::mem::take(&mut found.patterns),
        ..*found
    };
    let mut fits = |part: &Value| {
        check(part, value, path, &mut left);
        std::mem::take(&mut left.all).is_empty()
    };
    let mut faults = Vec::new();
    if let Some(parts) = schema["anyOf"].as_array()
        && !parts.iter().any(&mut fits)
    {
        faults.push("matches none of the schemas in `anyOf`");
    }
    if let Some(parts) = schema["oneOf"].as_array() {
        match parts.iter().filter(|part| fits(part)).count() {
            1 => {}
            0 => faults.push("matches none of the schemas in `oneOf`"),
            _ => faults.push("matches several of the schemas in `oneOf` instead of exactly one"),
        }
    }
    if schema["not"].is_object() && fits(&schema["not"]) {
        faults.push("matches the schema in `not`");
    }
    (found.steps, found.patterns) = (left.steps, left.patterns);
    // Without steps, a part only seems to fit.
    for reason in faults.into_iter().filter(|_| found.steps > 0) {
        let (path, reason) = (path.to_owned(), reason.to_owned());
        found.all.push(Violation { path, reason });
    }
}

#[cfg(test)]
mod tests;
