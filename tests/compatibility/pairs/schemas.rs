//! Changes of a schema, each in an object, in a list without keys, and in one with keys.

use serde_json::{Value, json};

use super::{Pair, definition, object};

/// A change of the schema of an object, and such an object.
struct Change {
    name: &'static str,
    old: Value,
    new: Value,
    object: Value,
    /// Whether a list without keys may have it.
    in_atomic: bool,
    /// The pointer of a text in the object that can change, beside `/other`.
    inside: Option<&'static str>,
}

/// A change of the field `it`.
fn field(name: &'static str, old: &Value, new: &Value, value: &Value) -> Change {
    around(
        name,
        &json!({ "properties": { "it": old } }),
        &json!({ "properties": { "it": new } }),
        &json!({ "it": value }),
    )
}

/// A change of the object with the field `it`.
fn around(name: &'static str, old: &Value, new: &Value, object: &Value) -> Change {
    let with_other = |schema: &Value| {
        let mut schema = schema.clone();
        schema["type"] = json!("object");
        schema["properties"]["other"] = json!({ "type": "string", "maxLength": 9 });
        schema
    };
    let mut object = object.clone();
    object["other"] = json!("same");
    Change {
        name,
        old: with_other(old),
        new: with_other(new),
        object,
        in_atomic: true,
        inside: None,
    }
}

/// A change that uses `oldSelf`, which the API server rejects in lists without keys.
fn only_where_old_self_exists(change: Change) -> Change {
    Change {
        in_atomic: false,
        ..change
    }
}

/// A change of a list or map, in which something else can change.
fn with(inside: &'static str, change: Change) -> Change {
    Change {
        inside: Some(inside),
        ..change
    }
}

pub fn pairs() -> Vec<Pair> {
    let mut all = Vec::new();
    for change in compatible()
        .into_iter()
        .chain(scalars())
        .chain(rules())
        .chain(fields())
        .chain(types())
        .chain(lists())
        .chain(variants())
    {
        for place in ["field", "atomic", "keyed"] {
            if place != "atomic" || change.in_atomic {
                all.push(pair(&change, place));
            }
        }
    }
    all
}

fn pair(change: &Change, place: &str) -> Pair {
    let schema = |inner: &Value| match place {
        "field" => inner.clone(),
        "atomic" => {
            json!({ "type": "object", "properties": { "list": { "type": "array", "maxItems": 3, "items": inner } } })
        }
        _ => {
            let mut items = inner.clone();
            items["properties"]["name"] = json!({ "type": "string", "maxLength": 9 });
            let mut required = items["required"].as_array().cloned().unwrap_or_default();
            required.push(json!("name"));
            items["required"] = Value::from(required);
            json!({ "type": "object", "properties": { "list": {
                "type": "array", "maxItems": 3, "items": items,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            } } })
        }
    };
    let (spec, around) = match place {
        "field" => (change.object.clone(), "/spec"),
        "atomic" => (json!({ "list": [change.object] }), "/spec/list/0"),
        _ => {
            let mut item = change.object.clone();
            item["name"] = json!("a");
            (json!({ "list": [item] }), "/spec/list/0")
        }
    };
    let name = format!("{} {place}", change.name);
    let (old, new) = (
        definition(&name, &schema(&change.old)),
        definition(&name, &schema(&change.new)),
    );
    Pair {
        object: object(&old, &spec),
        name,
        old,
        new,
        neighbours: ["/other"]
            .into_iter()
            .chain(change.inside)
            .map(|it| format!("{around}{it}"))
            .collect(),
        request: None,
    }
}

