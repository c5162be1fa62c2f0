//! Values that both servers judge by the same schemas: those of a table, whose verdicts are kept for the tests of apiserver-rules, and
//! random ones.

use std::collections::BTreeSet;

use hyper::Method;
use kbr_testing::FakeApi;
use kube::Client;
use serde_json::{Map, Value, json};

use crate::{agree::agree, random::Random, talk};

/// The table: schemas, each with values, and what a real API server makes of them.
const TABLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../rules/tests/verdicts/verdicts.json"
);

/// A definition of a kind with a field `c0`, `c1`… for each schema.
fn definition(kind: &str, schemas: &[Value]) -> Value {
    let fields = schemas.iter().enumerate();
    let fields: Map<_, _> = fields
        .map(|(at, schema)| (format!("c{at}"), schema.clone()))
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{kind}s.{kind}.example.com")},
        "spec": {
            "group": format!("{kind}.example.com"), "scope": "Namespaced",
            "names": {"kind": kind, "plural": format!("{kind}s"), "singular": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": fields}},
            }}}],
        },
    })
}

/// What a server makes of a value of the field `at`: `{"stored": …}`, or `{"causes": […]}`, each with its field. The field is named `x`.
async fn verdict(client: &Client, kind: &str, at: usize, value: &Value) -> Value {
    let field = format!("c{at}");
    let object = json!({
        "apiVersion": format!("{kind}.example.com/v1"), "kind": kind, "metadata": {"generateName": "a-"},
        "spec": {&field: value},
    });
    let path = format!("/apis/{kind}.example.com/v1/namespaces/default/{kind}s");
    let (code, answer, _) =
        talk::send(client, &Method::POST, &path, "application/json", &object).await;
    match code {
        201 => match answer["spec"].get(&field) {
            Some(stored) => json!({"stored": stored}),
            None => json!({}),
        },
        422 => {
            let causes = answer["details"]["causes"].as_array().into_iter().flatten();
            let part = |cause: &Value, key: &str| {
                let text = cause[key].as_str().unwrap_or_default();
                text.replace(&format!("spec.{field}"), "x")
            };
            let text =
                |cause: &Value| format!("{}: {}", part(cause, "field"), part(cause, "message"));
            let causes: BTreeSet<_> = causes.map(text).collect();
            json!({"causes": causes})
        }
        _ => json!({"code": code, "message": answer["message"]}),
    }
}

