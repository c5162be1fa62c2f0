//! Finds a value that is valid for a schema, for the required fields of a sample.

use std::collections::BTreeSet;

use apiserver_rules::formats::example;
use apiserver_rules::{Rules, is_embedded, problems, prune, set_defaults};
use serde_json::{Map, Value, json};

/// Texts that match common patterns and formats in CRDs.
const TEXTS: [&str; 24] = [
    "example",
    "Example",
    "EXAMPLE",
    "1",
    "v1",
    "1.0.0",
    "v1.0.0",
    "10m",
    "1Gi",
    "10s",
    "50%",
    "*/5 * * * *",
    "example.com",
    "https://example.com",
    "http://example.com",
    "user@example.com",
    "/example",
    "10.0.0.1",
    "10.0.0.0/16",
    "2001:db8::1",
    "2026-01-01",
    "2026-01-01T00:00:00Z",
    "00000000-0000-0000-0000-000000000000",
    "ZXhhbXBsZQ==",
];

/// Keeps the valid parts of `now` and adds the missing ones. Fields without a known valid value are left out, so the result may be
/// invalid.
pub fn fill(schema: &Value, now: Option<&Value>) -> Value {
    if let Some(now) = now.filter(|now| is_valid(schema, now)) {
        return now.clone();
    }
    if let Some(known) = known(schema) {
        return known;
    }
    let all = |part: &str| schema[part].as_array().map_or(&[][..], Vec::as_slice);
    let mut value = simple(schema, now);
    for part in all("allOf") {
        value = joined(schema, part, &value);
    }
    // A Rust enum with data: one of its variants.
    for forms in [all("oneOf"), all("anyOf")] {
        if let Some(form) = forms
            .iter()
            .map(|form| joined(schema, form, &value))
            .find(|value| is_valid(schema, value))
        {
            return form;
        }
    }
    if is_valid(schema, &value) {
        return value;
    }
    let near = near(schema, &value);
    let valid = near.into_iter().find(|near| is_valid(schema, near));
    valid.unwrap_or(value)
}

/// Whether `value`, with its defaults, is valid, follows its rules, and has no unknown field.
pub fn is_valid(schema: &Value, value: &Value) -> bool {
    let mut pruned = value.clone();
    prune(&mut pruned, schema, false);
    let mut whole = value.clone();
    set_defaults(&mut whole, schema);
    let follows = |rules: Rules| rules.judge(schema, &whole, None).problems.is_empty();
    pruned == *value
        && problems(&whole, schema).is_empty()
        && Rules::of(schema, is_embedded(schema)).is_none_or(follows)
}

/// Variants of an object: one field has another value, is added, or is removed. Rules about several fields may need one of these.
fn near(schema: &Value, value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let fields = schema["properties"].as_object().into_iter().flatten();
    for (name, field) in fields.filter(|_| value.is_object()) {
        let mut with = |other: Value| {
            let mut object = value.clone();
            object[name] = other;
            all.push(object);
        };
        let now = value.get(name);
        if now.is_none() {
            with(fill(field, None));
        }
        if now.is_none_or(Value::is_boolean) && field["type"] == "boolean" {
            with(json!(true));
        }
        for other in field["enum"].as_array().into_iter().flatten() {
            with(other.clone());
        }
        if now.is_some() {
            let mut object = value.clone();
            object.as_object_mut().map(|object| object.remove(name));
            all.push(object);
        }
    }
    all
}

/// The example, the default, or the first allowed value.
fn known(schema: &Value) -> Option<Value> {
    let example = [&schema["example"], &schema["default"], &schema["enum"][0]];
    let known = example.into_iter().filter(|value| !value.is_null());
    let mut known = known.filter(|value| is_valid(schema, value));
    known.next().cloned()
}

fn simple(schema: &Value, now: Option<&Value>) -> Value {
    if schema["x-kubernetes-int-or-string"] == json!(true) {
        return number(schema).unwrap_or_else(|| text(schema));
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, now),
        Some("array") => list(schema, now),
        Some("string") => text(schema),
        Some("integer" | "number") => number(schema).unwrap_or(json!(1)),
        Some("boolean") => json!(false),
        _ => now.cloned().unwrap_or_else(|| json!({})),
    }
}

