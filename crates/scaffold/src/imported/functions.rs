//! Schemas of fields whose types are k8s-openapi's, as functions of the file.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::attributes::value_text;
use super::collect::{Groups, Role};
use super::known::Known;
use super::model::{Body, Model, Ty};
use super::names::Taken;
use super::node::{Key, Node, key, node};
use super::shield;
use super::text::WIDTH;
use crate::quote::rust as literal;

/// Functions that a file can have anyway.
const TAKEN: [&str; 5] = ["int_or_string", "json", "merged", "quantities", "quantity"];

/// What is said of a field beside its type.
const OF_FIELD: [&str; 8] = [
    "default",
    "maxItems",
    "minItems",
    "nullable",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];

/// The types of k8s-openapi that fields have, by name; without those whose name a type of the file has.
pub fn imported(kind: &str, groups: &Groups) -> Vec<&'static Known> {
    let mut all: Vec<&'static Known> = Vec::new();
    for group in groups.all.iter().filter(|it| it.role != Role::Shared) {
        let fields = group.schema["properties"].as_object();
        all.extend(
            fields
                .into_iter()
                .flatten()
                .filter_map(|(_, field)| known(field)),
        );
    }
    all.sort_by_key(|known| (known.name(), known.path()));
    all.dedup();
    let fixed = groups.all.iter().filter_map(|group| group.name.as_deref());
    let fixed: Vec<&str> = fixed.collect();
    let is_free = |known: &&Known| {
        let mut fixed = fixed.iter().copied();
        known.name() != kind && !fixed.any(|name| name == known.name())
    };
    all.retain(is_free);
    all.dedup_by_key(|known| known.name());
    all
}

/// The type of k8s-openapi that a field is, or is a list or map of.
fn known(schema: &Value) -> Option<&'static Known> {
    match node(schema) {
        Node::Known(found) => Some(found),
        Node::List(inner) | Node::Map(inner) => known(inner),
        _ => None,
    }
}

fn has_known(ty: &Ty) -> bool {
    match ty {
        Ty::Known(_) => true,
        Ty::List(inner) | Ty::Map(inner) => has_known(inner),
        _ => false,
    }
}

/// Adds a function for each different schema of such a field.
pub fn add(groups: &Groups, model: &mut Model) {
    let mut taken = Taken::of(TAKEN);
    let mut known: BTreeMap<Key, String> = BTreeMap::new();
    let Model {
        types, functions, ..
    } = model;
    for (group, ty) in groups.all.iter().zip(types) {
        let Body::Struct { fields, .. } = &mut ty.body else {
            continue;
        };
        for field in fields.iter_mut().filter(|field| has_known(&field.ty)) {
            let schema = group.schema["properties"][&field.name].as_object();
            let schema = schema.cloned().unwrap_or_default();
            let is_of_field = |key: &str| OF_FIELD.contains(&key) || key == "description";
            let (own, mut core): (Map<_, _>, Map<_, _>) =
                schema.into_iter().partition(|(key, _)| is_of_field(key));
            field.overlay = own;
            field.overlay.remove("description");
            shield::shield(&mut core);
            let name = known.entry(key(core.iter())).or_insert_with(|| {
                let name = taken.unique(field.ident.clone());
                functions.push((name.clone(), core));
                name
            });
            field.function = Some(name.clone());
        }
    }
}

/// The text of a function.
pub fn text((name, schema): &(String, Map<String, Value>)) -> String {
    let lines = schema.iter().map(|(key, value)| {
        let before = format!("{}: ", literal(key));
        let value = value_text(&shield::shielded(key, value), 8, before.len() + 1);
        format!("        {before}{value}")
    });
    let lines: Vec<String> = lines.collect();
    let mut head = format!("fn {name}(_: &mut schemars::SchemaGenerator) -> schemars::Schema {{");
    if head.len() > WIDTH {
        head =
            format!("fn {name}(\n    _: &mut schemars::SchemaGenerator,\n) -> schemars::Schema {{");
    }
    format!(
        "{head}
    json_schema!({{
{}
    }})
}}
",
        lines.join(",\n")
    )
}
