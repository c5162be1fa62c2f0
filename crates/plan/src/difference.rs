//! Two versions of an object -> the fields in which they differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// `spec.template.spec.containers[helm].image`.
    pub path: String,
    /// The value before, if there was one.
    pub before: Option<Value>,
    /// The value after, if there is one.
    pub after: Option<Value>,
}

/// Fields of the metadata that differ without meaning anything.
const IGNORED: [&str; 7] = [
    "metadata.generation",
    "metadata.creationTimestamp",
    "metadata.uid",
    "metadata.selfLink",
    "apiVersion",
    "metadata.deletionGracePeriodSeconds",
    "metadata.annotations.\"deployment.kubernetes.io/revision\"",
];

/// The fields in which two objects differ. Of a Secret, the values are not among them, only their lengths.
#[must_use]
pub fn differing(old: &Value, new: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    differ(old, new, String::new(), &mut fields);
    fields.retain(|it| !IGNORED.contains(&it.path.as_str()));
    if new["apiVersion"] == "v1" && new["kind"] == "Secret" {
        fields.iter_mut().for_each(hide);
    }
    fields
}

fn differ(old: &Value, new: &Value, path: String, fields: &mut Vec<Field>) {
    if old == new {
        return;
    }
    let pairs = match (old, new) {
        (Value::Object(old), Value::Object(new)) => Some(of_objects(old, new)),
        (Value::Array(old), Value::Array(new)) => of_lists(old, new),
        _ => None,
    };
    let Some(pairs) = pairs else {
        return fields.push(Field {
            path,
            before: Some(old.clone()),
            after: Some(new.clone()),
        });
    };
    for (step, old, new) in pairs {
        let path = match step {
            Step::Key(key) if path.is_empty() => key,
            Step::Key(key) => format!("{path}.{key}"),
            Step::Item(item) => format!("{path}[{item}]"),
        };
        match (old, new) {
            (Some(old), Some(new)) => differ(old, new, path, fields),
            (old, new) => fields.push(Field {
                path,
                before: old.cloned(),
                after: new.cloned(),
            }),
        }
    }
}

enum Step {
    Key(String),
    Item(String),
}

type Pair<'a> = (Step, Option<&'a Value>, Option<&'a Value>);

fn of_objects<'a>(old: &'a Map<String, Value>, new: &'a Map<String, Value>) -> Vec<Pair<'a>> {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let pair = |key: &String| {
        let shown = if key.contains(['.', '/']) {
            format!("\"{key}\"")
        } else {
            key.clone()
        };
        (Step::Key(shown), old.get(key), new.get(key))
    };
    keys.into_iter().map(pair).collect()
}

/// The elements by what tells them apart, or by their places if the lists are equally long. `None` if they are better shown whole.
fn of_lists<'a>(old: &'a [Value], new: &'a [Value]) -> Option<Vec<Pair<'a>>> {
    for key in ["name", "type", "containerPort", "mountPath", "uid", "ip"] {
        let names = |all: &'a [Value]| -> Option<BTreeMap<String, &'a Value>> {
            let name = |it: &Value| match &it[key] {
                Value::String(name) => Some(name.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            let named: Option<BTreeMap<_, _>> =
                all.iter().map(|it| Some((name(it)?, it))).collect();
            named.filter(|it| it.len() == all.len())
        };
        if let (Some(old), Some(new)) = (names(old), names(new)) {
            let all: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            let pair = |name: &String| {
                (
                    Step::Item(name.clone()),
                    old.get(name).copied(),
                    new.get(name).copied(),
                )
            };
            return Some(all.into_iter().map(pair).collect());
        }
    }
    let pairs = old.iter().zip(new).enumerate();
    let pair = |(index, (old, new)): (usize, (&'a Value, &'a Value))| {
        (Step::Item(index.to_string()), Some(old), Some(new))
    };
    (old.len() == new.len()).then(|| pairs.map(pair).collect())
}

/// A field of a Secret shows how long its values are, and those only.
fn hide(field: &mut Field) {
    let is_shown = field.path.starts_with("metadata.") && !field.path.contains("last-applied");
    for value in [&mut field.before, &mut field.after].into_iter().flatten() {
        if !is_shown {
            let bytes = value
                .as_str()
                .map_or_else(|| value.to_string().len(), str::len);
            *value = Value::from(format!("({bytes} bytes)"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_of_secrets_are_no_part_of_a_difference() {
        let secret =
            |value: &str| json!({ "apiVersion": "v1", "kind": "Secret", "data": { "key": value } });
        let fields = differing(&secret("b3Blbg=="), &secret("c2hvcnQ="));
        assert_eq!(fields[0].before, Some(json!("(8 bytes)")));
    }

    #[test]
    fn a_list_whose_elements_have_no_names_is_shown_whole_unless_it_is_as_long() {
        let list = |items: &[u8]| json!({ "args": items });
        let paths = |old: &[u8], new: &[u8]| -> Vec<String> {
            let fields = differing(&list(old), &list(new));
            fields.into_iter().map(|it| it.path).collect()
        };
        assert_eq!(paths(&[1, 2], &[1, 3]), ["args[1]"]);
        assert_eq!(paths(&[1, 2], &[1]), ["args"]);
    }
}
