//! Other specs that the definition of a kind accepts: one field differs, or two.
//!
//! The idea is Acto's (SOSP'23). A string becomes empty at most, unless the schema lists its values: no schema says which of
//! the others an operator understands.

use serde_json::{Map, Value, json};

use super::state::is_zero;
use crate::server::Rules;

/// More changes of one field, and of two, than these are left out.
const SINGLE: usize = 40;
const PAIRS: usize = 20;

/// A change of a spec.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change(Vec<Edit>);

/// A change of a field.
#[derive(Clone, Debug, PartialEq)]
struct Edit {
    /// The JSON pointer of the field.
    pointer: String,
    /// `None` if it is removed.
    to: Option<Value>,
}

impl Change {
    /// What the user does, after *the user*.
    pub(super) fn title(&self) -> String {
        let titles: Vec<_> = self.0.iter().map(Edit::title).collect();
        titles.join(" and ")
    }

    pub(super) fn make(&self, object: &mut Value) {
        self.0.iter().for_each(|edit| edit.make(object));
    }

    /// Whether it is one that the schema and the rules of a kind accept.
    fn is_accepted(&self, object: &Value, schema: &Value, rules: &Rules) -> bool {
        let mut changed = object.clone();
        self.make(&mut changed);
        apiserver_rules::problems(&changed, schema).is_empty()
            && rules.accept(schema, &changed, object)
    }
}

impl Edit {
    fn title(&self) -> String {
        let field = self.pointer.trim_start_matches('/').replace('/', ".");
        match &self.to {
            Some(value) => format!("sets {field} to {value}"),
            None => format!("removes {field}"),
        }
    }

    fn make(&self, object: &mut Value) {
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

    /// Operators forget first that a field can be missing, and then that it can be zero.
    fn rank(&self) -> u8 {
        match &self.to {
            None => 0,
            Some(value) if is_zero(value) => 1,
            Some(_) => 2,
        }
    }
}

/// The changes of the spec of an object that its schema accepts: those of one field first. What rules in CEL restrict is left alone, unless
/// they are evaluated.
pub(super) fn changes(object: &Value, schema: &Value, rules: &Rules) -> Vec<Change> {
    let mut edits = Vec::new();
    let spec = &schema["properties"]["spec"];
    fields("/spec", &object["spec"], spec, &mut edits);
    edits.sort_by_key(Edit::rank);
    let is_accepted = |change: &Change| change.is_accepted(object, schema, rules);
    let single = edits.iter().map(|edit| Change(vec![edit.clone()]));
    let single: Vec<_> = single.filter(is_accepted).take(SINGLE).collect();
    let pairs = single.iter().enumerate().flat_map(|(at, Change(one))| {
        // Not a field, and what is in it.
        let is_apart = |Change(other): &&Change| {
            let (one, other) = (&one[0].pointer, &other[0].pointer);
            !one.starts_with(other) && !other.starts_with(one)
        };
        let others = single[at + 1..].iter().filter(is_apart);
        others.map(|Change(other)| Change([&**one, other].concat()))
    });
    let pairs: Vec<_> = pairs.filter(is_accepted).take(PAIRS).collect();
    [single, pairs].concat()
}

/// This value of a field, or another one, whichever the schema accepts.
pub(super) fn accepted(
    object: &Value,
    schema: &Value,
    rules: &Rules,
    pointer: &str,
    value: Value,
) -> Option<Value> {
    let edit = Edit {
        pointer: pointer.to_owned(),
        to: Some(value),
    };
    let given = Change(vec![edit]);
    if given.is_accepted(object, schema, rules) {
        return given.0.into_iter().next()?.to;
    }
    let others = changes(object, schema, rules).into_iter();
    let mut values = others.filter_map(|Change(edits)| match &*edits {
        [edit] if edit.pointer == pointer => edit.to.clone(),
        _ => None,
    });
    values.next()
}

fn fields(pointer: &str, value: &Value, schema: &Value, to: &mut Vec<Edit>) {
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
            to.push(Edit {
                pointer: pointer.clone(),
                to: None,
            });
        }
        if has_rules(schema) {
            continue;
        }
        let values = others(found, schema).into_iter().map(Some);
        to.extend(values.map(|to| Edit {
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
            "removes spec.nested",
            "removes spec.ports",
            "removes spec.ruled",
            "sets spec.image to \"\"",
            "sets spec.nested.on to false",
            "sets spec.shift to 0",
            "sets spec.size to 0",
            "sets spec.mode to \"A\"",
            "sets spec.mode to \"B\"",
            "sets spec.paused to true",
            "sets spec.shift to 1",
            "sets spec.shift to -1",
            "sets spec.size to 4",
            "sets spec.size to 2",
        ];
        assert_eq!(titles[..expected.len()], expected);
        assert_eq!(titles.len(), expected.len() + PAIRS);
        assert_eq!(
            titles[expected.len()],
            "removes spec.image and removes spec.nested"
        );
    }

    #[test]
    fn a_change_sets_or_removes_its_fields() {
        let mut object = json!({"spec": {"a": 1}});
        let edit = |pointer: &str, to| Edit {
            pointer: pointer.to_owned(),
            to,
        };
        Change(vec![edit("/spec/b", Some(json!(2))), edit("/spec/a", None)]).make(&mut object);
        assert_eq!(object, json!({"spec": {"b": 2}}));
    }
}
