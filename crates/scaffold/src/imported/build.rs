//! Groups of structures -> types, with names and fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::collect::{Group, Groups, Path, Role};
use super::defaults;
use super::functions;
use super::keyword::is_open;
use super::known::Known;
use super::model::{self, Body, Field, Model, Ty, TypeDef};
use super::names::{self, Taken};
use super::node::{Node, Use, node};
use super::predict::{self, overlay, predict};
use super::shield;
use crate::resource::names::article;

/// Names that the file or Rust has already.
pub const TAKEN: &[&str] = &[
    "Any",
    "BTreeMap",
    "Box",
    "Clone",
    "Copy",
    "Cow",
    "CustomResource",
    "Debug",
    "Default",
    "Deserialize",
    "Drop",
    "Eq",
    "Err",
    "From",
    "Hash",
    "IntOrString",
    "Into",
    "Iterator",
    "JsonSchema",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Quantity",
    "Result",
    "Schema",
    "SchemaGenerator",
    "Self",
    "Send",
    "Serialize",
    "Sized",
    "Some",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "Value",
    "Vec",
    "Fn",
    "FnMut",
    "FnOnce",
    "AsRef",
    "AsMut",
    "Extend",
    "IntoIterator",
    "DoubleEndedIterator",
    "ExactSizeIterator",
    "TryFrom",
    "TryInto",
    "FromIterator",
    "Unpin",
    // kube's macros import these where they use the fields of a struct.
    "ListMerge",
    "MapMerge",
    "Message",
    "Reason",
    "Rule",
    "StructMerge",
];

/// Names that say nothing alone.
const VAGUE: &[&str] = &[
    "Type", "Kind", "Name", "Spec", "Status", "Metadata", "Item", "Key", "Value", "Data", "Mode",
    "State",
];

/// The types of a version of `kind`.
pub fn build<'a>(kind: &str, groups: &'a Groups<'a>) -> Model<'a> {
    let mut model = Model {
        imported: functions::imported(kind, groups),
        ..Model::default()
    };
    let names = type_names(kind, groups, &model.imported);
    for (group, name) in groups.all.iter().zip(names) {
        let schema = if group.role == Role::Root {
            model::keywords(group.schema.as_object().into_iter().flatten())
        } else {
            let core = super::node::core_keywords(group.schema);
            model::keywords(core.chain(&group.rest))
        };
        let docs = schema.get("description").and_then(|it| it.as_str());
        let mut docs = docs.map(str::to_owned);
        let mut body = body(group, groups);
        let mut overlay = overlay(&schema, &predict::container(&body, &schema));
        if group.role == Role::Root && name == format!("{kind}Fields") {
            // Its schema is used only in that of the object, which says all but the fields itself.
            free_reserved(&mut body);
            overlay.clear();
            docs = Some(format!("The fields of {} `{kind}`.", article(kind)));
        }
        model.types.push(TypeDef {
            name,
            docs,
            body,
            overlay,
            schema,
            is_shared: group.role == Role::Shared,
        });
    }
    for at in 0..model.types.len() {
        field_overlays(at, groups, &mut model);
    }
    functions::add(groups, &mut model);
    defaults::add(groups, &mut model);
    model
}

/// The name of each group.
pub fn type_names(kind: &str, groups: &Groups, imported: &[&Known]) -> Vec<String> {
    let imported = imported.iter().map(|known| known.name());
    let fixed = groups.all.iter().filter_map(|group| group.name.as_deref());
    let taken = TAKEN.iter().copied().chain(imported).chain(fixed);
    let mut taken = Taken::of(taken.chain([kind]));
    let names = groups.all.iter().map(|group| {
        let short = || short_name(kind, &group.path, &taken);
        let name = group.name.clone().ok_or_else(short);
        name.unwrap_or_else(|short| taken.unique(short))
    });
    names.collect()
}

