//! Objects that a schema allows are read by its types, and written back the same.

#[path = "../../../rules/src/formats.rs"]
mod formats;
#[path = "../../../testing/src/invented.rs"]
mod invented;
#[path = "../../../testing/src/pattern.rs"]
mod pattern;
#[path = "../../../testing/src/random.rs"]
mod random;

use invented::Inventor;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

const OBJECTS: u64 = 100;

/// Checks 100 random objects of a kind: the first that does not come back, and why.
pub fn check<K: CustomResourceExt + Serialize + DeserializeOwned>() -> Result<(), String> {
    let crd = K::crd();
    for seed in 0..OBJECTS {
        let before = object(&crd, seed);
        let read: K = serde_json::from_value(before.clone())
            .map_err(|error| format!("cannot read: {error}\n{before:#}"))?;
        let mut after = serde_json::to_value(read).map_err(|error| error.to_string())?;
        if before.get("spec").is_none() {
            // It is read with the default of each field.
            after.as_object_mut().map(|after| after.remove("spec"));
        }
        let written = super::compare::difference("", &usual(&before), &usual(&after));
        written.map_or(Ok(()), |difference| {
            Err(format!("{difference}\n{before:#}"))
        })?;
    }
    Ok(())
}

/// An object that the schema allows, often without an optional `spec`.
fn object(crd: &CustomResourceDefinition, seed: u64) -> Value {
    let version = &crd.spec.versions[0];
    let mut schema = json!(
        version
            .schema
            .as_ref()
            .map(|schema| &schema.open_api_v3_schema)
    );
    let required = schema["required"].take();
    let mut object = json!({
        "apiVersion": format!("{}/{}", crd.spec.group, version.name),
        "kind": crd.spec.names.kind,
        "metadata": { "name": "sample" },
    });
    let mut inventor = Inventor::new(seed);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = required
            .as_array()
            .is_some_and(|all| all.contains(&json!(name)));
        if object.get(name).is_none() && (is_required || !seed.is_multiple_of(8)) {
            object[name] = inventor.value(name, property);
        }
    }
    object
}

/// Integers as text, as quantities are written.
fn usual(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.to_string()),
        Value::Array(items) => items.iter().map(usual).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), usual(value)))
                .collect(),
        ),
        other => other.clone(),
    }
}