pub async fn table_is_judged_the_same() {
    let client = Client::try_default().await.unwrap();
    let text = std::fs::read_to_string(TABLE).unwrap();
    let mut table: Vec<Value> = serde_json::from_str(&text).unwrap();
    let schemas: Vec<Value> = table.iter().map(|row| row["schema"].clone()).collect();
    talk::install(&client, &definition("judged", &schemas)).await;
    let fake = FakeApi::new();
    fake.define(&definition("judged", &schemas));
    let (mut stale, mut differ) = (Vec::new(), Vec::new());
    for (at, row) in table.iter_mut().enumerate() {
        let schema = row["schema"].clone();
        for case in row["cases"].as_array_mut().unwrap() {
            let real = verdict(&client, "judged", at, &case["value"]).await;
            let ours = verdict(&fake.client(), "judged", at, &case["value"]).await;
            if !agree(&schema, &real, &ours) {
                differ.push(format!(
                    "{schema} {}:\n  real {real}\n  fake {ours}",
                    case["value"]
                ));
            }
            if case["verdict"] != real {
                stale.push(format!("{schema} {}: {real}", case["value"]));
            }
            case["verdict"] = real;
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        let rows: Vec<String> = table.iter().map(Value::to_string).collect();
        std::fs::write(TABLE, format!("[\n{}\n]\n", rows.join(",\n"))).unwrap();
    } else {
        assert!(stale.is_empty(), "{TABLE}:\n{}", stale.join("\n"));
    }
    assert!(
        differ.is_empty(),
        "{} differ:\n{}",
        differ.len(),
        differ.join("\n")
    );
}

/// Random schemas and values. `KBR_JUDGED` is how many schemas, `KBR_JUDGED_SEED` where they begin.
pub async fn random_values_are_judged_the_same() {
    let number =
        |name: &str, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let mut random = Random::new(number("KBR_JUDGED_SEED", 1));
    let schemas: Vec<Value> = (0..number("KBR_JUDGED", 120))
        .map(|_| schema(&mut random, 2))
        .collect();
    let client = Client::try_default().await.unwrap();
    let definition = definition("guessed", &schemas);
    talk::install(&client, &definition).await;
    let fake = FakeApi::new();
    fake.define(&definition);
    let mut differ = Vec::new();
    for (at, schema) in schemas.iter().enumerate() {
        for _ in 0..8 {
            let value = value(&mut random, schema);
            let real = verdict(&client, "guessed", at, &value).await;
            let ours = verdict(&fake.client(), "guessed", at, &value).await;
            if !agree(schema, &real, &ours) {
                differ.push(format!("{schema} {value}:\n  real {real}\n  fake {ours}"));
            }
        }
    }
    assert!(
        differ.is_empty(),
        "{} differ:\n{}",
        differ.len(),
        differ.join("\n")
    );
}

impl Random {
    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

const NAMES: [&str; 3] = ["a", "b", "k"];

/// A schema that an API server accepts, with so many levels below it.
fn schema(random: &mut Random, levels: usize) -> Value {
    let kinds = if levels == 0 { 5 } else { 9 };
    let mut schema = match random.below(kinds) {
        0 => text(random),
        1 => number(random, "integer", &json!([1, 2, 4])),
        2 => number(random, "number", &json!([1, 2.5, 0.3])),
        3 => json!({"type": "boolean"}),
        4 => json!({"x-kubernetes-int-or-string": true}),
        5 | 6 => object(random, levels),
        7 => {
            let values = schema(random, levels - 1);
            let mut map = json!({"type": "object", "additionalProperties": values});
            bounds(random, &mut map, "minProperties", "maxProperties");
            map
        }
        _ => list(random, levels),
    };
    if random.one_in(5) {
        schema["nullable"] = json!(true);
    }
    if random.one_in(8) {
        let part = json!([{"minimum": 2}, {"maxLength": 1}, {"required": ["a"]}, {"maximum": 1}, {"enum": ["a", 1]}]);
        let mut parts = || random.pick(part.as_array().unwrap()).clone();
        let (one, other) = (parts(), parts());
        match random.below(4) {
            0 => schema["anyOf"] = json!([one, other]),
            1 => schema["oneOf"] = json!([one, other]),
            2 => schema["allOf"] = json!([one]),
            _ => schema["not"] = one,
        }
    }
    schema
}

fn bounds(random: &mut Random, schema: &mut Value, least: &str, most: &str) {
    if random.one_in(3) {
        schema[least] = json!(random.below(3));
    }
    if random.one_in(3) {
        schema[most] = json!(1 + random.below(3));
    }
}

fn text(random: &mut Random) -> Value {
    let mut schema = json!({"type": "string"});
    bounds(random, &mut schema, "minLength", "maxLength");
    match random.below(6) {
        0 => schema["pattern"] = json!(random.pick(&["^a+$", "b|10", r"^\d+$"])),
        1 => schema["enum"] = json!(["a", "ab", ""]),
        2 => schema["format"] = json!(random.pick(&["ipv4", "date", "int32", "cidr", "nothing"])),
        _ => {}
    }
    schema
}

fn number(random: &mut Random, kind: &str, known: &Value) -> Value {
    let mut schema = json!({"type": kind});
    for (key, exclusive) in [
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ] {
        if random.one_in(3) {
            schema[key] = random
                .pick(&[
                    json!(1),
                    json!(2),
                    json!(0.5),
                    json!(1_000_000),
                    json!(5_000_000_000_i64),
                ])
                .clone();
            if random.one_in(3) {
                schema[exclusive] = json!(true);
            }
        }
    }
    if random.one_in(3) {
        schema["multipleOf"] = random
            .pick(&[json!(2), json!(0.1), json!(1.5), json!(3)])
            .clone();
    }
    if random.one_in(4) {
        schema["enum"] = known.clone();
    }
    if random.one_in(3) {
        schema["format"] = json!(random.pick(&["int32", "int64", "float", "double"]));
    }
    schema
}

fn object(random: &mut Random, levels: usize) -> Value {
    let fields = NAMES.iter().filter(|_| !random.one_in(3));
    let fields: Vec<&str> = fields.copied().collect();
    let fields: Map<_, _> = fields
        .into_iter()
        .map(|name| (name.to_owned(), schema(random, levels - 1)))
        .collect();
    let mut schema = json!({"type": "object", "properties": fields});
    if random.one_in(3) {
        schema["required"] = json!([random.pick(&NAMES)]);
    }
    if random.one_in(4) {
        schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    if random.one_in(6) {
        schema["x-kubernetes-embedded-resource"] = json!(true);
        schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    bounds(random, &mut schema, "minProperties", "maxProperties");
    schema
}

fn list(random: &mut Random, levels: usize) -> Value {
    let items = match random.below(3) {
        0 => schema(random, levels - 1),
        1 => random
            .pick(&[
                json!({"type": "string"}),
                json!({"type": "number"}),
                json!({"x-kubernetes-int-or-string": true}),
            ])
            .clone(),
        _ => json!({"type": "object", "required": ["k"], "properties": {
            "k": {"type": "string"}, "a": schema(random, levels - 1),
        }}),
    };
    let mut schema = json!({"type": "array"});
    if items["required"][0] == "k" {
        schema["x-kubernetes-list-type"] = json!("map");
        schema["x-kubernetes-list-map-keys"] = json!(["k"]);
    } else if items["properties"].is_null()
        && items["items"].is_null()
        && items["additionalProperties"].is_null()
        && items["nullable"] != true
    {
        schema["x-kubernetes-list-type"] = json!(random.pick(&["set", "atomic"]));
    }
    schema["items"] = items;
    bounds(random, &mut schema, "minItems", "maxItems");
    schema
}

/// A value, often of the type of a schema.
fn value(random: &mut Random, schema: &Value) -> Value {
    let all = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(1.0),
        json!(1.5),
        json!(2),
        json!(-3),
        json!(4),
        json!(0.3),
        json!(97),
        json!(2.0),
        json!(3_000_000_000_i64),
        json!(1_000_001),
        json!(1e7),
        json!(""),
        json!("a"),
        json!("ab"),
        json!("aab"),
        json!("10.0.0.1"),
        json!("2026-01-01"),
        json!("é"),
        json!({}),
        json!([]),
        json!({"a": 1}),
        json!(["a", "a"]),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "x": 1}}),
    ];
    if random.one_in(6) {
        return random.pick(&all).clone();
    }
    if let Some(known) = schema["enum"].as_array().filter(|_| random.one_in(2)) {
        return random.pick(known).clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let mut fields = Map::new();
            for name in NAMES {
                if random.one_in(3) {
                    continue;
                }
                let known = match schema["properties"].get(name) {
                    Some(known) => known,
                    None if random.one_in(2) || schema["additionalProperties"].is_object() => {
                        &schema["additionalProperties"]
                    }
                    None => continue,
                };
                fields.insert(name.to_owned(), value(random, known));
            }
            if schema["x-kubernetes-embedded-resource"] == true {
                fields.extend([("kind".to_owned(), json!(random.pick(&["Pod", ""])))]);
                if !random.one_in(4) {
                    fields.extend([("apiVersion".to_owned(), json!("v1"))]);
                }
            }
            fields.into()
        }
        Some("array") => (0..random.below(4))
            .map(|_| value(random, &schema["items"]))
            .collect(),
        Some("string") => random.pick(&all[15..22]).clone(),
        Some("integer" | "number") => random.pick(&all[2..15]).clone(),
        Some("boolean") => json!(random.one_in(2)),
        _ => random.pick(&all[2..22]).clone(),
    }
}
