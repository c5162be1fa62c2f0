//! Names and paths of `#[kube(…)]`.

use serde_json::{Value, json};

use super::Finding;
use crate::manifests::crd::Crd;

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "int32",
    "int64",
    "float",
    "double",
    "byte",
    "date",
    "date-time",
    "password",
];
/// As many as the API server allows.
const SELECTABLE: usize = 8;

/// Whether the names of a kind and one of its versions are some that Kubernetes takes.
pub fn check(crd: &Crd, version: &Value, found: &mut Vec<Finding>) {
    group(crd, found);
    let names = &crd.object["spec"]["names"];
    let mut label = |what: &str, name: &str| {
        if !is_label(name) {
            let text = format!(
                "{what} `{name}` is no name: `a` to `z`, `0` to `9` and `-`, up to 63, beginning with a letter"
            );
            found.push(Finding::error("", text, "change it in `#[kube(…)]`"));
        }
    };
    label("version", version["name"].as_str().unwrap_or_default());
    for (what, key) in [("plural", "plural"), ("singular", "singular")] {
        names[key]
            .as_str()
            .into_iter()
            .for_each(|name| label(what, name));
    }
    label("kind", &crd.kind.to_lowercase());
    for (what, key) in [("short name", "shortNames"), ("category", "categories")] {
        let list = names[key].as_array().into_iter().flatten();
        list.filter_map(Value::as_str)
            .for_each(|name| label(what, name));
    }
    columns(version, found);
    selectable(version, found);
    scale(version, found);
    deprecation(version, found);
}

fn group(crd: &Crd, found: &mut Vec<Finding>) {
    if !crd.group.contains('.') {
        let text = format!("the group `{}` has no dot", crd.group);
        found.push(Finding::error(
            "",
            text,
            "use a domain of yours: `group = \"crew.example.com\"`",
        ));
    }
    let reserved = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|end| crd.group == *end || crd.group.ends_with(&format!(".{end}")));
    if reserved && crd.object["metadata"]["annotations"]["api-approved.kubernetes.io"].is_null() {
        let text = format!("the group `{}` belongs to Kubernetes", crd.group);
        let help = "use a domain of yours, or add `annotation(\"api-approved.kubernetes.io\", \"<URL of the approval>\")` to `#[kube(…)]`";
        found.push(Finding::error("", text, help));
    }
}

/// DNS-1035, as for services.
fn is_label(name: &str) -> bool {
    let tame = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= 63
        && name.bytes().all(tame)
        && name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && !name.ends_with('-')
}

fn columns(version: &Value, found: &mut Vec<Finding>) {
    for column in version["additionalPrinterColumns"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let text = |key: &str| column[key].as_str().unwrap_or_default();
        let (name, kind, format) = (text("name"), text("type"), text("format"));
        let mut one_of = |what: &str, value: &str, all: &[&str]| {
            let text = format!("printer column `{name}`: `{value}` is no {what}");
            found.push(Finding::error(
                "",
                text,
                format!("use one of `{}`", all.join("`, `")),
            ));
        };
        if !COLUMN_TYPES.contains(&kind) {
            one_of("type", kind, &COLUMN_TYPES);
        }
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            one_of("format", format, &COLUMN_FORMATS);
        }
        if name.is_empty() {
            found.push(Finding::error(
                "",
                "a printer column has no name",
                "add `name = \"…\"`",
            ));
        }
    }
}

/// A selectable field is a scalar of `spec` or `status`, reached without lists.
fn selectable(version: &Value, found: &mut Vec<Finding>) {
    let schema = &version["schema"]["openAPIV3Schema"];
    let mut seen = Vec::new();
    for field in version["selectableFields"].as_array().into_iter().flatten() {
        let path = field["jsonPath"].as_str().unwrap_or_default();
        let mut error = |reason: &str, help: &str| {
            found.push(Finding::error(
                "",
                format!("selectable field `{path}` {reason}"),
                help,
            ));
        };
        // Said where it is looked for.
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
        // What names no field is told with its nearest name, together with columns.
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
    if seen.len() > SELECTABLE {
        let text = format!(
            "{} selectable fields are more than the {SELECTABLE} that may be",
            seen.len()
        );
        found.push(Finding::error("", text, "leave some out"));
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

fn scale(version: &Value, found: &mut Vec<Finding>) {
    let scale = &version["subresources"]["scale"];
    if scale.is_null() {
        return;
    }
    let rules: [(&str, &str, &[&str], bool); 3] = [
        ("specReplicasPath", "spec_replicas_path", &[".spec."], true),
        (
            "statusReplicasPath",
            "status_replicas_path",
            &[".status."],
            true,
        ),
        (
            "labelSelectorPath",
            "label_selector_path",
            &[".spec.", ".status."],
            false,
        ),
    ];
    let schema = &version["schema"]["openAPIV3Schema"];
    for (key, attribute, starts, required) in rules {
        let path = scale[key].as_str().unwrap_or_default();
        if path.is_empty() && !required {
            continue;
        }
        if !starts.iter().any(|start| path.starts_with(start)) {
            let text = format!("`scale`: `{path}` is not below `{}`", starts.join("` or `"));
            found.push(Finding::error(
                "",
                text,
                format!("change `{attribute}` in `#[kube(scale(…))]`"),
            ));
        } else if let Some(problem) =
            crate::manifests::paths::unknown(schema, path, &format!("`scale` path `{path}`"))
        {
            found.push(Finding::error(
                "",
                problem.text(),
                format!("change `{attribute}` in `#[kube(scale(…))]`"),
            ));
        }
    }
}

fn deprecation(version: &Value, found: &mut Vec<Finding>) {
    let Some(warning) = version["deprecationWarning"].as_str() else {
        return;
    };
    let mut error = |text: &str| {
        found.push(Finding::error(
            "",
            text,
            "write `deprecated = \"<one line>\"`, or `deprecated` alone",
        ));
    };
    if warning.is_empty() {
        error("the warning of a deprecated version is empty");
    }
    if warning.len() > 256 {
        error("the warning of a deprecated version is longer than 256 bytes");
    }
    if warning.chars().any(char::is_control) {
        error("the warning of a deprecated version has more than one line");
    }
    if version["deprecated"] != json!(true) {
        error("a version that is not deprecated has a warning");
    }
}
