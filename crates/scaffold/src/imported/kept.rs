//! The places that types cannot express, which are kept as they were.

use serde_json::{Map, Value};

use super::collect::Groups;
use super::model::{Body, Model, Ty};

/// A place of a schema that is kept word for word beside a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// `spec.pools[].selector`: the fields that lead to it.
    pub path: String,
    /// What is kept: `oneOf`, or the whole schema of a value of any type.
    pub what: String,
}

/// Fields of a schema that neither an attribute of schemars nor one keyword of the API says.
const STRUCTURE: [&str; 9] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "enum",
    "items",
    "not",
    "oneOf",
    "properties",
    "required",
];

/// Every place of `model` that is kept.
pub fn kept(groups: &Groups, model: &Model) -> Vec<Kept> {
    let mut kept = Vec::new();
    for (group, ty) in groups.all.iter().zip(&model.types) {
        let path = group.path.join(".");
        let path = path.trim_start_matches('.');
        add(&mut kept, path, &ty.overlay);
        let Body::Struct { fields, .. } = &ty.body else {
            continue;
        };
        for field in fields {
            let path = format!("{path}.{}", field.name);
            let path = path.trim_start_matches('.').to_owned();
            if field.ty == Ty::Any {
                let what = "its whole schema, beside a value of any type".to_owned();
                kept.push(Kept { path, what });
            } else if !matches!(field.ty, Ty::Quantity | Ty::IntOrString) {
                add(&mut kept, &path, &field.overlay);
            }
        }
    }
    kept
}

fn add(kept: &mut Vec<Kept>, path: &str, overlay: &Map<String, Value>) {
    let is_kept =
        |(key, value): &(&String, &Value)| STRUCTURE.contains(&key.as_str()) && !value.is_null();
    let keys = overlay.iter().filter(is_kept);
    let keys: Vec<String> = keys.map(|(key, _)| format!("`{key}`")).collect();
    if !keys.is_empty() {
        kept.push(Kept {
            path: path.to_owned(),
            what: keys.join(", "),
        });
    }
}