/// `value` with the additional fields that `part`, which only restricts it, requires.
fn joined(schema: &Value, part: &Value, value: &Value) -> Value {
    let mut value = value.clone();
    let names = part["required"].as_array().into_iter().flatten();
    for name in names.filter_map(Value::as_str) {
        let field = &schema["properties"][name];
        if value.is_object() && value.get(name).is_none() && field.is_object() {
            value[name] = fill(field, None);
        }
    }
    for (name, field) in part["properties"].as_object().into_iter().flatten() {
        if let (Some(first), true) = (field["enum"].get(0), value.get(name).is_some()) {
            value[name] = first.clone();
        }
    }
    match part["enum"].get(0) {
        Some(first) => first.clone(),
        None => value,
    }
}

fn object(schema: &Value, now: Option<&Value>) -> Value {
    let mut fields = Map::new();
    let now = now.cloned().map(|mut now| {
        prune(&mut now, schema, false);
        now
    });
    let now = now.as_ref().and_then(Value::as_object);
    for (name, value) in now.into_iter().flatten() {
        let field = match &schema["properties"][name] {
            Value::Null => &schema["additionalProperties"],
            field => field,
        };
        let value = partly(field, Some(value));
        fields.extend(value.map(|value| (name.clone(), value)));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        let field = &schema["properties"][name];
        // The API server fills in defaults.
        if field["default"].is_null() && !fields.contains_key(name) {
            fields.extend(partly(field, None).map(|value| (name.to_owned(), value)));
        }
    }
    if schema["x-kubernetes-embedded-resource"] == json!(true) {
        for (name, value) in [("apiVersion", "v1"), ("kind", "ConfigMap")] {
            fields.entry(name).or_insert(json!(value));
        }
    }
    let least = schema["minProperties"].as_u64().unwrap_or(0);
    let optional = schema["properties"].as_object().into_iter().flatten();
    for (name, field) in optional {
        if (fields.len() as u64) < least && !fields.contains_key(name) {
            fields.insert(name.clone(), fill(field, None));
        }
    }
    let values = &schema["additionalProperties"];
    while (fields.len() as u64) < least.min(100) && values.is_object() {
        fields.insert(format!("example-{}", fields.len() + 1), fill(values, None));
    }
    Value::Object(fields)
}

/// A value of which at most parts are missing.
fn partly(schema: &Value, now: Option<&Value>) -> Option<Value> {
    let value = fill(schema, now);
    let has_parts = value.is_object() || value.is_array();
    (has_parts || is_valid(schema, &value)).then_some(value)
}

fn list(schema: &Value, now: Option<&Value>) -> Value {
    let item = &schema["items"];
    let now = now.and_then(Value::as_array).into_iter().flatten();
    let mut items: Vec<Value> = now.filter_map(|now| partly(item, Some(now))).collect();
    let least = schema["minItems"].as_u64().unwrap_or(0).min(100);
    while (items.len() as u64) < least
        && let Some(next) = partly(item, None)
    {
        items.push(next);
    }
    if let Some(most) = schema["maxItems"]
        .as_u64()
        .and_then(|most| usize::try_from(most).ok())
    {
        items.truncate(most);
    }
    distinguish(schema, &mut items);
    Value::Array(items)
}

/// Replaces the items of a set, and the keys of items, that occur again.
fn distinguish(schema: &Value, items: &mut [Value]) {
    let keys = schema["x-kubernetes-list-map-keys"].as_array();
    let keys: Vec<&str> = match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => Vec::new(),
        Some("map") => keys
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect(),
        _ => return,
    };
    let item = &schema["items"];
    let identity = |value: &Value| match &keys[..] {
        [] => value.to_string(),
        keys => keys
            .iter()
            .map(|key| value[key].to_string() + "\n")
            .collect(),
    };
    let count = items.len();
    let choices: Vec<Vec<Value>> = match &keys[..] {
        [] => vec![scalars(item, count)],
        keys => keys
            .iter()
            .map(|key| scalars(&item["properties"][key], count))
            .collect(),
    };
    let all = choices.iter().map(Vec::len).product::<usize>().min(1000);
    let mut places = 0..all;
    let mut taken = BTreeSet::new();
    for value in items {
        while !taken.insert(identity(value)) {
            let Some(mut place) = places.next() else {
                return;
            };
            if keys.is_empty() {
                value.clone_from(&choices[0][place]);
            }
            for (key, choices) in keys.iter().zip(&choices) {
                value[key] = choices[place % choices.len()].clone();
                place /= choices.len();
            }
        }
    }
}

