//! What an API server makes of an object before it validates it: unknown fields go, and defaults are set.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{pruning,defaulting,objectmeta}`, in the order of
//! `unstructuredSchemaCoercer` of `pkg/apiserver/customresource_handler.go`.

use serde_json::{Map, Value};

/// What every object has, whatever its schema says.
pub(crate) const OF_ALL: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The fields of an object's metadata; all others are dropped.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Whether a schema describes an embedded object.
#[must_use]
pub fn is_embedded(schema: &Value) -> bool {
    schema["x-kubernetes-embedded-resource"] == true
}

/// Makes of an object what the API server stores: without the fields that its schema does not know, with its defaults.
pub fn complete(object: &mut Value, schema: &Value) {
    prune(object, schema, true);
    drop_nulls(object, Some(schema));
    set_defaults(object, schema);
}

/// Makes of an object that someone applies what the API server stores: like [`complete`], but a null that is not allowed is an error.
pub fn complete_applied(object: &mut Value, schema: &Value) {
    prune(object, schema, true);
    set_defaults(object, schema);
}

/// Drops the fields that a schema does not know. An object, embedded or not, keeps what every object has.
pub fn prune(value: &mut Value, schema: &Value, is_object: bool) {
    pruned_below(value, Some(schema), is_object || is_embedded(schema), false);
}

/// The path of a field that the schema does not know, if there is one: such a field cannot be applied.
#[must_use]
pub fn undeclared(object: &Value, schema: &Value) -> Option<String> {
    let mut known = object.clone();
    prune(&mut known, schema, true);
    difference(object, &known)
}

/// The path of the first field that `pruned` lacks.
fn difference(whole: &Value, pruned: &Value) -> Option<String> {
    match (whole, pruned) {
        (Value::Object(whole), Value::Object(pruned)) => {
            let mut fields = whole.iter();
            fields.find_map(|(name, value)| match pruned.get(name) {
                None => Some(format!(".{name}")),
                Some(pruned) => Some(format!(".{name}{}", difference(value, pruned)?)),
            })
        }
        (Value::Array(whole), Value::Array(pruned)) => {
            let mut items = whole.iter().zip(pruned).enumerate();
            items.find_map(|(at, (whole, pruned))| {
                Some(format!("[{at}]{}", difference(whole, pruned)?))
            })
        }
        _ => None,
    }
}

/// Prunes a value; `keeps` what is unknown also where a list around it does. Without a schema, everything is unknown.
fn pruned_below(value: &mut Value, schema: Option<&Value>, is_object: bool, keeps: bool) {
    let keeps =
        keeps || schema.is_some_and(|it| it["x-kubernetes-preserve-unknown-fields"] == true);
    match value {
        Value::Object(fields) => {
            let is_meta = |name: &str| is_object && OF_ALL.contains(&name);
            fields.retain(|name, _| {
                is_meta(name) || keeps || schema.is_some_and(|schema| allows(schema, name))
            });
            for (name, value) in fields.iter_mut().filter(|(name, _)| !is_meta(name)) {
                let field = schema.and_then(|schema| field(schema, name));
                let is_known = schema.is_some_and(|schema| allows(schema, name));
                if is_known || !keeps {
                    pruned_below(value, field, field.is_some_and(is_embedded), false);
                }
            }
            if let Some(Value::Object(metadata)) = fields.get_mut("metadata").filter(|_| is_object)
            {
                metadata.retain(|name, _| METADATA.contains(&name.as_str()));
            }
        }
        Value::Array(values) => {
            let items = schema.and_then(items);
            if keeps && items.is_none() {
                return;
            }
            for value in values {
                pruned_below(value, items, items.is_some_and(is_embedded), keeps);
            }
        }
        _ => {}
    }
}

/// Whether a schema has a field, or any.
fn allows(schema: &Value, name: &str) -> bool {
    field(schema, name).is_some() || schema["additionalProperties"] == true
}

/// Drops each `null` that is not allowed and has no default.
fn drop_nulls(value: &mut Value, schema: Option<&Value>) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let field = schema.and_then(|schema| field(schema, name));
            if is_refused_null(value, field) && field.is_some_and(|it| it["default"].is_null()) {
                return false;
            }
            drop_nulls(value, field);
            true
        }),
        Value::Array(values) => {
            let items = schema.and_then(items);
            for value in values {
                drop_nulls(value, items);
            }
        }
        _ => {}
    }
}

fn is_refused_null(value: &Value, schema: Option<&Value>) -> bool {
    value.is_null() && schema.is_some_and(|schema| schema["nullable"] != true)
}

/// Sets the defaults of the fields that are missing, or `null` where that is not allowed.
pub fn set_defaults(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, schema) in properties(schema).into_iter().flatten() {
                let default = &schema["default"];
                let is_missing = fields
                    .get(name)
                    .is_none_or(|value| is_refused_null(value, Some(schema)));
                if is_missing && !default.is_null() {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields {
                if let Some(schema) = field(schema, name) {
                    set_defaults(value, schema);
                }
            }
        }
        Value::Array(values) => {
            if let Some(items) = items(schema) {
                for value in values {
                    if is_refused_null(value, Some(items)) {
                        *value = items["default"].clone();
                    }
                    set_defaults(value, items);
                }
            }
        }
        _ => {}
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema["properties"].as_object()
}

fn items(schema: &Value) -> Option<&Value> {
    Some(&schema["items"]).filter(|items| items.is_object())
}

/// The schema of a field, or of any that is not declared.
pub(crate) fn field<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let others = &schema["additionalProperties"];
    let declared = schema["properties"].get(name);
    declared.or_else(|| others.is_object().then_some(others))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_path_of_an_unknown_field_is_found() {
        let schema = json!({"properties": {"spec": {"properties": {
            "list": {"items": {"properties": {"a": {}}}},
        }}}});
        let known = json!({"kind": "A", "spec": {"list": [{"a": 1}, {"a": 2}]}});
        assert_eq!(undeclared(&known, &schema), None);
        let mut unknown = known;
        unknown["spec"]["list"][1]["b"] = json!(1);
        let path = undeclared(&unknown, &schema);
        assert_eq!(path.as_deref(), Some(".spec.list[1].b"));
    }
}
