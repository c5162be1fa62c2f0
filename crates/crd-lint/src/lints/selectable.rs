//! Selectable fields, by which clients filter lists.

use serde_json::{Value, json};

use crate::definition::{Definition, schema};
use crate::lint::Hit;
use crate::path;

/// As many as the API server allows.
const MOST: usize = 8;

/// The paths of the selectable fields of a version.
fn paths(version: &Value) -> impl Iterator<Item = &str> {
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    fields.map(|field| field["jsonPath"].as_str().unwrap_or_default())
}

/// A selectable field is a scalar of `spec` or `status`, reached without lists.
pub fn check(version: &Value, found: &mut Vec<Hit>) {
    let schema = schema(version);
    let mut seen = Vec::new();
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
        if seen.contains(&path) {
            error("is named twice", "name each field once");
        }
        seen.push(path);
        if path.starts_with(".metadata.") || path.contains(['[', '\\']) {
            error(
                "is none of `spec` or `status` that can be reached without an index",
                "select by a label instead",
            );
            continue;
        }
        let mut steps = path
            .strip_prefix('.')
            .into_iter()
            .flat_map(|rest| rest.split('.'));
        // A path that names no field is reported already.
        let Some(found) = steps.try_fold(schema, |schema, step| schema["properties"].get(step))
        else {
            if !schema["properties"].is_null() && preserved(schema, path) {
                error(
                    "is in a part without a schema",
                    "give the field a type of its own",
                );
            }
            continue;
        };
        if !["string", "boolean", "integer"].contains(&found["type"].as_str().unwrap_or_default()) {
            error(
                "is neither a string nor an integer nor a bool",
                "select by another field",
            );
        }
    }
}

/// Whether there are more of them than the API server allows.
pub fn limit(version: &Value, found: &mut Vec<Hit>) {
    let count = paths(version).count();
    if count > MOST {
        let text = format!("{count} selectable fields are more than the {MOST} that may be");
        found.push(Hit::new("", text, "leave some out"));
    }
}

/// Whether the path leads into something that has no fields of its own.
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

/// Whether all versions have the same selectable fields and different schemas: kube-apiserver (up to 1.36 at least)
/// rejects that, with a message about a field that is not there.
pub fn same_in_versions_that_differ(definition: &Definition, found: &mut Vec<Hit>) {
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
        "leave `selectable` out of `#[kube(…)]` of one version",
    ));
}
