//! Random objects of a CRD, the same in every run.

#[allow(dead_code, reason = "the linter uses the rest")]
#[path = "../../crates/rules/src/formats.rs"]
mod formats;
#[allow(dead_code, reason = "kbr-testing uses the rest")]
#[path = "../../crates/testing/src/invented.rs"]
mod invented;
#[path = "../../crates/testing/src/pattern.rs"]
mod pattern;
#[path = "../../crates/testing/src/random.rs"]
mod random;

use serde_json::{Value, json};

use super::collection::Entry;
use invented::Inventor;
use random::Random;

/// An object that the schema of a version probably allows, often without an optional `spec`.
pub fn object(entry: &Entry, version: usize, seed: u64) -> Value {
    let version = &entry.definition.versions[version];
    let mut schema = Value::Object(version.schema.clone());
    if schema["properties"]["spec"].is_object() {
        // Types drop other fields beside `spec`, and the command prints a note.
        schema["x-kubernetes-preserve-unknown-fields"] = Value::Null;
    }
    let mut object = json!({
        "apiVersion": format!("{}/{}", entry.definition.group, version.name),
        "kind": entry.definition.kind,
        "metadata": { "name": "sample" },
    });
    let mut inventor = Inventor::new(seed);
    let required = schema["required"].as_array();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = required.is_some_and(|all| all.contains(&json!(name)));
        if object.get(name).is_none() && (is_required || !seed.is_multiple_of(8)) {
            object[name] = inventor.value(name, property);
        }
    }
    widen(&mut object, &schema, &mut Random::new(seed));
    object
}

/// Adds what few objects have: fields that the schema does not name where it allows them, and large integers.
fn widen(object: &mut Value, schema: &Value, random: &mut Random) {
    match object {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                let property = &schema["properties"][name];
                let values = &schema["additionalProperties"];
                let below = if property.is_object() {
                    property
                } else {
                    values
                };
                if below.is_object() && !["apiVersion", "kind", "metadata"].contains(&name.as_str())
                {
                    widen(value, below, random);
                }
            }
            let is_resource = schema["x-kubernetes-embedded-resource"] == json!(true);
            if is_resource {
                fields.insert("apiVersion".to_owned(), json!("v1"));
                fields.insert("kind".to_owned(), json!("Thing"));
            }
            let is_open = schema["x-kubernetes-preserve-unknown-fields"] == json!(true);
            if is_open && random.below(3) == 0 {
                fields.insert(format!("x{}", random.word()), anything(random));
            }
        }
        Value::Array(items) => {
            for item in items {
                widen(item, &schema["items"], random);
            }
        }
        Value::Number(_) if is_unbounded(schema) && random.below(4) == 0 => {
            *object = json!(5_000_000_000_u64 + random.below(1000) as u64);
        }
        _ => {}
    }
}

/// Whether integers may be larger than 32 bits.
fn is_unbounded(schema: &Value) -> bool {
    let has = |key: &str| schema.get(key).is_some();
    schema["type"] == json!("integer")
        && !["maximum", "multipleOf", "enum"].into_iter().any(has)
        && !["int32", "uint32"].contains(&schema["format"].as_str().unwrap_or_default())
}

fn anything(random: &mut Random) -> Value {
    match random.below(5) {
        0 => json!(random.small()),
        1 => json!(random.word()),
        2 => json!({ random.word(): [random.chance(), 0.5] }),
        3 => json!([{ "a": random.word() }]),
        _ => json!(random.chance()),
    }
}
