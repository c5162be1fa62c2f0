//! What belongs to the kind itself: `#[kube(…)]`, and the schema of its objects.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::attributes::{attribute, value_text};
use super::definition::{Definition, Version};
use super::root::{OBJECT, Root, Shape};
use super::shield;
use super::text;
use crate::quote::rust as literal;
use crate::resource::names;

/// `#[kube(…)]`.
pub fn attributes(definition: &Definition, version: &Version, root: &Root) -> String {
    let set = |key: &str, value: &str| format!("{key} = {}", literal(value));
    let mut all = vec![
        set("group", &definition.group),
        set("version", &version.name),
        set("kind", &definition.kind),
        set("plural", &definition.plural),
        set("singular", &definition.singular),
    ];
    all.extend(
        definition
            .short_names
            .iter()
            .map(|name| set("shortname", name)),
    );
    all.extend(
        definition
            .categories
            .iter()
            .map(|name| set("category", name)),
    );
    all.extend(definition.namespaced.then(|| "namespaced".to_owned()));
    all.extend((root.shape == Shape::Flat).then(|| "no_spec".to_owned()));
    all.extend((!version.storage).then(|| "storage = false".to_owned()));
    all.extend((!version.served).then(|| "served = false".to_owned()));
    all.extend(of_version(definition, version, root));
    attribute("kube", &all, 0)
}

/// The arguments that only some kinds have.
fn of_version(definition: &Definition, version: &Version, root: &Root) -> Vec<String> {
    let set = |key: &str, value: &str| format!("{key} = {}", literal(value));
    let mut all = Vec::new();
    if version.deprecated {
        all.push(version.warning.as_deref().map_or_else(
            || "deprecated".to_owned(),
            |warning| set("deprecated", warning),
        ));
    }
    all.extend(root.status.as_deref().map(|status| set("status", status)));
    all.push(set("derive", "Default"));
    all.push(set("derive", "PartialEq"));
    // kube accepts attributes of serde only in disguise.
    all.extend(is_optional(version, root).then(|| set("attr", "cfg_attr(true, serde(default))")));
    let kind = &definition.kind;
    let article = names::article(kind).replace('a', "A");
    all.push(set("doc", &format!("{article} `{kind}`.")));
    all.push(set("schema", "manual"));
    all.extend(
        definition
            .annotations
            .iter()
            .map(|(key, value)| laid_out_call("annotation", &[literal(key), literal(value)])),
    );
    all.extend(version.scale.as_ref().map(scale));
    all.extend(
        version
            .selectable
            .iter()
            .map(|path| set("selectable", path)),
    );
    all.extend(version.columns.iter().map(column));
    all
}

/// Whether an object without `spec` is read as one with an empty one.
fn is_optional(version: &Version, root: &Root) -> bool {
    let required = version.schema.get("required").and_then(Value::as_array);
    root.shape == Shape::Spec && !required.is_some_and(|names| names.contains(&json!("spec")))
}

fn scale(scale: &Value) -> String {
    let keys = [
        ("specReplicasPath", "spec_replicas_path"),
        ("statusReplicasPath", "status_replicas_path"),
        ("labelSelectorPath", "label_selector_path"),
    ];
    call("scale", scale, &keys)
}

fn column(column: &Value) -> String {
    let keys = [
        ("name", "name"),
        ("type", "type_"),
        ("jsonPath", "json_path"),
        ("description", "description"),
        ("format", "format"),
        ("priority", "priority"),
    ];
    call("printcolumn", column, &keys)
}

fn call(name: &str, value: &Value, keys: &[(&str, &str)]) -> String {
    let arguments = keys.iter().filter_map(|(key, rust)| {
        let value = value.get(key).filter(|value| {
            let is_scalar = value.is_string() || value.is_i64();
            is_scalar && **value != json!("") && (*key != "priority" || **value != json!(0))
        })?;
        Some(format!("{rust} = {}", text::json(value)))
    });
    let arguments: Vec<String> = arguments.collect();
    laid_out_call(name, &arguments)
}