fn compatible() -> Vec<Change> {
    let text = json!({ "type": "string", "maxLength": 9 });
    let number = json!({ "type": "integer" });
    let it = |schema: Value| json!({ "properties": { "it": schema } });
    vec![
        field("nothing", &text, &text, &json!("a")),
        field(
            "description-changed",
            &text,
            &json!({ "type": "string", "maxLength": 9, "description": "It." }),
            &json!("a"),
        ),
        around(
            "optional-field-added",
            &it(text.clone()),
            &json!({ "properties": { "it": text, "also": text } }),
            &json!({ "it": "a" }),
        ),
        around(
            "field-with-default-added",
            &it(text.clone()),
            &json!({ "properties": { "it": text, "also": { "type": "string", "default": "b" } } }),
            &json!({ "it": "a" }),
        ),
        around(
            "required-with-default",
            &it(text.clone()),
            &json!({ "properties": { "it": text, "also": { "type": "string", "default": "b" } }, "required": ["also"] }),
            &json!({ "it": "a" }),
        ),
        around(
            "required-removed",
            &json!({ "properties": { "it": text }, "required": ["it"] }),
            &it(text.clone()),
            &json!({ "it": "a" }),
        ),
        field(
            "maximum-raised",
            &json!({ "type": "integer", "maximum": 9 }),
            &json!({ "type": "integer", "maximum": 10 }),
            &json!(9),
        ),
        field(
            "maximum-removed",
            &json!({ "type": "integer", "maximum": 9 }),
            &number,
            &json!(9),
        ),
        field(
            "min-length-lowered",
            &json!({ "type": "string", "minLength": 2 }),
            &json!({ "type": "string", "minLength": 1 }),
            &json!("aa"),
        ),
        field(
            "pattern-removed",
            &json!({ "type": "string", "pattern": "^a" }),
            &json!({ "type": "string" }),
            &json!("a"),
        ),
        field(
            "format-removed",
            &json!({ "type": "string", "format": "uuid" }),
            &json!({ "type": "string" }),
            &json!("00000000-0000-4000-8000-000000000000"),
        ),
        field(
            "format-widened",
            &json!({ "type": "integer", "format": "int32" }),
            &json!({ "type": "integer", "format": "int64" }),
            &json!(1),
        ),
        field(
            "enum-value-added",
            &json!({ "type": "string", "enum": ["a"] }),
            &json!({ "type": "string", "enum": ["a", "b"] }),
            &json!("a"),
        ),
        field(
            "enum-removed",
            &json!({ "type": "string", "enum": ["a"] }),
            &json!({ "type": "string" }),
            &json!("a"),
        ),
        field(
            "enum-replaced-by-pattern",
            &json!({ "type": "string", "enum": ["a"] }),
            &json!({ "type": "string", "pattern": "^[a-z]$" }),
            &json!("a"),
        ),
        field(
            "nullable-added",
            &json!({ "type": "string" }),
            &json!({ "type": "string", "nullable": true }),
            &json!("a"),
        ),
        field(
            "unknown-fields-kept",
            &json!({ "type": "object" }),
            &json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
            &json!({}),
        ),
    ]
}

