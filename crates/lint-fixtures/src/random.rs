//! Definitions of random types in the form of derive macros, processed by kube's own transformations.

mod derive;
mod rules;

use std::panic::catch_unwind;

use serde_json::{Map, Value, json};

use derive::derived;
use rules::{ruled, rules};

/// The definition for a seed, of the kind `Kind<seed>`; `None` if the derive macro panics.
#[must_use]
pub fn definition(seed: u64) -> Option<Value> {
    let mut random = Random {
        state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        mistakes: seed % 3,
    };
    let raw = json!({ "type": "object", "required": ["spec"], "properties": {
        "spec": structure(&mut random, 3),
        "status": optional(structure(&mut random, 1)),
    } });
    let schema = catch_unwind(|| derived(raw)).ok()??;
    Some(named(seed, schema))
}

/// The definition of the kind `Kind<seed>` with a schema.
#[must_use]
#[allow(
    clippy::needless_pass_by_value,
    reason = "it becomes part of the definition"
)]
pub fn named(seed: u64, schema: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("kind{seed}s.random.example.com") },
        "spec": {
            "group": "random.example.com",
            "names": { "kind": format!("Kind{seed}"), "plural": format!("kind{seed}s"), "singular": format!("kind{seed}") },
            "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "subresources": { "status": {} }, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

/// A xorshift generator: the same definitions on every machine, without a dependency.
struct Random {
    state: u64,
    /// The number of mistakes that may still be made.
    mistakes: u64,
}

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from((self.state >> 11) % end as u64).unwrap_or(0)
    }

    /// True once in `times` calls, on average.
    fn rarely(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Whether to make a mistake here.
    fn errs(&mut self) -> bool {
        let errs = self.mistakes > 0 && self.rarely(8);
        self.mistakes -= u64::from(errs);
        errs
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

fn optional(schema: Value) -> Value {
    match schema["type"].as_str() {
        Some(kind) => {
            let kinds = json!([kind, "null"]);
            with(schema, "type", kinds)
        }
        None => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}

fn with(mut schema: Value, key: &str, value: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(key.to_owned(), value);
    }
    schema
}

const NAMES: [&str; 8] = [
    "name",
    "count",
    "ports",
    "mode",
    "if",
    "a-b",
    "conditions",
    "size",
];

fn structure(random: &mut Random, depth: usize) -> Value {
    let (mut fields, mut required) = (Map::new(), Vec::new());
    for _ in 0..=random.below(4) {
        let name = random.pick(&NAMES);
        let mut field = value(random, depth);
        match random.below(4) {
            0 => field = optional(field),
            1 => {
                let default = data(random, &field);
                field = with(field, "default", default);
            }
            _ => required.push(json!(name)),
        }
        fields.insert(name.to_owned(), field);
    }
    required.retain(|name| fields[name.as_str().unwrap_or_default()]["default"].is_null());
    let mut schema = json!({ "type": "object", "properties": fields });
    if !required.is_empty() {
        schema = with(schema, "required", required.into());
    }
    if random.errs() {
        let more = random.pick(&[json!(false), json!(true), json!({ "type": "string" })]);
        schema = with(schema, "additionalProperties", more);
    }
    if random.rarely(3) {
        let rules = rules(random, &schema);
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        schema = ruled(random, schema, &rules);
    }
    if random.rarely(12) {
        schema = with(
            schema,
            "x-kubernetes-map-type",
            json!(random.pick(&["atomic", "granular"])),
        );
    }
    if random.errs() {
        schema = with(schema, "x-kubernetes-embedded-resource", json!(true));
    }
    schema
}

fn value(random: &mut Random, depth: usize) -> Value {
    let kinds = if depth == 0 { 6 } else { 14 };
    let kind = if random.errs() {
        14 + random.below(2)
    } else {
        random.below(kinds)
    };
    match kind {
        0 | 1 => string(random),
        2 => integer(random),
        3 => json!({ "type": "boolean" }),
        4 => json!({ "type": "number", "format": random.pick(&["float", "double"]) }),
        5 => json!({ "type": "string", "enum": ["a", "b"] }),
        6..=8 => structure(random, depth - 1),
        9 | 10 => list(random, depth - 1),
        11 => {
            let mut map = json!({ "type": "object", "additionalProperties": value(random, depth - 1) });
            if random.rarely(3) {
                map = with(map, "maxProperties", json!(random.below(9)));
            }
            map
        }
        12 => variants(random, depth - 1),
        14 => {
            let depth = depth.saturating_sub(1);
            let forms = [value(random, depth), value(random, depth)];
            json!({ "anyOf": forms })
        }
        13 => random.pick(&[
            json!({ "x-kubernetes-int-or-string": true }),
            json!({ "x-kubernetes-preserve-unknown-fields": true }),
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
            json!({ "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true }),
        ]),
        _ => random.pick(&[
            json!(true),
            json!({ "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "string" }], "minItems": 2, "maxItems": 2 }),
            json!({ "type": "null" }),
            json!({ "type": "object", "patternProperties": { "^\\d+$": { "type": "string" } }, "additionalProperties": false }),
            json!({ "$ref": "#/components/schemas/Tree" }),
        ]),
    }
}

fn string(random: &mut Random) -> Value {
    let mut schema = json!({ "type": "string" });
    if random.rarely(3) {
        schema = with(schema, "maxLength", json!(random.below(20)));
    }
    if random.rarely(5) {
        schema = with(schema, "minLength", json!(random.below(4)));
    }
    if random.rarely(5) {
        let good = [
            "^[a-z]+$",
            r"^\d{1,3}$",
            "a|b",
            r"\bx\b",
            "[[:alpha:]]",
            r"\p{L}",
            "(?i)a",
            "^a*?b{2}$",
        ];
        let bad = ["^(?!a)", r"(a)\1", "a{2,1}", "a**", "[z-a]", r"\Z"];
        let pattern = if random.errs() {
            random.pick(&bad)
        } else {
            random.pick(&good)
        };
        schema = with(schema, "pattern", json!(pattern));
    }
    if random.rarely(6) {
        let formats = [
            "date-time",
            "ipv4",
            "uuid",
            "byte",
            "date",
            "duration",
            "uri",
            "email",
            "made-up",
        ];
        schema = with(schema, "format", json!(random.pick(&formats)));
    }
    if random.rarely(4) {
        let good = ["self != ''", "self.matches('^a')", "self in ['a']"];
        let bad = [
            "self == oldSelf",
            "self > 3",
            "self.sizes() > 1",
            "this == ''",
        ];
        let plain = schema["format"].is_null();
        let rules: &[&str] = if random.errs() {
            &bad
        } else if plain {
            &good
        } else {
            &["true"]
        };
        schema = ruled(random, schema, rules);
    }
    schema
}

fn integer(random: &mut Random) -> Value {
    let mut schema = json!({ "type": "integer", "format": random.pick(&["int32", "int64", "uint32", "uint8", "int128"]) });
    if random.rarely(3) {
        schema = with(schema, "minimum", json!(random.below(5)));
    }
    if random.rarely(3) {
        schema = with(schema, "maximum", json!(random.below(9)));
    }
    if random.rarely(6) {
        schema = with(schema, "multipleOf", json!(1 + random.below(4)));
    }
    if random.rarely(4) {
        let good = ["self > 3", "self % 2 == 0", "self < 1.5"];
        let bad = ["self == '3'", "self + 1.0 > 2.0", "self", "self == oldSelf"];
        let rules: &[&str] = if random.errs() { &bad } else { &good };
        schema = ruled(random, schema, rules);
    }
    schema
}

fn list(random: &mut Random, depth: usize) -> Value {
    let mut schema = json!({ "type": "array", "items": value(random, depth) });
    if random.rarely(3) {
        schema = with(schema, "maxItems", json!(random.below(9)));
    }
    match random.below(6) {
        0 if random.errs() || schema["items"]["type"] == "string" => {
            schema = with(schema, "x-kubernetes-list-type", json!("set"));
        }
        1 => schema = with(schema, "x-kubernetes-list-type", json!("atomic")),
        2 if random.errs() || keyed(&schema["items"]) => {
            let mut keys = vec![random.pick(&NAMES[..3])];
            if keyed(&schema["items"]) && !random.errs() {
                keys = vec!["name"];
            } else if random.rarely(4) {
                keys.push(random.pick(&NAMES[..3]));
            }
            schema = with(
                with(schema, "x-kubernetes-list-type", json!("map")),
                "x-kubernetes-list-map-keys",
                json!(keys),
            );
        }
        _ => {}
    }
    if random.rarely(5) {
        let good = [
            "self.size() > 0",
            "self.map(x, x).size() == 1",
            "self.all(x, true)",
        ];
        let bad = [
            "self.all(x, x > 1)",
            "self.all(x, x != '')",
            "self.exists_one(x, x == 'a')",
            "self == oldSelf",
            "self > 1",
        ];
        let rules: &[&str] = if random.errs() { &bad } else { &good };
        schema = ruled(random, schema, rules);
    }
    schema
}

/// Whether the fields contain the most common key.
fn keyed(items: &Value) -> bool {
    let name = &items["properties"]["name"];
    items["required"]
        .as_array()
        .is_some_and(|names| names.contains(&json!("name")))
        && name["type"] == "string"
}

/// An externally tagged enum; with only unit variants it is a string.
fn variants(random: &mut Random, depth: usize) -> Value {
    let variant = |name: &str, inner: Value| json!({ "type": "object", "required": [name], "properties": { (name): inner }, "additionalProperties": false });
    let (a, b) = (value(random, depth), value(random, depth));
    let mut forms = vec![variant("A", a), variant("B", b)];
    if random.errs() {
        forms.push(json!({ "type": "string", "enum": ["C"] }));
    }
    json!({ "oneOf": forms })
}

/// A default, usually a valid one.
fn data(random: &mut Random, schema: &Value) -> Value {
    if random.errs() {
        return random.pick(&[
            json!("x"),
            json!(1),
            json!({}),
            json!([]),
            json!({ "x": 1 }),
            json!(1.5),
            Value::Null,
        ]);
    }
    match schema["type"].as_str() {
        Some("string") if schema["enum"].is_array() => json!("a"),
        Some("string") => json!(random.pick(&[
            "a",
            "",
            "b",
            "10.0.0.1",
            "2026-01-01",
            "aaaaaaaaaaaaaaaaaaaaaaaa"
        ])),
        Some("integer") => json!(random.below(12)),
        Some("number") => json!(0.5),
        Some("boolean") => json!(true),
        Some("array") => {
            let items = &schema["items"];
            let items: Vec<Value> = (0..random.below(3)).map(|_| data(random, items)).collect();
            items.into()
        }
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields: Vec<(String, Value)> = fields
                .map(|(name, field)| (name.clone(), field.clone()))
                .collect();
            let mut map = Map::new();
            for (name, field) in fields {
                if !random.errs() {
                    map.insert(name, data(random, &field));
                }
            }
            map.into()
        }
        _ => json!("a"),
    }
}
