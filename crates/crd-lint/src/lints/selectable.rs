//! Selectable fields, by which clients can filter lists.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::definition::{Definition, schema};
use crate::lint::Hit;
use crate::path;

/// The API server's limit.
const MAX: usize = 8;

/// The paths of the selectable fields of a version.
fn paths(version: &Value) -> impl Iterator<Item = &str> {
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    fields.map(|field| field["jsonPath"].as_str().unwrap_or_default())
}

/// Checks that selectable fields are scalars of `spec` or `status`, outside of lists.
pub fn check(version: &Value, found: &mut Vec<Hit>) {
    let schema = schema(version);
    let mut seen = BTreeSet::new();
    for path in paths(version) {
        let unknown = path::unknown(schema, path, &format!("selectable field `{path}`"));
        found.extend(unknown);
        let mut error = |reason: &str, help: &str| {
            found.push(Hit::new(
                "",
                format!("selectable field `{path}` {reason}"),
                help,
            ));
        };
        if !path.starts_with('.') {
            continue;
        }
        if !seen.insert(path) {
            error("is listed twice", "list each field once");
        }
        if path.starts_with(".metadata.") || path.contains(['[', '\\']) {
            error(
                "is not a field of `spec` or `status` outside of lists",
                "select by a label instead",
            );
            continue;
        }
        let mut steps = path
            .strip_prefix('.')
            .into_iter()
            .flat_map(|rest| rest.split('.'));
        // Paths of unknown fields are already reported.
        let Some(found) = steps.try_fold(schema, |schema, step| schema["properties"].get(step))
        else {
            if !schema["properties"].is_null() && preserved(schema, path) {
                error(
                    "is in a value without a schema",
                    "give the field a specific type",
                );
            }
            continue;
        };
        if !["string", "boolean", "integer"].contains(&found["type"].as_str().unwrap_or_default()) {
            error(
                "is not a string, integer or boolean",
                "select by another field",
            );
        }
    }
}

/// Checks the number of selectable fields.
pub fn limit(version: &Value, found: &mut Vec<Hit>) {
    let count = paths(version).count();
    if count > MAX {
        let text = format!("{count} selectable fields exceed the limit of {MAX}");
        found.push(Hit::new("", text, "remove some of them"));
    }
}

/// Whether the path leads into a value whose fields have no schema.
fn preserved(schema: &Value, path: &str) -> bool {
    let mut schema = schema;
    for step in path.trim_start_matches('.').split('.') {
        match schema["properties"].get(step) {
            Some(next) => schema = next,
            None => {
                return schema["properties"].is_null()
                    || schema["x-kubernetes-preserve-unknown-fields"] == json!(true);
            }
        }
    }
    false
}

/// Reports versions with the same selectable fields but different schemas: kube-apiserver (at least up to 1.37)
/// rejects them, with a message about a field that does not exist.
pub fn same_fields_but_different_schemas(definition: &Definition, found: &mut Vec<Hit>) {
    let [first, others @ ..] = definition.versions() else {
        return;
    };
    let same = |key: &str| others.iter().all(|other| other[key] == first[key]);
    if first["selectableFields"].is_null() || !same("selectableFields") || same("schema") {
        return;
    }
    found.push(Hit::new(
        "",
        "all versions have the same selectable fields but different schemas, which kube-apiserver rejects",
        "remove `selectable` from `#[kube(…)]` of one version",
    ));
}