fn scalars() -> Vec<Change> {
    let number = |key: &str, value: Value| json!({ "type": "integer", key: value });
    let text = |key: &str, value: Value| json!({ "type": "string", key: value });
    let (plain_number, plain_text) = (json!({ "type": "integer" }), json!({ "type": "string" }));
    vec![
        field(
            "maximum-lowered",
            &number("maximum", json!(9)),
            &number("maximum", json!(5)),
            &json!(9),
        ),
        field(
            "maximum-added",
            &plain_number,
            &number("maximum", json!(5)),
            &json!(9),
        ),
        field(
            "minimum-raised",
            &number("minimum", json!(1)),
            &number("minimum", json!(5)),
            &json!(1),
        ),
        field(
            "maximum-exclusive",
            &number("maximum", json!(9)),
            &json!({ "type": "integer", "maximum": 9, "exclusiveMaximum": true }),
            &json!(9),
        ),
        field(
            "max-length-lowered",
            &text("maxLength", json!(9)),
            &text("maxLength", json!(1)),
            &json!("aa"),
        ),
        field(
            "min-length-raised",
            &plain_text,
            &text("minLength", json!(3)),
            &json!("aa"),
        ),
        field(
            "multiple-added",
            &plain_number,
            &number("multipleOf", json!(2)),
            &json!(3),
        ),
        field(
            "enum-value-removed",
            &text("enum", json!(["a", "b"])),
            &text("enum", json!(["a"])),
            &json!("b"),
        ),
        field(
            "enum-added",
            &plain_text,
            &text("enum", json!(["a"])),
            &json!("b"),
        ),
        field(
            "pattern-added",
            &plain_text,
            &text("pattern", json!("^a")),
            &json!("b"),
        ),
        field(
            "pattern-stricter",
            &text("pattern", json!("^[ab]")),
            &text("pattern", json!("^a")),
            &json!("b"),
        ),
        field(
            "pattern-wider",
            &text("pattern", json!("^a")),
            &text("pattern", json!("^[ab]")),
            &json!("a"),
        ),
        field(
            "format-added",
            &plain_text,
            &text("format", json!("uuid")),
            &json!("b"),
        ),
    ]
}

fn rules() -> Vec<Change> {
    let ruled = |rules: Value| json!({ "type": "integer", "x-kubernetes-validations": rules });
    let plain = json!({ "type": "integer" });
    let of_object = |rule: &str, more: Value| {
        let mut schema = json!({ "properties": { "it": { "type": "integer" } }, "x-kubernetes-validations": [{ "rule": rule }] });
        for (name, field) in more.as_object().expect("fields") {
            schema["properties"][name] = field.clone();
        }
        schema
    };
    let unruled = json!({ "properties": { "it": { "type": "integer" } } });
    let guarded = json!([{ "rule": "oldSelf.hasValue() && oldSelf.value() == self || self < 5", "optionalOldSelf": true }]);
    vec![
        field(
            "rule-removed",
            &ruled(json!([{ "rule": "self > 5" }])),
            &plain,
            &json!(9),
        ),
        field(
            "rule-message-changed",
            &ruled(json!([{ "rule": "self > 5" }])),
            &ruled(json!([{ "rule": "self > 5", "message": "too small" }])),
            &json!(9),
        ),
        around(
            "rule-about-new-field",
            &unruled,
            &of_object(
                "!has(self.also) || self.also > self.it",
                json!({ "also": { "type": "integer" } }),
            ),
            &json!({ "it": 9 }),
        ),
        field(
            "rule-of-scalar-added",
            &plain,
            &ruled(json!([{ "rule": "self < 5" }])),
            &json!(9),
        ),
        around(
            "rule-of-object-added",
            &unruled,
            &of_object("!has(self.it) || self.it < 5", json!({})),
            &json!({ "it": 9 }),
        ),
        only_where_old_self_exists(field("rule-guarded", &plain, &ruled(guarded), &json!(9))),
        only_where_old_self_exists(field(
            "rule-of-transition",
            &plain,
            &ruled(json!([{ "rule": "self == oldSelf" }])),
            &json!(9),
        )),
    ]
}

