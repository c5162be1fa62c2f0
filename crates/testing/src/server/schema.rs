//! What the API server does with an object by the schema of its definition: it prunes unknown fields, sets defaults,
//! and validates.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{pruning,defaulting}` and `validation`.
//! What patterns, formats and rules in CEL mean is the linter's code: `expressions`, `formats`, `nearest`, `ratcheting` and `re2` are
//! links to it. Without the feature `cel`, rules are not evaluated.

#[cfg(feature = "cel")]
#[allow(dead_code, unused_imports, reason = "the linter uses the rest")]
mod expressions;
pub(crate) mod formats;
#[cfg(feature = "cel")]
mod nearest;
mod problem;
mod ratcheting;
mod re2;
#[cfg_attr(not(feature = "cel"), path = "schema/no_rules.rs")]
mod rules;
mod validate;

use serde_json::{Map, Value};

use self::problem::Reason;
#[cfg(feature = "simulate")]
pub(crate) use self::validate::problems;
pub(crate) use self::{
    problem::Problem,
    rules::{Rules, holds},
};

/// What the API server rejects of an object, which replaces another or is created.
pub(super) fn rejected(
    schema: &Value,
    rules: &Rules,
    new: &Value,
    old: Option<&Value>,
) -> Vec<Problem> {
    let mut found = match old {
        Some(old) => validate::problems_of_update(new, old, schema),
        None => validate::problems(new, schema),
    };
    if rules.any()
        && found
            .iter()
            .any(|problem| BLOCKING.contains(&problem.reason))
    {
        found.push(Problem::new(Reason::Invalid, "", UNCHECKED));
    } else {
        found.extend(rules.problems(schema, new, old));
    }
    found
}

/// What is wrong with a value that rules are not evaluated on.
const BLOCKING: [Reason; 5] = [
    Reason::NotSupported,
    Reason::Required,
    Reason::TooLong,
    Reason::TooMany,
    Reason::TypeInvalid,
];

const UNCHECKED: &str = "null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

/// A note about what a definition demands and is not checked here.
#[cfg(feature = "simulate")]
pub(crate) fn unchecked(crd: &Value) -> Option<String> {
    const HELP: &str = "; to evaluate rules, write in Cargo.toml: `kbr-testing = { workspace = true, features = [\"simulate\", \"cel\"] }`";
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let schemas = versions.map(|version| &version["schema"]["openAPIV3Schema"]);
    let (mut rules, mut patterns) = (0, Vec::new());
    schemas.for_each(|schema| find_unchecked(schema, &mut rules, &mut patterns));
    let mut parts = Vec::new();
    let counts = rules > 0 && cfg!(not(feature = "cel"));
    if counts {
        parts.push(format!("rules in CEL ({rules})"));
    }
    if !patterns.is_empty() {
        parts.push(format!("the patterns {}", patterns.join(", ")));
    }
    let help = if counts { HELP } else { "" };
    let what = parts.join(" and ");
    (!parts.is_empty()).then(|| format!("{what} of {name} are not evaluated{help}"))
}

#[cfg(feature = "simulate")]
fn find_unchecked(schema: &Value, rules: &mut usize, patterns: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let count = schema["x-kubernetes-validations"].as_array().map(Vec::len);
            *rules += count.unwrap_or_default();
            let pattern = schema["pattern"].as_str();
            patterns.extend(
                pattern
                    .filter(|it| re2::matches(it, "").is_none())
                    .map(str::to_owned),
            );
            let below = fields.iter().filter(|(name, _)| *name != "default");
            below.for_each(|(_, schema)| find_unchecked(schema, rules, patterns));
        }
        Value::Array(all) => all
            .iter()
            .for_each(|schema| find_unchecked(schema, rules, patterns)),
        _ => {}
    }
}

/// What every object has, whatever its schema says.
const OF_ALL: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Prunes the fields of an object that its schema does not know, and sets the defaults of those that are missing.
pub(super) fn complete(object: &mut Value, schema: &Value) {
    prune(object, schema, true);
    set_defaults(object, schema, true);
}

