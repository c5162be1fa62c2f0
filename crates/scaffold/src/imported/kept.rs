//! The places that types cannot express, which are kept as they were.

use serde_json::{Map, Value};

use super::collect::Groups;
use super::keyword::OPEN;
use super::model::{Body, Model, Ty};

/// A place of a schema that is kept word for word beside a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// `spec.pools[].selector`: the fields that lead to it.
    pub path: String,
    /// What is kept: `oneOf`.
    pub what: String,
}

/// Fields of a schema that neither an attribute of schemars nor one keyword of the API says.
const STRUCTURE: [&str; 10] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "enum",
    "items",
    "not",
    "oneOf",
    "properties",
    "required",
    "type",
];

/// Every place of `model` that is kept.
pub fn kept(groups: &Groups, model: &Model) -> Vec<Kept> {
    let mut kept = Vec::new();
    let types = groups.all.iter().zip(&model.types);
    for (group, ty) in types.filter(|(_, ty)| !ty.is_shared) {
        add(&mut kept, &ty.overlay, || group.path.shown());
        let Body::Struct { fields, .. } = &ty.body else {
            continue;
        };
        for field in fields {
            let path = || format!("{}.{}", group.path.shown(), field.name);
            add(&mut kept, &structure(&field.ty, &field.overlay), path);
        }
    }
    kept
}

/// What of an overlay the type of a field does not say.
fn structure(ty: &Ty, overlay: &Map<String, Value>) -> Map<String, Value> {
    let mut left = overlay.clone();
    match ty {
        Ty::Quantity | Ty::IntOrString => left.clear(),
        // The constraints of texts and numbers in lists and maps are attributes of the field.
        Ty::List(items) | Ty::Map(items) if is_scalar(items) => {
            left.remove("items");
            left.remove("additionalProperties");
        }
        Ty::Any => left
            .retain(|key, _| !["description", "nullable", "default", OPEN].contains(&key.as_str())),
        _ => {}
    }
    left
}

fn is_scalar(ty: &Ty) -> bool {
    !matches!(ty, Ty::List(_) | Ty::Map(_) | Ty::Own(_))
}

fn add(kept: &mut Vec<Kept>, overlay: &Map<String, Value>, path: impl Fn() -> String) {
    let is_kept =
        |(key, value): &(&String, &Value)| STRUCTURE.contains(&key.as_str()) && !value.is_null();
    let keys = overlay.iter().filter(is_kept);
    let keys: Vec<String> = keys.map(|(key, _)| format!("`{key}`")).collect();
    if !keys.is_empty() {
        kept.push(Kept {
            path: path().trim_start_matches('.').to_owned(),
            what: keys.join(", "),
        });
    }
}