/// Up to `count` different scalars that are valid.
fn scalars(schema: &Value, count: usize) -> Vec<Value> {
    let listed = schema["enum"].as_array().into_iter().flatten().cloned();
    let first = fill(schema, None);
    let more = |form: usize| {
        let first = &first;
        (2..=2 * count).filter_map(move |n| match first {
            Value::Number(number) => {
                let step = schema["multipleOf"].as_f64().unwrap_or(1.0);
                #[allow(clippy::cast_precision_loss, reason = "there are few items")]
                let distance = (n - 1) as f64 * step * [1.0, -1.0, 0.0][form];
                Some(whole(number.as_f64()? + distance))
            }
            Value::String(text) => {
                let kept = text.chars().count().saturating_sub(n.to_string().len());
                let cut: String = text.chars().take(kept).collect();
                Some(json!(
                    [
                        format!("{text}-{n}"),
                        format!("{text}{n}"),
                        format!("{cut}{n}")
                    ][form]
                ))
            }
            Value::Bool(value) => Some(json!(!value)),
            _ => None,
        })
    };
    let more = (0..3).flat_map(more);
    let texts = TEXTS
        .map(Value::from)
        .into_iter()
        .filter(|_| first.is_string());
    let all = std::iter::once(first.clone())
        .chain(listed)
        .chain(more)
        .chain(texts);
    let mut found: Vec<Value> = Vec::new();
    for value in all {
        if found.len() < count && !found.contains(&value) && is_valid(schema, &value) {
            found.push(value);
        }
    }
    found
}

/// A number within the bounds, 1 if possible; `None` if the schema is not for numbers.
fn number(schema: &Value) -> Option<Value> {
    let limit = |key: &str| schema[key].as_f64();
    let step = limit("multipleOf")
        .filter(|step| *step > 0.0)
        .unwrap_or(1.0);
    let up = |least: f64| (least / step).ceil() * step;
    let down = |most: f64| (most / step).floor() * step;
    let (least, most) = (limit("minimum"), limit("maximum"));
    let candidates = [
        Some(1.0),
        least.map(up),
        least.map(|least| up(least) + step),
        most.map(down),
        most.map(|most| down(most) - step),
        least
            .zip(most)
            .map(|(least, most)| f64::midpoint(least, most)),
        Some(step),
        Some(0.0),
    ];
    candidates
        .into_iter()
        .flatten()
        // The API server compares an integer with the whole part of a bound only.
        .filter(|number| least.is_none_or(|least| *number >= least))
        .filter(|number| most.is_none_or(|most| *number <= most))
        .map(whole)
        .find(|value| is_valid(schema, value))
}

/// As an integer if it is whole, so that it is printed without `.0`.
fn whole(number: f64) -> Value {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "checked to be whole and small"
    )]
    if number.fract() == 0.0 && number.abs() < 1e15 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

fn text(schema: &Value) -> Value {
    let least = schema["minLength"]
        .as_u64()
        .and_then(|least| usize::try_from(least).ok())
        .unwrap_or(0);
    let most = schema["maxLength"]
        .as_u64()
        .and_then(|most| usize::try_from(most).ok());
    let fitted = |text: &str| {
        let longer: String = text.chars().cycle().take(least.max(text.len())).collect();
        let cut = longer.chars().take(most.unwrap_or(usize::MAX));
        json!(cut.collect::<String>())
    };
    let of_format = schema["format"].as_str().and_then(example);
    let texts = of_format.iter().chain(&TEXTS);
    let texts = texts.flat_map(|text| [json!(text), fitted(text)]);
    let mut texts = texts.chain(["a", "A", "0", ""].map(fitted));
    texts
        .find(|text| is_valid(schema, text))
        .unwrap_or_else(|| json!(TEXTS[0]))
}

#[cfg(test)]
mod tests;
