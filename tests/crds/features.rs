//! What a CRD has that an import could get wrong.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use kbr_scaffold::imported::{Definition, Version};

/// The features of a CRD, by name.
pub fn features(crd: &Value, definition: &Definition) -> BTreeSet<&'static str> {
    places(crd, definition)
        .into_iter()
        .map(|(_, feature)| feature)
        .collect()
}

/// The features of a CRD, and the paths of the schemas that have them.
pub fn places(crd: &Value, definition: &Definition) -> BTreeSet<(String, &'static str)> {
    let features = of_definition(&crd["spec"], definition).into_iter();
    let mut found: BTreeSet<_> = features.map(|feature| (String::new(), feature)).collect();
    for version in &definition.versions {
        let root = Value::Object(version.schema.clone());
        let name = &version.name;
        found.extend(
            of_root(&root)
                .into_iter()
                .map(|feature| (name.clone(), feature)),
        );
        visit(name, &root, &mut |path, schema| {
            found.extend(
                of_schema(schema)
                    .into_iter()
                    .map(|feature| (path.to_owned(), feature)),
            );
        });
    }
    found
}

type Row = (&'static str, bool);

fn of_definition(spec: &Value, definition: &Definition) -> BTreeSet<&'static str> {
    let versions = &definition.versions;
    let rows: [Row; 12] = [
        ("several versions", versions.len() > 1),
        (
            "conversion webhook",
            spec["conversion"]["strategy"] == json!("Webhook"),
        ),
        (
            "scale",
            versions.iter().any(|version| version.scale.is_some()),
        ),
        ("status field", versions.iter().any(has_status_field)),
        (
            "selectable fields",
            versions
                .iter()
                .any(|version| !version.selectable.is_empty()),
        ),
        (
            "deprecated",
            versions.iter().any(|version| version.deprecated),
        ),
        (
            "columns",
            versions.iter().any(|version| !version.columns.is_empty()),
        ),
        ("cluster scope", !definition.namespaced),
        ("short names", !definition.short_names.is_empty()),
        ("categories", !definition.categories.is_empty()),
        ("annotations", !definition.annotations.is_empty()),
        (
            "lower-case kind",
            definition
                .kind
                .starts_with(|first: char| first.is_ascii_lowercase()),
        ),
    ];
    chosen(&rows)
}

/// Whether the status is not a sub-resource.
fn has_status_field(version: &Version) -> bool {
    let fields = version.schema.get("properties");
    !version.has_status && fields.is_some_and(|fields| fields["status"].is_object())
}

fn of_root(root: &Value) -> BTreeSet<&'static str> {
    let fields = root["properties"].as_object();
    let known = ["apiVersion", "kind", "metadata", "spec", "status"];
    let is_other = |name: &&String| !known.contains(&name.as_str());
    let rows: [Row; 4] = [
        ("preserve-unknown at the root", is_true(root, OPEN)),
        (
            "other root fields",
            fields.is_some_and(|fields| fields.keys().any(|name| is_other(&name))),
        ),
        (
            "no spec",
            fields.is_some_and(|fields| !fields.contains_key("spec")),
        ),
        (
            "rules at the root",
            root.get("x-kubernetes-validations").is_some(),
        ),
    ];
    chosen(&rows)
}

const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

fn of_schema(schema: &Value) -> BTreeSet<&'static str> {
    let mut found = of_values(schema);
    let has = |key: &str| schema.get(key).is_some();
    let is_either = is_true(schema, EITHER);
    found.extend(chosen(&[
        ("CEL", has("x-kubernetes-validations")),
        ("list type", has("x-kubernetes-list-type")),
        ("map type", has("x-kubernetes-map-type")),
        ("int-or-string", is_either),
        ("preserve-unknown", is_true(schema, OPEN)),
        (
            "preserve-unknown beside fields",
            is_true(schema, OPEN) && has("properties"),
        ),
        ("embedded resource", is_true(schema, RESOURCE)),
        ("nullable", is_true(schema, "nullable")),
        ("oneOf", has("oneOf")),
        ("anyOf", has("anyOf") && !is_either),
        ("allOf", has("allOf")),
        ("not", has("not")),
        ("odd names", field_names(schema).any(|name| !is_plain(name))),
        ("colliding names", collide(schema)),
    ]));
    found
}

/// The features of a schema that limit its values.
fn of_values(schema: &Value) -> BTreeSet<&'static str> {
    let has = |key: &str| schema.get(key).is_some();
    let values = || schema["enum"].as_array().into_iter().flatten();
    let format = schema["format"].as_str().unwrap_or_default();
    let is_format = !["", "int32", "int64", "date-time"].contains(&format);
    chosen(&[
        ("default", has("default")),
        ("pattern", has("pattern") && !is_true(schema, EITHER)),
        ("enum", has("enum")),
        ("enum with \"\"", values().any(|value| *value == json!(""))),
        ("integer enum", values().any(Value::is_number)),
        ("bounds of numbers", has("minimum") || has("maximum")),
        ("bounds of lengths", LENGTHS.into_iter().any(has)),
        ("format", is_format),
        ("number", schema["type"] == json!("number")),
    ])
}

const EITHER: &str = "x-kubernetes-int-or-string";
const RESOURCE: &str = "x-kubernetes-embedded-resource";
const LENGTHS: [&str; 6] = [
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
];

fn chosen(rows: &[Row]) -> BTreeSet<&'static str> {
    rows.iter()
        .filter(|(_, is)| *is)
        .map(|(name, _)| *name)
        .collect()
}

fn is_true(schema: &Value, key: &str) -> bool {
    schema[key] == json!(true)
}

fn field_names(schema: &Value) -> impl Iterator<Item = &String> {
    schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
}

/// Whether a name is `camelCase`, of letters and digits.
fn is_plain(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// Whether two fields have the same letters.
fn collide(schema: &Value) -> bool {
    let mut seen = BTreeSet::new();
    let letters = |name: &String| name.to_lowercase().replace(['_', '-', '.'], "");
    field_names(schema).any(|name| !seen.insert(letters(name)))
}

/// Calls `f` for each schema in `schema`, itself included, with its path.
fn visit(path: &str, schema: &Value, f: &mut impl FnMut(&str, &Value)) {
    f(path, schema);
    for key in ["items", "additionalProperties", "not"] {
        if schema[key].is_object() {
            visit(&format!("{path}/{key}"), &schema[key], f);
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (at, branch) in schema[key].as_array().into_iter().flatten().enumerate() {
            visit(&format!("{path}/{key}/{at}"), branch, f);
        }
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        visit(&format!("{path}/{name}"), field, f);
    }
}