/// The shortest free name from the end of a path; one that is taken if none is free.
fn short_name(kind: &str, path: &Path, taken: &Taken) -> String {
    let fields = path
        .upwards()
        .map(|name| names::pascal(&names::singular(name)));
    let mut name = String::new();
    for word in fields.chain([kind.to_owned()]) {
        if word.is_empty() || name.starts_with(word.as_str()) && !name.is_empty() {
            continue;
        }
        name.insert_str(0, &word);
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_name && !taken.contains(&name) && !VAGUE.contains(&name.as_str()) {
            break;
        }
    }
    name
}

fn body(group: &Group, groups: &Groups) -> Body {
    let schema = group.schema;
    if node(schema) == Node::Enum {
        let values = schema["enum"].as_array().into_iter().flatten();
        let values: Vec<String> = values
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        return Body::Enum(names::variants(&values).into_iter().zip(values).collect());
    }
    let mut taken = Taken::default();
    let is_struct = matches!(node(schema), Node::Struct | Node::Known(_));
    // The fields of a shared type are in another file.
    let has_fields = is_struct && group.role != Role::Shared;
    let properties = schema["properties"].as_object().filter(|_| has_fields);
    let required = schema["required"].as_array().into_iter().flatten();
    let required: BTreeSet<&str> = required.filter_map(Value::as_str).collect();
    let fields = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| Field {
            ident: taken.unique(names::field(name)),
            name: name.clone(),
            ty: ty(property, Use::Field, name, groups),
            required: required.contains(name.as_str()),
            nullable: property["nullable"] == json!(true),
            docs: property["description"].as_str().map(str::to_owned),
            overlay: Map::new(),
            function: None,
            default: None,
        });
    Body::Struct {
        fields: fields.collect(),
        open: is_open(schema) || !is_struct,
    }
}

/// Renames the fields whose names kube uses itself in a struct without `spec`.
fn free_reserved(body: &mut Body) {
    if let Body::Struct { fields, .. } = body {
        let reserved = fields.iter_mut().filter(|field| {
            ["status", "api_version", "kind", "metadata"].contains(&field.ident.as_str())
        });
        reserved.for_each(|field| field.ident.push('_'));
    }
}

/// The type of the field `name`, or of what it is a list or map of.
fn ty(schema: &Value, at: Use, name: &str, groups: &Groups) -> Ty {
    let below = |schema| Box::new(ty(schema, Use::Item, name, groups));
    match node(schema) {
        Node::Bool => Ty::Bool,
        Node::I32 => Ty::I32,
        Node::I64 => Ty::I64,
        Node::F64 => Ty::F64,
        Node::Text => Ty::Text,
        Node::Quantity => Ty::Quantity,
        Node::IntOrString => Ty::IntOrString,
        Node::Any => Ty::Any,
        Node::Known(known) => Ty::Known(known),
        Node::List(items) => Ty::List(below(items)),
        Node::Map(values) => Ty::Map(below(values)),
        Node::AnyMap => Ty::Map(Box::new(Ty::Any)),
        Node::Struct | Node::Enum => groups.find(schema, at, name).map_or(Ty::Any, Ty::Own),
    }
}

fn field_overlays<'a>(at: usize, groups: &'a Groups<'a>, model: &mut Model<'a>) {
    let properties = &groups.all[at].schema["properties"];
    let overlays: Vec<Map<String, Value>> = match &model.types[at].body {
        Body::Struct { fields, .. } => fields
            .iter()
            .map(|field| {
                let wanted = properties[&field.name].as_object().into_iter().flatten();
                let wanted = model::keywords(wanted);
                let mut overlay = overlay(&wanted, &predict(&field.ty, model));
                if !field.required
                    && wanted.contains_key("x-kubernetes-int-or-string")
                    && !field.nullable
                {
                    overlay.insert(shield::NOT_NULLABLE.to_owned(), Value::Null);
                }
                overlay
            })
            .collect(),
        Body::Enum(_) => return,
    };
    if let Body::Struct { fields, .. } = &mut model.types[at].body {
        for (field, overlay) in fields.iter_mut().zip(overlays) {
            field.overlay = overlay;
        }
    }
}
