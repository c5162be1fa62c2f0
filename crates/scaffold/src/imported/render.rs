//! Types -> the text of a file.

use serde_json::{Value, json};

use super::attributes::{arguments, attribute};
use super::defaults;
use super::definition::{Definition, Version};
use super::functions;
use super::imports::imports;
use super::kind;
use super::model::{Body, Field, Model, Ty, TypeDef};
use super::names::camel;
use super::root::Root;
use super::rules;
use super::shield;
use super::text::{self, WIDTH};
use crate::quote::{is_doc, rust as literal, rust_doc};

/// The file of a version.
pub fn file(definition: &Definition, version: &Version, root: &Root, model: &Model) -> String {
    let (kind, group) = (&definition.kind, &definition.group);
    let about = format!("`{kind}` of `{group}/{}`, from its CRD", version.name);
    let attributes = kind::attributes(definition, version, root);
    let schema = kind::schema(definition, version, root);
    with_head(&about, model, &[attributes, schema])
}

/// The file of the types that several kinds share.
pub fn shared_file(group: &str, version: &str, model: &Model) -> String {
    let about = format!("Types that several kinds of `{group}/{version}` share, from their CRDs");
    with_head(&about, model, &[])
}

/// The file with these types, of which the first may have the attributes and the schema `of_kind`.
fn with_head(about: &str, model: &Model, of_kind: &[String]) -> String {
    let mut body = String::new();
    let own = model.types.iter().filter(|ty| !ty.is_shared);
    for (at, ty) in own.enumerate() {
        let of_kind = if at == 0 { of_kind } else { &[] };
        body.push_str(&type_text(ty, of_kind.first().map_or("", |it| it), model));
        body.push('\n');
        for schema in of_kind.iter().skip(1) {
            body.push_str(schema);
            body.push('\n');
        }
    }
    for function in &model.functions {
        body.push_str(&functions::text(function));
        body.push('\n');
    }
    for default in &model.defaults {
        body.push_str(&defaults::text(default));
        body.push('\n');
    }
    // Descriptions and schemas may say anything.
    let code = text::code(&body);
    let names = code.match_indices(SCHEMA_WITH);
    let names: Vec<&str> = names.map(|(at, it)| &body[at + it.len()..]).collect();
    let is_used = |used: &str| code.contains(used) || names.iter().any(|it| it.starts_with(used));
    let helpers = HELPERS.iter().filter(|(used, _)| is_used(used));
    let helpers: String = helpers.flat_map(|(_, helper)| [*helper, "\n"]).collect();
    body.push_str(&helpers);
    let code = code + &helpers;
    let body = body.trim_end();
    format!("{}{}\n{body}\n", head(about, body), imports(model, &code))
}

/// What the types of a file use, and its text.
const HELPERS: [(&str, &str); 5] = [
    (" merged(", MERGED),
    (" json(", JSON),
    ("\"quantities\"", QUANTITIES),
    ("\"quantit", QUANTITY),
    ("\"int_or_string\"", INT_OR_STRING),
];

/// The argument before the name of a function.
const SCHEMA_WITH: &str = "schema_with = ";

const NOTE: &str = "//!
//! `contains` is not part of the CRD: it keeps kube from rewriting the `anyOf` or `oneOf` beside it.
";

const JSON: &str = "/// A part of a schema that is kept as it was.
fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect(\"valid JSON\")
}
";

const MERGED: &str = "/// The properties of the object: `own`, and those of the struct.
fn merged(mut own: serde_json::Value, fields: &schemars::Schema) -> serde_json::Value {
    let properties = fields
        .pointer(\"/properties\")
        .and_then(serde_json::Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        own[name] = schema.clone();
    }
    own
}
";

const QUANTITIES: &str =
    "fn quantities(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({ \"type\": \"object\", \"additionalProperties\": quantity(generator) })
}
";

const QUANTITY: &str = r#"fn quantity(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "contains": 0,
        "nullable": null,
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        "x-kubernetes-int-or-string": true
    })
}
"#;

