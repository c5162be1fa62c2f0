//! A value that a schema takes: what a sample says for a field that has to be there.

use serde_json::{Map, Value, json};

use crate::manifests::lint::value::{faults, pruned};

/// Texts that patterns and formats in CRDs often ask for.
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

/// `now` as far as it is valid, with what is missing; perhaps still not valid, if nothing is known that is.
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
    // A Rust enum with data: one of its forms.
    for forms in [all("oneOf"), all("anyOf")] {
        if let Some(form) = forms
            .iter()
            .map(|form| joined(schema, form, &value))
            .find(|value| is_valid(schema, value))
        {
            return form;
        }
    }
    value
}

/// With its defaults, valid; and no field is dropped.
pub fn is_valid(schema: &Value, value: &Value) -> bool {
    pruned(schema, value) == *value && faults(schema, &with_defaults(schema, value), "").is_empty()
}

/// The example, default, or first of the values that are allowed.
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

/// `value` with the fields that `part`, which only restricts, asks for besides.
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
    let now = now.map(|now| pruned(schema, now));
    let now = now.as_ref().and_then(Value::as_object);
    for (name, value) in now.into_iter().flatten() {
        let field = match &schema["properties"][name] {
            Value::Null => &schema["additionalProperties"],
            field => field,
        };
        fields.insert(name.clone(), fill(field, Some(value)));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        let field = &schema["properties"][name];
        // What has a default, the API server fills in.
        if field["default"].is_null() && !fields.contains_key(name) {
            fields.insert(name.to_owned(), fill(field, None));
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

fn list(schema: &Value, now: Option<&Value>) -> Value {
    let item = &schema["items"];
    let now = now.and_then(Value::as_array).into_iter().flatten();
    let mut items: Vec<Value> = now.map(|now| fill(item, Some(now))).collect();
    let least = schema["minItems"].as_u64().unwrap_or(0).min(100);
    while (items.len() as u64) < least {
        items.push(fill(item, None));
    }
    if let Some(most) = schema["maxItems"]
        .as_u64()
        .and_then(|most| usize::try_from(most).ok())
    {
        items.truncate(most);
    }
    Value::Array(items)
}

/// Some number within the bounds; 1 if that is one. `None` when the schema wants none.
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
        .map(whole)
        .find(|value| faults(schema, value, "").is_empty())
}

/// As an integer where it is one, so that no `.0` shows.
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
    let texts = TEXTS.iter().flat_map(|text| [json!(text), fitted(text)]);
    let mut texts = texts.chain(["a", "A", "0", ""].map(fitted));
    texts
        .find(|text| faults(schema, text, "").is_empty())
        .unwrap_or_else(|| json!(TEXTS[0]))
}

/// `value` as the API server has it after defaulting.
pub fn with_defaults(schema: &Value, value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields = fields.clone();
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let default = &field["default"];
                let null = fields
                    .get(name)
                    .is_some_and(|value| value.is_null() && field["nullable"] != json!(true));
                if !default.is_null() && (null || !fields.contains_key(name)) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            let below = |(name, value): (String, Value)| {
                let field = match &schema["properties"][&name] {
                    Value::Null => &schema["additionalProperties"],
                    field => field,
                };
                let value = with_defaults(field, &value);
                (name, value)
            };
            Value::Object(fields.into_iter().map(below).collect())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| with_defaults(&schema["items"], item))
            .collect(),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: &Value) {
        assert_eq!(fill(schema, None), *expected, "of {schema}");
        assert!(is_valid(schema, expected), "{expected} of {schema}");
    }

    #[test]
    fn examples_come_before_defaults_and_those_before_what_is_allowed() {
        check(
            &json!({ "type": "string", "example": "a", "default": "b", "enum": ["c", "b", "a"] }),
            &json!("a"),
        );
        check(
            &json!({ "type": "string", "default": "b", "enum": ["c", "b"] }),
            &json!("b"),
        );
        check(
            &json!({ "type": "string", "enum": ["c", "b"] }),
            &json!("c"),
        );
        check(
            &json!({ "type": "string", "example": "no", "maxLength": 1 }),
            &json!("e"),
        );
    }

    #[test]
    fn numbers_are_within_their_bounds() {
        check(&json!({ "type": "integer" }), &json!(1));
        check(&json!({ "type": "integer", "minimum": 5 }), &json!(5));
        check(
            &json!({ "type": "integer", "minimum": 5, "exclusiveMinimum": true }),
            &json!(6),
        );
        check(&json!({ "type": "integer", "maximum": -3 }), &json!(-3));
        check(
            &json!({ "type": "integer", "minimum": 7, "multipleOf": 5 }),
            &json!(10),
        );
        check(
            &json!({ "type": "number", "minimum": 0.25, "maximum": 0.5 }),
            &json!(0.375),
        );
        check(&json!({ "x-kubernetes-int-or-string": true }), &json!(1));
    }

    #[test]
    fn texts_have_their_length_form_and_format() {
        check(&json!({ "type": "string" }), &json!("example"));
        check(
            &json!({ "type": "string", "minLength": 10, "maxLength": 10 }),
            &json!("exampleexa"),
        );
        check(&json!({ "type": "string", "maxLength": 3 }), &json!("exa"));
        check(
            &json!({ "type": "string", "pattern": "^[0-9]+(s|m|h)$" }),
            &json!("10m"),
        );
        check(
            &json!({ "type": "string", "format": "ipv4" }),
            &json!("10.0.0.1"),
        );
        check(
            &json!({ "type": "string", "format": "date-time" }),
            &json!("2026-01-01T00:00:00Z"),
        );
    }

    #[test]
    fn objects_have_what_is_required_and_has_no_default() {
        let schema = json!({ "type": "object", "required": ["a", "b", "c"], "properties": {
            "a": { "type": "string" },
            "b": { "type": "boolean", "default": true },
            "c": { "type": "array", "minItems": 2, "items": { "type": "object", "required": ["d"], "properties": { "d": { "type": "integer", "minimum": 3 } } } },
            "e": { "type": "string" },
        } });
        check(
            &schema,
            &json!({ "a": "example", "c": [{ "d": 3 }, { "d": 3 }] }),
        );
        let map = json!({ "type": "object", "minProperties": 1, "additionalProperties": { "type": "integer" } });
        check(&map, &json!({ "example-1": 1 }));
    }

    #[test]
    fn an_embedded_object_says_what_it_is() {
        let schema = json!({ "type": "object", "x-kubernetes-embedded-resource": true });
        assert!(!is_valid(&schema, &json!({})));
        check(&schema, &json!({ "apiVersion": "v1", "kind": "ConfigMap" }));
    }

    #[test]
    fn one_form_of_an_enum_is_chosen() {
        let schema = json!({
            "type": "object", "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
            "properties": { "a": { "type": "object" }, "b": { "type": "string" } },
        });
        check(&schema, &json!({ "a": {} }));
    }

    #[test]
    fn what_is_valid_stays_and_what_is_not_goes() {
        let schema = json!({ "type": "object", "required": ["b"], "properties": {
            "a": { "type": "string" }, "b": { "type": "integer" }, "c": { "type": "string", "maxLength": 1 },
        } });
        let now = json!({ "a": "mine", "c": "too long", "gone": 1 });
        assert_eq!(
            fill(&schema, Some(&now)),
            json!({ "a": "mine", "b": 1, "c": "e" })
        );
    }
}