/// The path of a field that the schema does not know, if there is one: such a field cannot be applied.
pub(super) fn undeclared(object: &Value, schema: &Value) -> Option<String> {
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

fn prune(value: &mut Value, schema: &Value, is_object: bool) {
    match value {
        Value::Object(fields) => {
            let keeps_unknown = schema["x-kubernetes-preserve-unknown-fields"] == true;
            fields.retain(|name, _| {
                is_object && OF_ALL.contains(&name.as_str())
                    || keeps_unknown
                    || field(schema, name).is_some()
            });
            for (name, value) in below(fields, is_object) {
                if let Some(schema) = field(schema, name) {
                    prune(value, schema, is_embedded(schema));
                }
            }
        }
        Value::Array(items) if schema["items"].is_object() => {
            let schema = &schema["items"];
            for item in items {
                prune(item, schema, is_embedded(schema));
            }
        }
        _ => {}
    }
}

pub(super) fn set_defaults(value: &mut Value, schema: &Value, is_object: bool) {
    match value {
        Value::Object(fields) => {
            for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                let default = &schema["default"];
                let is_missing = match fields.get(name) {
                    None => true,
                    Some(value) => value.is_null() && schema["nullable"] != true,
                };
                if is_missing && !default.is_null() {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in below(fields, is_object) {
                if let Some(schema) = field(schema, name) {
                    set_defaults(value, schema, is_embedded(schema));
                }
            }
        }
        Value::Array(items) => {
            let schema = &schema["items"];
            for item in items {
                set_defaults(item, schema, is_embedded(schema));
            }
        }
        _ => {}
    }
}

/// The fields that the schema describes; the metadata of an object has a schema of its own.
fn below(
    fields: &mut Map<String, Value>,
    is_object: bool,
) -> impl Iterator<Item = (&String, &mut Value)> {
    fields
        .iter_mut()
        .filter(move |(name, _)| !is_object || !OF_ALL.contains(&name.as_str()))
}

/// The schema of a field, if there is one. `additionalProperties: true` describes any field.
fn field<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let others = &schema["additionalProperties"];
    let declared = schema["properties"].get(name);
    declared.or_else(|| (others.is_object() || *others == true).then_some(others))
}

fn is_embedded(schema: &Value) -> bool {
    schema["x-kubernetes-embedded-resource"] == true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn completed(mut object: Value, schema: &Value) -> Value {
        complete(&mut object, schema);
        object
    }

    #[test]
    fn unknown_fields_are_pruned_and_missing_ones_get_their_defaults() {
        let schema = json!({"properties": {
            "spec": {"properties": {
                "size": {"type": "integer", "default": 3},
                "note": {"type": "string", "nullable": true, "default": "none"},
                "ports": {"items": {"properties": {"protocol": {"default": "TCP"}}}},
                "labels": {"additionalProperties": {"type": "string"}},
                "any": {"x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"properties": {}}}},
            }},
            "status": {"default": {"phase": "New"}, "properties": {"phase": {}}},
        }});
        let object = json!({
            "apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "x": 1}, "extra": 1,
            "spec": {
                "size": null, "note": null, "wrong": 1, "ports": [{"wrong": 1}], "labels": {"a": "b"},
                "any": {"a": {"pruned": 1}, "kept": {"b": 1}},
            },
        });
        let expected = json!({
            "apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "x": 1},
            "spec": {
                "size": 3, "note": null, "ports": [{"protocol": "TCP"}], "labels": {"a": "b"},
                "any": {"a": {}, "kept": {"b": 1}},
            },
            "status": {"phase": "New"},
        });
        assert_eq!(completed(object, &schema), expected);
    }

    #[cfg(feature = "simulate")]
    #[test]
    fn what_is_not_checked_is_counted() {
        let crd = |schema: Value| json!({"metadata": {"name": "a"}, "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        let checked = json!({"properties": {"a": {"pattern": "^a$", "format": "ipv4"}}});
        assert_eq!(unchecked(&crd(checked)), None);
        let rules = json!([{"rule": "self.a > 1"}, {"rule": "self.b"}]);
        let schema = json!({
            "x-kubernetes-validations": rules,
            "properties": {"a": {"items": {"pattern": "(?=a)", "x-kubernetes-validations": rules}}},
        });
        let found = unchecked(&crd(schema)).unwrap_or_default();
        let expected = if cfg!(feature = "cel") {
            "the patterns (?=a) of a are not evaluated"
        } else {
            "rules in CEL (4) and the patterns (?=a) of a are not evaluated; to evaluate rules, "
        };
        assert!(found.starts_with(expected), "{found}");
    }

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

    #[test]
    fn an_embedded_object_keeps_what_every_object_has() {
        let schema = json!({"properties": {"template": {
            "x-kubernetes-embedded-resource": true, "properties": {"spec": {"properties": {}}},
        }}});
        let template =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"b": 1}});
        let found = completed(json!({ "template": template }), &schema);
        assert_eq!(
            found["template"],
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}})
        );
    }
}