fn laid_out_call(name: &str, arguments: &[String]) -> String {
    let line = arguments.join(", ");
    if line.len() <= 70 {
        return format!("{name}({line})");
    }
    format!("{name}(\n        {}\n    )", arguments.join(",\n        "))
}

/// The schema of the objects, which kube would otherwise derive.
pub fn schema(definition: &Definition, version: &Version, root: &Root) -> String {
    let kind = &definition.kind;
    let body = object_schema(version, root);
    let generator = if text::code(&body).contains("generator") {
        "generator"
    } else {
        "_"
    };
    format!(
        "/// The schema of the CRD.
impl JsonSchema for {kind} {{
    fn schema_name() -> std::borrow::Cow<'static, str> {{
        \"{kind}\".into()
    }}

    fn json_schema({generator}: &mut schemars::SchemaGenerator) -> schemars::Schema {{
{body}    }}
}}
"
    )
}

/// The schema of the object without the properties that have types.
fn own(version: &Version) -> Map<String, Value> {
    let mut own: Map<String, Value> = version
        .schema
        .iter()
        .map(|(key, value)| (key.clone(), shield::shielded(key, value)))
        .collect();
    own.remove("properties");
    own.entry("title").or_insert(Value::Null);
    shield::shield(&mut own);
    own
}

fn object_schema(version: &Version, root: &Root) -> String {
    let properties = version.schema.get("properties").and_then(Value::as_object);
    let lines = properties.into_iter().flatten().map(|(name, schema)| {
        let before = format!("{}: ", literal(name));
        let value = property(name, schema, version, root, before.len());
        format!("                {before}{value}")
    });
    let lines: Vec<String> = lines.collect();
    let mut text = String::new();
    if lines.iter().any(|line| is_field(line)) {
        let (fields, _) = &root.types[0];
        let _ = writeln!(
            text,
            "        let fields = {fields}::json_schema(generator);"
        );
    }
    text.push_str("        json_schema!({\n");
    for (key, value) in own(version) {
        let before = format!("{}: ", literal(&key));
        let value = value_text(&value, 12, before.len() + 1);
        let _ = writeln!(text, "            {before}{value},");
    }
    text.push_str(&properties_text(&lines));
    text.push_str("        })\n");
    text
}

/// More would exceed the recursion limit of `json_schema!`.
const MOST_FIELDS: usize = 14;

/// The properties of the object, a line each.
fn properties_text(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    if lines.len() <= MOST_FIELDS {
        return format!(
            "            \"properties\": {{\n{}\n            }}\n",
            lines.join(",\n")
        );
    }
    let own = lines.iter().filter(|line| !is_field(line));
    let own: Vec<&str> = own.map(String::as_str).collect();
    let own = own.join(",\n");
    format!(
        "            \"properties\": merged(serde_json::json!({{\n{own}\n            }}), &fields)\n"
    )
}

/// Whether a property is that of a field of the struct.
fn is_field(line: &str) -> bool {
    text::code(line).contains("fields.pointer(")
}

/// The schema of a field of the object.
fn property(name: &str, schema: &Value, version: &Version, root: &Root, before: usize) -> String {
    match (name, root.types.get(1)) {
        ("spec", _) if root.shape == Shape::Spec => {
            format!("{}::json_schema(generator)", root.types[0].0)
        }
        ("status", Some((status, _))) if version.has_status => {
            format!("{status}::json_schema(generator)")
        }
        _ if OBJECT.contains(&name) || name == "status" && version.has_status => {
            value_text(&shield::shielded("not", schema), 16, before + 1)
        }
        _ => {
            let pointer = format!("/properties/{}", name.replace('~', "~0").replace('/', "~1"));
            format!("fields.pointer({})", literal(&pointer))
        }
    }
}
