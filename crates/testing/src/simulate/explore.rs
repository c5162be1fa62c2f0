//! Other specs that the definition of a kind accepts: one change each.
//!
//! The idea is Acto's (SOSP'23). A string becomes empty at most, unless the schema lists its values: no schema says which of
//! the others an operator understands.

use serde_json::{Map, Value, json};

use crate::server::Rules;

/// More changes than this are left out.
const MOST: usize = 40;

/// A change of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    /// The JSON pointer of the field.
    pub(super) pointer: String,
    /// `None` if it is removed.
    pub(super) to: Option<Value>,
}

impl Change {
    /// What the user does, after *the user*.
    pub(super) fn title(&self) -> String {
        let field = self.pointer.trim_start_matches('/').replace('/', ".");
        match &self.to {
            Some(value) => format!("sets {field} to {value}"),
            None => format!("removes {field}"),
        }
    }

    pub(super) fn make(&self, object: &mut Value) {
        let Some((parent, name)) = self.pointer.rsplit_once('/') else {
            return;
        };
        let name = name.replace("~1", "/").replace("~0", "~");
        let Some(Value::Object(fields)) = object.pointer_mut(parent) else {
            return;
        };
        match &self.to {
            Some(value) => drop(fields.insert(name, value.clone())),
            None => drop(fields.remove(&name)),
        }
    }
}

/// The changes of the spec of an object that its schema accepts. What rules in CEL restrict is left alone, unless they are
/// evaluated.
pub(super) fn changes(object: &Value, schema: &Value, rules: &Rules) -> Vec<Change> {
    let mut all = Vec::new();
    let spec = &schema["properties"]["spec"];
    fields("/spec", &object["spec"], spec, &mut all);
    all.retain(|change: &Change| {
        let mut changed = object.clone();
        change.make(&mut changed);
        apiserver_rules::problems(&changed, schema).is_empty()
            && rules.accept(schema, &changed, object)
    });
    all.truncate(MOST);
    all
}

fn fields(pointer: &str, value: &Value, schema: &Value, to: &mut Vec<Change>) {
    if has_rules(schema) {
        return;
    }
    let none = Map::new();
    let declared = schema["properties"].as_object().unwrap_or(&none);
    for (name, schema) in declared {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        let pointer = format!("{pointer}/{escaped}");
        let found = value.get(name).filter(|found| !found.is_null());
        if found.is_some() && schema["default"].is_null() {
            to.push(Change {
                pointer: pointer.clone(),
                to: None,
            });
        }
        if has_rules(schema) {
            continue;
        }
        let values = others(found, schema).into_iter().map(Some);
        to.extend(values.map(|to| Change {
            pointer: pointer.clone(),
            to,
        }));
        if let Some(found @ Value::Object(_)) = found {
            fields(&pointer, found, schema, to);
        }
    }
}

/// Whether a schema has rules that are not evaluated.
fn has_rules(schema: &Value) -> bool {
    cfg!(not(feature = "cel")) && schema["x-kubernetes-validations"].is_array()
}

/// Values beside `found` that a schema accepts.
fn others(found: Option<&Value>, schema: &Value) -> Vec<Value> {
    let differs = |value: &Value| Some(value) != found;
    let mut values = match (schema["enum"].as_array(), schema["type"].as_str()) {
        (Some(allowed), _) => allowed
            .iter()
            .filter(|it| differs(it))
            .take(2)
            .cloned()
            .collect(),
        (_, Some("boolean")) => vec![json!(found != Some(&json!(true)))],
        (_, Some("integer")) => {
            let now = found.and_then(Value::as_i64);
            let next = now.map_or(1, |now| now + 1);
            let all = [Some(next), now.map(|now| now - 1), Some(0), Some(-1)];
            let all = all.into_iter().chain([bound(&schema["maximum"])]);
            all.flatten().map(|number| json!(number)).collect()
        }
        (_, Some("string")) if found.is_some() => vec![json!("")],
        (_, Some("array")) => {
            let items = found.and_then(Value::as_array);
            let shorter = items.and_then(|items| items.split_last());
            shorter.map(|(_, items)| json!(items)).into_iter().collect()
        }
        _ => Vec::new(),
    };
    values.retain(differs);
    let mut seen = Vec::new();
    values.retain(|value| {
        !seen.contains(value) && {
            seen.push(value.clone());
            true
        }
    });
    values
}

/// A bound that an operator can reach in a test. Schemas have floating-point numbers, too.
fn bound(bound: &Value) -> Option<i64> {
    let bound = bound.as_f64().filter(|bound| (-1.0..=20.0).contains(bound));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is a small number, and a part of it means the integer below"
    )]
    bound.map(|bound| bound.floor() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_is_changed_within_its_schema() {
        let schema = json!({"properties": {"spec": {"required": ["size"], "properties": {
            "size": {"type": "integer", "minimum": 0.0, "maximum": 4.0},
            "shift": {"type": "integer"},
            "mode": {"type": "string", "enum": ["A", "B"]},
            "paused": {"type": "boolean"},
            "image": {"type": "string"},
            "ports": {"type": "array", "minItems": 1},
            "ruled": {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
            "nested": {"type": "object", "properties": {"on": {"type": "boolean", "default": false}}},
        }}}});
        let object = json!({"spec": {"size": 3, "image": "a", "ports": [1], "ruled": 2, "nested": {"on": true}}});
        let titles: Vec<_> = changes(&object, &schema, &Rules::of(&schema))
            .iter()
            .map(Change::title)
            .collect();
        let expected = [
            "removes spec.image",
            "sets spec.image to \"\"",
            "sets spec.mode to \"A\"",
            "sets spec.mode to \"B\"",
            "removes spec.nested",
            "sets spec.nested.on to false",
            "sets spec.paused to true",
            "removes spec.ports",
            "removes spec.ruled",
            "sets spec.shift to 1",
            "sets spec.shift to 0",
            "sets spec.shift to -1",
            "sets spec.size to 4",
            "sets spec.size to 2",
            "sets spec.size to 0",
        ];
        assert_eq!(titles, expected);
    }

    #[test]
    fn a_change_sets_or_removes_its_field() {
        let mut object = json!({"spec": {"a": 1}});
        let change = |pointer: &str, to| Change {
            pointer: pointer.to_owned(),
            to,
        };
        change("/spec/b", Some(json!(2))).make(&mut object);
        change("/spec/a", None).make(&mut object);
        assert_eq!(object, json!({"spec": {"b": 2}}));
    }
}