fn fields() -> Vec<Change> {
    let text = json!({ "type": "string" });
    let with_default = |value: &str| json!({ "type": "string", "default": value });
    let it = |schema: &Value| json!({ "properties": { "it": schema } });
    let open =
        json!({ "properties": { "it": text }, "x-kubernetes-preserve-unknown-fields": true });
    let value = json!({ "it": "a" });
    vec![
        around("field-removed", &it(&text), &json!({}), &value),
        around(
            "field-renamed",
            &it(&text),
            &json!({ "properties": { "that": text } }),
            &value,
        ),
        around(
            "field-removed-but-kept",
            &open,
            &json!({ "x-kubernetes-preserve-unknown-fields": true }),
            &value,
        ),
        around(
            "unknown-fields-dropped",
            &open,
            &it(&text),
            &json!({ "it": "a", "extra": "b" }),
        ),
        around(
            "required-added",
            &it(&text),
            &json!({ "properties": { "it": text }, "required": ["it"] }),
            &json!({}),
        ),
        around(
            "new-required-field",
            &it(&text),
            &json!({ "properties": { "it": text, "also": text }, "required": ["also"] }),
            &value,
        ),
        around(
            "default-added",
            &it(&text),
            &it(&with_default("a")),
            &json!({}),
        ),
        around(
            "default-changed",
            &it(&with_default("a")),
            &it(&with_default("b")),
            &json!({}),
        ),
        around(
            "default-removed",
            &it(&with_default("a")),
            &it(&text),
            &json!({}),
        ),
        field(
            "map-values-removed",
            &json!({ "type": "object", "additionalProperties": text }),
            &json!({ "type": "object" }),
            &json!({ "a": "b" }),
        ),
        field(
            "map-to-fields",
            &json!({ "type": "object", "additionalProperties": text }),
            &json!({ "type": "object", "properties": { "a": text } }),
            &json!({ "a": "b", "c": "d" }),
        ),
        field(
            "fields-to-map",
            &json!({ "type": "object", "properties": { "a": text } }),
            &json!({ "type": "object", "additionalProperties": text }),
            &json!({ "a": "b" }),
        ),
    ]
}

fn types() -> Vec<Change> {
    let of = |name: &str| json!({ "type": name });
    let int_or_string = json!({ "x-kubernetes-int-or-string": true });
    vec![
        field(
            "string-to-integer",
            &of("string"),
            &of("integer"),
            &json!("a"),
        ),
        field(
            "integer-to-string",
            &of("integer"),
            &of("string"),
            &json!(1),
        ),
        field(
            "integer-to-number",
            &of("integer"),
            &of("number"),
            &json!(1),
        ),
        field(
            "number-to-integer",
            &of("number"),
            &of("integer"),
            &json!(1.5),
        ),
        field(
            "string-to-int-or-string",
            &of("string"),
            &int_or_string,
            &json!("a"),
        ),
        field(
            "string-to-object",
            &of("string"),
            &of("object"),
            &json!("a"),
        ),
        field(
            "string-to-list",
            &of("string"),
            &json!({ "type": "array", "items": { "type": "string" } }),
            &json!("a"),
        ),
        field(
            "nullable-removed",
            &json!({ "type": "string", "nullable": true }),
            &of("string"),
            &Value::Null,
        ),
    ]
}

