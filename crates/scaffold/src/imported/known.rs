//! Objects of a schema that are types of k8s-openapi, such as `Condition` and `PodSpec`.
//!
//! A type is taken only if it reads all that the schema allows and writes the same: it has each field of the schema with a type that
//! fits, and it always writes only fields that each object has. Newer types have more fields than an older CRD, which are never set.
//! That the schema means the type is known from its descriptions, which both have from Go.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::keyword::{OPEN, is_int_or_string, is_open, is_quantity};

/// The types, a line each, which a test of `lint-fixtures` writes.
const TABLE: &str = include_str!("known.txt");

/// A schema with fewer fields could be anything, unless a description says what it is.
const TELLING: usize = 3;

/// Descriptions that begin with so many equal letters are about the same.
const ALIKE: usize = 16;

/// A type of k8s-openapi.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    /// `api.core.v1.PodSpec`.
    name: &'static str,
    fields: BTreeMap<&'static str, KnownField>,
}

#[derive(Debug, PartialEq, Eq)]
struct KnownField {
    /// Whether the type writes the field whatever its value is.
    is_written: bool,
    ty: &'static str,
    /// How its description begins.
    about: &'static str,
}

impl Known {
    /// `PodSpec`.
    pub fn name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// `k8s_openapi::api::core::v1::PodSpec`.
    pub fn path(&self) -> String {
        format!("k8s_openapi::{}", self.name.replace('.', "::"))
    }
}

static TYPES: LazyLock<BTreeMap<&'static str, Known>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let types = lines.filter_map(known).map(|known| (known.name, known));
    types.collect()
});

fn known(line: &'static str) -> Option<Known> {
    let mut words = line.split(' ');
    let name = words.next()?;
    let fields = words.filter_map(|word| {
        let mut parts = word.split('=');
        let (field, ty, about) = (parts.next()?, parts.next()?, parts.next()?);
        let is_written = field.ends_with('!');
        let field = field.trim_end_matches('!');
        Some((
            field,
            KnownField {
                is_written,
                ty,
                about,
            },
        ))
    });
    Some(Known {
        name,
        fields: fields.collect(),
    })
}

/// The type that an object with fields is: of several that fit, the one whose descriptions are most alike.
pub fn find(schema: &Value) -> Option<&'static Known> {
    let candidates = TYPES.values().filter(|known| is(schema, known));
    let candidates = candidates.filter_map(|known| Some((likeness(schema, known)?, known)));
    let best = candidates.max_by_key(|(likeness, known)| (*likeness, Reverse(known.fields.len())));
    best.map(|(_, known)| known)
}

/// How many letters of the descriptions are equal; `None` if most descriptions are about something else.
fn likeness(schema: &Value, known: &Known) -> Option<usize> {
    let fields = schema["properties"].as_object()?;
    let (mut letters, mut equal, mut described) = (0, 0, 0);
    for (name, field) in fields {
        let about = start(field["description"].as_str().unwrap_or_default());
        if about.is_empty() {
            continue;
        }
        described += 1;
        let known = known
            .fields
            .get(name.as_str())
            .map_or("", |known| known.about);
        let pairs = about.chars().zip(known.chars());
        let same = pairs.take_while(|(ours, theirs)| ours == theirs).count();
        equal += usize::from(same >= ALIKE || about == known);
        letters += same;
    }
    let is_described = 2 * equal > described;
    let is_all = described == 0 && fields.len() >= TELLING && fields.len() == known.fields.len();
    (is_described || is_all).then_some(letters)
}

/// The first letters of a description, which rarely change.
fn start(description: &str) -> String {
    let letters = description.chars().filter(char::is_ascii_alphanumeric);
    letters.take(24).collect::<String>().to_lowercase()
}

/// Whether the type reads each object of the schema, and writes it back.
fn is(schema: &Value, known: &Known) -> bool {
    let Some(fields) = schema["properties"].as_object() else {
        return false;
    };
    let is_present = |name: &str| {
        let required = schema["required"].as_array();
        required.is_some_and(|names| names.contains(&json!(name)))
            || fields
                .get(name)
                .is_some_and(|field| field.get("default").is_some())
    };
    let is_kept = |(name, field): (&String, &Value)| {
        let known = known.fields.get(name.as_str());
        known.is_some_and(|known| fits(field, known.ty))
    };
    !is_open(schema)
        && schema.get("additionalProperties").is_none()
        && fields.iter().all(is_kept)
        && known
            .fields
            .iter()
            .all(|(name, field)| !field.is_written || is_present(name))
}

/// Whether values of the schema are those of a type of the table.
fn fits(schema: &Value, ty: &str) -> bool {
    if schema["nullable"] == json!(true) || schema.get("x-kubernetes-embedded-resource").is_some() {
        return false;
    }
    if let Some(items) = ty.strip_prefix("[]") {
        return schema["type"] == json!("array") && fits(&schema["items"], items);
    }
    if let Some(values) = ty.strip_prefix("{}") {
        let inner = &schema["additionalProperties"];
        return schema["type"] == json!("object") && inner.is_object() && fits(inner, values);
    }
    if let Some(known) = TYPES.get(ty) {
        return is(schema, known) || is_empty_object(schema);
    }
    let text = schema["type"].as_str().unwrap_or_default();
    let format = schema["format"].as_str().unwrap_or_default();
    match ty {
        "quantity" => is_quantity(schema),
        "int-or-string" => is_int_or_string(schema) && !is_quantity(schema),
        "date-time" => (text, format) == ("string", "date-time"),
        "int32" | "int64" => (text, format) == ("integer", ty),
        "string" => text == "string" && !["date-time", "byte"].contains(&format),
        "boolean" => text == "boolean",
        _ => false,
    }
}

/// The API server removes all fields of such an object.
fn is_empty_object(schema: &Value) -> bool {
    let has = |key: &str| schema.get(key).is_some();
    schema["type"] == json!("object")
        && !["properties", "additionalProperties", OPEN]
            .into_iter()
            .any(has)
}
