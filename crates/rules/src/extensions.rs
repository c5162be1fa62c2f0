//! Validates what Kubernetes' extensions of schemas demand: embedded objects, sets, and lists with keys.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{objectmeta,listtype}`.

use std::collections::HashSet;

use serde_json::Value;

use crate::path::{FieldPath, Step};
use crate::problem::{Problem, Reason, joined};
use crate::schema::{field, is_embedded};

/// What is wrong with a value.
pub(crate) fn problems(value: &Value, schema: &Value) -> Vec<Problem> {
    [embedded(value, schema), duplicates(value, schema)].concat()
}

/// What is wrong with a value that replaces another: if that has an item twice, so may the new one.
pub(crate) fn problems_of_update(new: &Value, old: &Value, schema: &Value) -> Vec<Problem> {
    let mut all = embedded(new, schema);
    if duplicates(old, schema).is_empty() {
        all.extend(duplicates(new, schema));
    }
    all
}

/// What embedded objects lack.
fn embedded(value: &Value, schema: &Value) -> Vec<Problem> {
    let mut all = Vec::new();
    descend(
        value,
        schema,
        &mut FieldPath::default(),
        &mut |value, schema, path| {
            let Some(fields) = value.as_object().filter(|_| is_embedded(schema)) else {
                return;
            };
            for name in ["apiVersion", "kind"] {
                let at = joined(&path.to_string(), name);
                let problem = match fields.get(name) {
                    None => Problem::new(Reason::Required, &at, ""),
                    Some(Value::String(text)) if !text.is_empty() => continue,
                    Some(text @ Value::String(_)) => {
                        Problem::of_value(Reason::Invalid, &at, text, "must not be empty")
                    }
                    Some(other) => {
                        Problem::of_value(Reason::Invalid, &at, other, "must be a string")
                    }
                };
                let plain = format!("has no `{name}`, which an embedded object needs");
                all.push(problem.of(path.dotted()).plain(plain));
            }
        },
    );
    all
}

/// The items that occur a second time in sets, and in lists with keys.
fn duplicates(value: &Value, schema: &Value) -> Vec<Problem> {
    let mut all = Vec::new();
    descend(
        value,
        schema,
        &mut FieldPath::default(),
        &mut |value, schema, path| {
            let Some(items) = value.as_array() else {
                return;
            };
            let keys = match schema["x-kubernetes-list-type"].as_str() {
                Some("set") => None,
                Some("map") => schema["x-kubernetes-list-map-keys"].as_array(),
                _ => return,
            };
            let is_item = |item: &Value| keys.is_none() || item.is_object() || item.is_null();
            if let Some(at) = items.iter().position(|item| !is_item(item)) {
                let field = format!("{path}[{at}]");
                let why = "must be an object for an array of list-type map";
                let problem = Problem::of_value(Reason::Invalid, &field, &items[at], why);
                let plain = "is not an object, as the items of a list with keys must be".to_owned();
                all.push(problem.of(format!("{}[{at}]", path.dotted())).plain(plain));
                return;
            }
            let (mut once, mut twice) = (HashSet::new(), HashSet::new());
            for (at, item) in items.iter().enumerate() {
                let identity = keys.map_or_else(|| item.clone(), |keys| identity(item, keys));
                let text = identity.to_string();
                // The third and all later ones are not reported.
                if !once.insert(text.clone()) && twice.insert(text) {
                    let plain = format!("repeats `{identity}`, which may occur only once");
                    let field = format!("{path}[{at}]");
                    let problem = Problem::of_value(Reason::Duplicate, &field, &identity, "");
                    all.push(problem.of(format!("{}[{at}]", path.dotted())).plain(plain));
                }
            }
        },
    );
    all
}

/// The keys of an item that it has.
fn identity(item: &Value, keys: &[Value]) -> Value {
    let keys = keys.iter().filter_map(Value::as_str);
    let values = keys.filter_map(|key| Some((key.to_owned(), item.get(key)?.clone())));
    values.collect()
}

/// Visits a value and all in it that a schema describes, with their paths.
fn descend(
    value: &Value,
    schema: &Value,
    path: &mut FieldPath,
    visit: &mut impl FnMut(&Value, &Value, &FieldPath),
) {
    visit(value, schema, path);
    let mut below = |step, value, schema| {
        path.0.push(step);
        descend(value, schema, path, visit);
        path.0.pop();
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(schema) = schema["properties"].get(name) {
                    below(Step::Field(name.clone()), value, schema);
                } else if let Some(schema) = field(schema, name) {
                    below(Step::Key(name.clone()), value, schema);
                }
            }
        }
        Value::Array(items) if schema["items"].is_object() => {
            for (at, item) in items.iter().enumerate() {
                below(Step::Index(at), item, &schema["items"]);
            }
        }
        _ => {}
    }
}
