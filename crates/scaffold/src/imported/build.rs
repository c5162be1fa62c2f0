//! Groups of structures -> types, with names and fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::collect::{Groups, Use};
use super::defaults;
use super::functions;
use super::keyword::is_open;
use super::known::Known;
use super::model::{Body, Field, Model, Ty, TypeDef};
use super::names;
use super::node::{Node, node};
use super::predict::{self, overlay, predict};
use super::shield;

/// Names that the file or Rust has already.
const TAKEN: &[&str] = &[
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
pub fn build(kind: &str, groups: &Groups) -> Model {
    let mut model = Model {
        imported: functions::imported(kind, groups),
        ..Model::default()
    };
    let names = type_names(kind, groups, &model.imported);
    for (group, name) in groups.all.iter().zip(names) {
        let mut schema = group.schema.as_object().cloned().unwrap_or_default();
        if group.name.is_none() {
            schema = super::node::core(group.schema);
            schema.extend(group.rest.clone());
        }
        let mut docs = schema
            .get("description")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let mut body = body(group.schema, groups);
        let mut overlay = overlay(&schema, &predict::container(&body, &schema));
        if name == format!("{kind}Fields") {
            // Its schema is used only in that of the object, which says all but the fields itself.
            free_reserved(&mut body);
            overlay.clear();
            docs = Some(format!("The fields of a `{kind}`."));
        }
        model.types.push(TypeDef {
            name,
            docs,
            body,
            overlay,
            schema,
        });
    }
    for at in 0..model.types.len() {
        field_overlays(at, groups, &mut model);
    }
    functions::add(groups, &mut model);
    defaults::add(groups, &mut model);
    model
}

fn type_names(kind: &str, groups: &Groups, imported: &[&Known]) -> Vec<String> {
    let mut taken: BTreeSet<String> = TAKEN.iter().map(|&name| name.to_owned()).collect();
    taken.extend(imported.iter().map(|known| known.name().to_owned()));
    taken.insert(kind.to_owned());
    taken.extend(groups.all.iter().filter_map(|group| group.name.clone()));
    let names = groups.all.iter().map(|group| {
        group.name.clone().unwrap_or_else(|| {
            let (name, is_free) = short_name(kind, &group.path, &taken);
            if is_free {
                taken.insert(name.clone());
                return name;
            }
            names::unique(name, &mut taken)
        })
    });
    names.collect()
}

/// The shortest free name from the end of a path, and whether it is free.
fn short_name(kind: &str, path: &[String], taken: &BTreeSet<String>) -> (String, bool) {
    let mut words: Vec<String> = vec![kind.to_owned()];
    words.extend(
        path.iter()
            .skip(1)
            .map(|name| names::pascal(&names::singular(name))),
    );
    let mut name = String::new();
    for word in words.iter().rev() {
        if word.is_empty() || name.starts_with(word.as_str()) && !name.is_empty() {
            continue;
        }
        name = format!("{word}{name}");
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_name && !taken.contains(&name) && !VAGUE.contains(&name.as_str()) {
            return (name, true);
        }
    }
    (name, false)
}

fn body(schema: &Value, groups: &Groups) -> Body {
    if node(schema) == Node::Enum {
        let values = schema["enum"].as_array().into_iter().flatten();
        let values: Vec<String> = values
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        return Body::Enum(names::variants(&values).into_iter().zip(values).collect());
    }
    let mut taken = BTreeSet::new();
    let is_struct = matches!(node(schema), Node::Struct | Node::Known(_));
    let properties = schema["properties"].as_object().filter(|_| is_struct);
    let fields = properties.into_iter().flatten().map(|(name, property)| {
        let required = schema["required"]
            .as_array()
            .is_some_and(|all| all.contains(&json!(name)));
        Field {
            ident: names::unique(names::field(name), &mut taken),
            name: name.clone(),
            ty: ty(property, Use::Field, groups),
            required,
            nullable: property["nullable"] == json!(true),
            docs: property["description"].as_str().map(str::to_owned),
            overlay: Map::new(),
            function: None,
            default: None,
        }
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

fn ty(schema: &Value, at: Use, groups: &Groups) -> Ty {
    let below = |schema| Box::new(ty(schema, Use::Item, groups));
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
        Node::Struct | Node::Enum => groups.find(schema, at).map_or(Ty::Any, Ty::Own),
    }
}

fn field_overlays(at: usize, groups: &Groups, model: &mut Model) {
    let properties = &groups.all[at].schema["properties"];
    let overlays: Vec<Map<String, Value>> = match &model.types[at].body {
        Body::Struct { fields, .. } => fields
            .iter()
            .map(|field| {
                let wanted = properties[&field.name]
                    .as_object()
                    .cloned()
                    .unwrap_or_default();
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