const INT_OR_STRING: &str = r#"fn int_or_string(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "contains": 0,
        "nullable": null,
        "x-kubernetes-int-or-string": true
    })
}
"#;

fn head(about: &str, body: &str) -> String {
    let note = if body.contains("\"contains\"") {
        NOTE
    } else {
        ""
    };
    format!(
        "//! {about}.
{note}#![allow(
    clippy::doc_lazy_continuation,
    clippy::doc_link_with_quotes,
    clippy::doc_markdown,
    clippy::doc_nested_refdefs,
    clippy::doc_overindented_list_items,
    clippy::enum_variant_names,
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    clippy::tabs_in_doc_comments,
    clippy::too_many_lines,
    clippy::unreadable_literal,
    rustdoc::bare_urls,
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = \"names, descriptions and schemas are those of the CRD\"
)]

"
    )
}

fn type_text(ty: &TypeDef, attributes: &str, model: &Model) -> String {
    let mut text = String::new();
    let mut overlay = ty.overlay.clone();
    if let Some(docs) = &ty.docs {
        text.push_str(&docs_text(docs, "", &mut overlay));
    }
    let is_struct = matches!(ty.body, Body::Struct { .. });
    let rules = if is_struct {
        rules::of_struct(&mut overlay)
    } else {
        Vec::new()
    };
    let body = match &ty.body {
        Body::Struct { fields, open } => struct_text(&ty.name, fields, *open, model),
        Body::Enum(variants) => enum_text(ty, variants),
    };
    let has_rules = !rules.is_empty() || body.contains("#[x_kube(");
    text.push_str(&derive(ty, !attributes.is_empty(), has_rules));
    text.push_str(attributes);
    if is_struct {
        text.push_str("#[serde(rename_all = \"camelCase\")]\n");
    }
    let schemars = arguments(Vec::new(), &overlay, None, 0);
    text.push_str(&attribute("schemars", &schemars, 0));
    text.push_str(&attribute("x_kube", &rules, 0));
    text + &body
}

fn derive(ty: &TypeDef, is_kind: bool, has_rules: bool) -> String {
    let is_enum = matches!(ty.body, Body::Enum(_));
    let mut traits: Vec<&str> = is_kind.then_some("CustomResource").into_iter().collect();
    traits.push("Clone");
    traits.extend(is_enum.then_some("Copy"));
    traits.extend(["Debug", "Default", "PartialEq"]);
    traits.extend(is_enum.then_some("Eq"));
    traits.extend(["Serialize", "Deserialize"]);
    traits.push(if has_rules {
        "KubeSchema"
    } else {
        "JsonSchema"
    });
    format!("#[derive({})]\n", traits.join(", "))
}

fn enum_text(ty: &TypeDef, variants: &[(String, String)]) -> String {
    // Structs have a default so that tests can leave fields out: that of the schema, or the first value.
    let default = ty.schema.get("default").and_then(|it| it.as_str());
    let default = variants
        .iter()
        .position(|(_, value)| Some(value.as_str()) == default);
    let variants = variants.iter().enumerate().map(|(at, (variant, value))| {
        let mut text = String::new();
        if at == default.unwrap_or_default() {
            text.push_str("    #[default]\n");
        }
        if variant != value {
            text.push_str(&attribute(
                "serde",
                &[format!("rename = {}", literal(value))],
                4,
            ));
        }
        text + "    " + variant + ",\n"
    });
    let name = &ty.name;
    format!("pub enum {name} {{\n{}}}\n", variants.collect::<String>())
}

fn struct_text(name: &str, fields: &[Field], open: bool, model: &Model) -> String {
    let mut parts: Vec<String> = fields
        .iter()
        .map(|field| field_text(field, model))
        .collect();
    if open {
        let mut ident = "other".to_owned();
        while fields.iter().any(|field| field.ident == ident) {
            ident.push_str("_fields");
        }
        parts.push(format!("    /// All other fields.\n    #[schemars(skip)]\n    #[serde(flatten)]\n    pub {ident}: BTreeMap<String, Value>,\n"));
    }
    if parts.is_empty() {
        return format!("pub struct {name} {{}}\n");
    }
    format!("pub struct {name} {{\n{}}}\n", parts.join("\n"))
}