fn lists() -> Vec<Change> {
    let list = |kind: Value, keys: Value| {
        let text = json!({ "type": "string" });
        let mut items = json!({ "type": "object", "properties": { "key": text, "more": text }, "required": ["key", "more"] });
        if kind == "set" {
            items["x-kubernetes-map-type"] = json!("atomic");
        }
        let mut list = json!({ "type": "array", "items": items });
        if !kind.is_null() {
            list["x-kubernetes-list-type"] = kind;
        }
        if !keys.is_null() {
            list["x-kubernetes-list-map-keys"] = keys;
        }
        list
    };
    let texts = |key: &str, value: Value| json!({ "type": "array", "items": { "type": "string" }, key: value });
    let map = |key: &str, value: Value| json!({ "type": "object", "additionalProperties": { "type": "string" }, key: value });
    let (atomic, keyed) = (
        list(Value::Null, Value::Null),
        list(json!("map"), json!(["key"])),
    );
    let same_key = json!([{ "key": "a", "more": "b" }, { "key": "a", "more": "c" }, { "key": "b", "more": "d" }]);
    let other_key = json!([{ "key": "a", "more": "c" }, { "key": "b", "more": "c" }, { "key": "c", "more": "d" }]);
    vec![
        with(
            "/it/2",
            field(
                "list-to-set",
                &texts("x-kubernetes-list-type", json!("atomic")),
                &texts("x-kubernetes-list-type", json!("set")),
                &json!(["a", "a", "b"]),
            ),
        ),
        with(
            "/it/0",
            field(
                "set-to-list",
                &texts("x-kubernetes-list-type", json!("set")),
                &texts("x-kubernetes-list-type", json!("atomic")),
                &json!(["a"]),
            ),
        ),
        with(
            "/it/2/more",
            field("list-to-map", &atomic, &keyed, &same_key),
        ),
        with(
            "/it/0/more",
            field("map-to-list", &keyed, &atomic, &other_key),
        ),
        with(
            "/it/2/more",
            field(
                "list-keys-replaced",
                &keyed,
                &list(json!("map"), json!(["more"])),
                &other_key,
            ),
        ),
        with(
            "/it/0/more",
            field(
                "list-keys-added",
                &keyed,
                &list(json!("map"), json!(["key", "more"])),
                &other_key,
            ),
        ),
        with(
            "/it/a",
            field(
                "map-to-atomic",
                &map("maxProperties", json!(9)),
                &json!({ "type": "object", "additionalProperties": { "type": "string" }, "maxProperties": 9, "x-kubernetes-map-type": "atomic" }),
                &json!({ "a": "b" }),
            ),
        ),
        with(
            "/it/0",
            field(
                "max-items-lowered",
                &texts("maxItems", json!(9)),
                &texts("maxItems", json!(1)),
                &json!(["a", "b"]),
            ),
        ),
        with(
            "/it/0",
            field(
                "min-items-added",
                &texts("maxItems", json!(9)),
                &json!({ "type": "array", "items": { "type": "string" }, "maxItems": 9, "minItems": 2 }),
                &json!(["a"]),
            ),
        ),
        with(
            "/it/a",
            field(
                "max-properties-lowered",
                &map("maxProperties", json!(9)),
                &map("maxProperties", json!(1)),
                &json!({ "a": "b", "c": "d" }),
            ),
        ),
        with(
            "/it/a",
            field(
                "min-properties-added",
                &map("maxProperties", json!(9)),
                &map("minProperties", json!(2)),
                &json!({ "a": "b" }),
            ),
        ),
    ]
}

fn variants() -> Vec<Change> {
    let text = json!({ "type": "string" });
    let one_of = |names: &[&str]| {
        let mut schema = json!({ "properties": {}, "oneOf": [] });
        for name in names {
            schema["properties"][name] = text.clone();
        }
        schema["oneOf"] = names
            .iter()
            .map(|name| json!({ "required": [name] }))
            .collect();
        schema
    };
    // It still has the other field, so that only the restriction changes.
    let only_it =
        json!({ "properties": { "it": text, "also": text }, "oneOf": [{ "required": ["it"] }] });
    let unrestricted = json!({ "properties": { "it": text } });
    let restricted = |key: &str, value: Value| json!({ "properties": { "it": text }, key: value });
    let value = json!({ "it": "b" });
    vec![
        around(
            "variant-added",
            &one_of(&["it"]),
            &one_of(&["it", "also"]),
            &value,
        ),
        around(
            "variant-removed",
            &one_of(&["also", "it"]),
            &only_it,
            &json!({ "also": "b" }),
        ),
        around(
            "any-of-added",
            &unrestricted,
            &restricted(
                "anyOf",
                json!([{ "properties": { "it": { "enum": ["a"] } } }]),
            ),
            &value,
        ),
        around(
            "all-of-added",
            &unrestricted,
            &restricted(
                "allOf",
                json!([{ "properties": { "it": { "enum": ["a"] } } }]),
            ),
            &value,
        ),
        around(
            "not-added",
            &unrestricted,
            &restricted(
                "not",
                json!({ "properties": { "it": { "enum": ["b"] } }, "required": ["it"] }),
            ),
            &value,
        ),
    ]
}
