//! Values of required fields with a default, as functions of the file: an object may lack them until the API server has seen it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::collect::Groups;
use super::model::{Body, DefaultFunction, Model, Ty, TypeDef};
use super::names::Taken;
use super::text;
use crate::quote::rust as literal;

/// Adds a function for each different default of a required field whose type can express it.
pub fn add(groups: &Groups, model: &mut Model) {
    let functions = model.functions.iter().map(|(name, _)| name.as_str());
    let mut defaults = Defaults {
        taken: Taken::of(functions),
        ..Defaults::default()
    };
    for (at, group) in groups.all.iter().enumerate() {
        let schemas = &group.schema["properties"];
        let names: Vec<Option<String>> = match &model.types[at].body {
            Body::Struct { fields, .. } => fields
                .iter()
                .map(|field| {
                    let default = schemas[&field.name].get("default")?;
                    let is_read = field.required && !field.nullable && field.function.is_none();
                    let (ty, value) =
                        value(&field.ty, default, &model.types).filter(|_| is_read)?;
                    let name = format!("default_{}", field.ident.trim_end_matches('_'));
                    Some(defaults.named(name, ty, value))
                })
                .collect(),
            Body::Enum(_) => continue,
        };
        if let Body::Struct { fields, .. } = &mut model.types[at].body {
            for (field, name) in fields.iter_mut().zip(names) {
                field.default = name;
            }
        }
    }
    model.defaults = defaults.all;
}

/// The functions so far.
#[derive(Default)]
struct Defaults {
    all: Vec<DefaultFunction>,
    /// By wanted name, type and value.
    known: BTreeMap<[String; 3], String>,
    taken: Taken,
}

impl Defaults {
    /// The function with this value, which fields of the same name share.
    fn named(&mut self, name: String, ty: String, value: String) -> String {
        let key = [name.clone(), ty.clone(), value.clone()];
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let name = self.taken.unique(name);
        self.known.insert(key, name.clone());
        self.all.push(DefaultFunction {
            name: name.clone(),
            ty,
            value,
        });
        name
    }
}

/// A type and its value as Rust, if the type is a scalar.
fn value(ty: &Ty, default: &Value, types: &[TypeDef]) -> Option<(String, String)> {
    let (ty, value) = match ty {
        Ty::Bool => ("bool", default.as_bool()?.to_string()),
        Ty::I32 => ("i32", i32::try_from(default.as_i64()?).ok()?.to_string()),
        Ty::I64 => ("i64", default.as_i64()?.to_string()),
        Ty::F64 => ("f64", format!("{:?}", default.as_f64()?)),
        Ty::Text => match default.as_str()? {
            "" => ("String", "String::new()".to_owned()),
            text => ("String", format!("{}.to_owned()", literal(text))),
        },
        Ty::Own(at) => {
            let TypeDef { name, body, .. } = &types[*at];
            let Body::Enum(variants) = body else {
                return None;
            };
            let text = default.as_str()?;
            let (variant, _) = variants.iter().find(|(_, value)| value == text)?;
            (name.as_str(), format!("{name}::{variant}"))
        }
        _ => return None,
    };
    Some((ty.to_owned(), value))
}

/// The text of a function.
pub fn text(default: &DefaultFunction) -> String {
    let DefaultFunction { name, ty, value } = default;
    let mut value = value.clone();
    if value.len() > text::WIDTH - 4
        && let Some(literal) = value.strip_suffix(".to_owned()")
    {
        // A long text: rustfmt moves the call.
        value = format!("{literal}\n        .to_owned()");
    }
    format!("fn {name}() -> {ty} {{\n    {value}\n}}\n")
}