fn field_text(field: &Field, model: &Model) -> String {
    let ty = rust(&field.ty, model);
    let mut overlay = field.overlay.clone();
    let docs = field
        .docs
        .as_deref()
        .map(|docs| docs_text(docs, "    ", &mut overlay))
        .unwrap_or_default();
    let is_option = !field.required || field.nullable;
    let helper = helper(&field.ty);
    let mut known = match field.function.as_deref().or(helper) {
        Some(helper) => vec![format!("schema_with = \"{helper}\"")],
        None if is_option => vec![format!("with = \"{ty}\"")],
        None => Vec::new(),
    };
    if field.default.is_some() {
        // The default of the CRD is in the overlay, and the field stays required.
        known.push("!default".to_owned());
    }
    if helper.is_some() {
        // It has what keeps kube from changing it.
        overlay.retain(|key, value| !(key == shield::NOT_NULLABLE && value.is_null()));
    }
    let rules = rules::of_field(&mut overlay, &field.ty, model);
    let schemars = arguments(known, &overlay, Some(&field.ty), 4);
    let serde = serde(field);
    let ty = if is_option {
        format!("Option<{ty}>")
    } else {
        ty
    };
    let mut line = format!("    pub {}: {ty},\n", field.ident);
    if line.len() > WIDTH + 1 {
        line = format!("    pub {}:\n        {ty},\n", field.ident);
    }
    format!(
        "{docs}{}{}{}{line}",
        attribute("schemars", &schemars, 4),
        attribute("x_kube", &rules, 4),
        attribute("serde", &serde, 4)
    )
}

/// The arguments of `#[serde(…)]`.
fn serde(field: &Field) -> Vec<String> {
    let mut serde = Vec::new();
    if camel(&field.ident) != field.name {
        serde.push(format!("rename = {}", literal(&field.name)));
    }
    if let Some(function) = &field.default {
        serde.push(format!("default = {}", literal(function)));
    }
    if !field.required {
        serde.extend([
            "default".to_owned(),
            "skip_serializing_if = \"Option::is_none\"".to_owned(),
        ]);
    }
    serde
}

/// The function of the file that has the schema of a type of k8s-openapi.
fn helper(ty: &Ty) -> Option<&'static str> {
    match ty {
        Ty::Quantity => Some("quantity"),
        Ty::IntOrString => Some("int_or_string"),
        Ty::Map(values) if **values == Ty::Quantity => Some("quantities"),
        _ => None,
    }
}

/// The documentation; a description that is not fit for it is added to the overlay, with its first paragraph to read.
fn docs_text(docs: &str, indent: &str, overlay: &mut serde_json::Map<String, Value>) -> String {
    if is_doc(docs) {
        return rust_doc(docs, indent);
    }
    overlay.insert("description".to_owned(), json!(docs));
    let first = docs.trim().split("\n\n").next().unwrap_or_default();
    let first = first.trim_end().replace('<', "&lt;");
    if is_doc(&first) {
        rust_doc(&first, indent)
    } else {
        String::new()
    }
}

/// The type as Rust.
pub fn rust(ty: &Ty, model: &Model) -> String {
    match ty {
        Ty::Bool => "bool".to_owned(),
        Ty::I32 => "i32".to_owned(),
        Ty::I64 => "i64".to_owned(),
        Ty::F64 => "f64".to_owned(),
        Ty::Text => "String".to_owned(),
        Ty::IntOrString => "IntOrString".to_owned(),
        Ty::Quantity => "Quantity".to_owned(),
        Ty::Any => "Value".to_owned(),
        Ty::List(items) => format!("Vec<{}>", rust(items, model)),
        Ty::Map(values) => format!("BTreeMap<String, {}>", rust(values, model)),
        Ty::Known(known) if model.imported.contains(known) => known.name().to_owned(),
        Ty::Known(known) => known.path(),
        Ty::Own(at) => model.types[*at].name.clone(),
    }
}
