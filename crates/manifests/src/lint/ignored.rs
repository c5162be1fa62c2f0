//! Attributes that have no effect on the CRD, although the code suggests that they do.

use crd_lint::{Finding, Severity, schemas};
use serde_json::Value;

use crate::allow::IGNORED_ATTRIBUTE;
use crate::crd::Crd;
use crate::source_map::{ExpectedKeyword, SourceMap};

/// The attributes of a kind that left no keyword in its definition.
pub fn check(crd: &Crd, map: &SourceMap) -> Vec<Finding> {
    let mut found = Vec::new();
    for version in crd.versions() {
        let name = version["name"].as_str().unwrap_or_default();
        for (path, schema) in schemas(&version["schema"]["openAPIV3Schema"]) {
            let Some(field) = map.locate(&crd.kind, name, &path).field else {
                continue;
            };
            let ignored = field.expected.iter().filter(|it| is_ignored(schema, it));
            found.extend(ignored.map(|expected| Finding {
                id: IGNORED_ATTRIBUTE,
                severity: Severity::Error,
                version: Some(name.to_owned()),
                path: path.clone(),
                message: format!("`{}` has no effect on the CRD", expected.attribute),
                helps: vec![help(schema, expected)],
            }));
        }
    }
    found
}

fn is_ignored(schema: &Value, expected: &ExpectedKeyword) -> bool {
    let nullable = schema["nullable"] == true;
    let denied = expected.attribute.contains("\"nullable\"") && nullable;
    let effective = expected.keywords.iter().any(|key| has(schema, key)) && !denied;
    // `extend("nullable" = false)` is the default.
    let same = expected.keywords == ["nullable"] && !nullable;
    !effective && !same
}

/// Whether a schema has a keyword; `items/pattern` is a keyword of its items.
fn has(schema: &Value, keyword: &str) -> bool {
    let found = schema.pointer(&format!("/{keyword}"));
    found.is_some_and(|value| !value.is_null())
}

fn help(schema: &Value, expected: &ExpectedKeyword) -> String {
    let is_map = schema["type"] == "object" && !schema["additionalProperties"].is_null();
    let first = expected.keywords.first().map_or("", String::as_str);
    match first {
        "minLength" if is_map => "the length of a map is `#[schemars(extend(\"maxProperties\" = …))]`, or `minProperties`".to_owned(),
        inner if inner.starts_with("items/") => "`inner` applies to the items of a list, and its content must suit their type".to_owned(),
        "minLength" => "only strings and lists have a length".to_owned(),
        "minimum" => "only numbers have a range".to_owned(),
        "pattern" => "only strings have a pattern; for the items of a list, `#[schemars(inner(regex(pattern = \"…\")))]`".to_owned(),
        "x-kubernetes-map-type" => "use `MapMerge::Atomic`, which works for structs, too".to_owned(),
        "nullable" => "for an `Option` that cannot be null, `#[schemars(with = \"T\")]` beside `#[serde(default, skip_serializing_if = \"Option::is_none\")]`".to_owned(),
        "uniqueItems" => "use `#[x_kube(merge_strategy = ListMerge::Set)]`".to_owned(),
        other => format!("remove `{other}`: CRDs do not have that keyword, or it was replaced"),
    }
}
