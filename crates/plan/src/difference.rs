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
    /// The field managers that had set the value before, and have not set this one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub taken_from: BTreeSet<String>,
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

/// A label that is the uid of a Job, in quotes or without.
const UID: &str = "controller-uid";

/// Fields that an API server fills in, in most objects with the same values.
const FILLED: [&str; 26] = [
    "backoffLimit",
    "clusterIP",
    "clusterIPs",
    "completionMode",
    "creationTimestamp",
    "dnsPolicy",
    "imagePullPolicy",
    "internalTrafficPolicy",
    "ipFamilies",
    "ipFamilyPolicy",
    "manualSelector",
    "persistentVolumeClaimRetentionPolicy",
    "podManagementPolicy",
    "podReplacementPolicy",
    "progressDeadlineSeconds",
    "protocol",
    "restartPolicy",
    "revisionHistoryLimit",
    "schedulerName",
    "sessionAffinity",
    "strategy",
    "suspend",
    "terminationGracePeriodSeconds",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "updateStrategy",
];

/// The fields in which two objects differ. Of a Secret, the values are not among them, only their lengths.
#[must_use]
pub fn differing(old: &Value, new: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    differ(old, new, String::new(), &mut fields);
    fields.retain(|it| {
        let is_uid = it.path.trim_end_matches('"').ends_with(UID);
        !is_uid && !IGNORED.contains(&it.path.as_str())
    });
    hide_secret(new, &mut fields);
    fields
}

/// What a new object contains, apart from its metadata and status: first what its creator has chosen. Of a Secret, the lengths of values.
#[must_use]
pub fn content(object: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    let parts = object.as_object().into_iter().flatten();
    for (key, value) in
        parts.filter(|(key, _)| !["apiVersion", "kind", "metadata", "status"].contains(&&***key))
    {
        leaves(value, key.clone(), &mut fields);
    }
    fields.retain(|it| !names_element(it));
    hide_secret(object, &mut fields);
    let is_filled = |field: &Field| {
        let mut steps = field.path.split(['.', '[']);
        steps.any(|it| FILLED.contains(&it)) || field.path.ends_with(UID)
    };
    fields.sort_by_cached_key(is_filled);
    fields
}

/// Whether it is what tells an element of a list apart, which its path has: `containers[helm].name`.
fn names_element(field: &Field) -> bool {
    let inside = field.path.rsplit_once("].");
    let name = inside.and_then(|(list, key)| Some((list.rsplit_once('[')?.1, key)));
    let value = field.after.as_ref().and_then(element);
    name.is_some_and(|(name, key)| KEYS.contains(&key) && value.as_deref() == Some(name))
}

/// What tells an element apart, as paths have it.
fn element(value: &Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The fields of a value that have none themselves.
fn leaves(value: &Value, path: String, fields: &mut Vec<Field>) {
    let none = Map::new();
    let pairs = match value {
        Value::Object(value) if !value.is_empty() => Some(of_objects(&none, value)),
        Value::Array(items) if !items.is_empty() => of_lists(&[], items),
        _ => None,
    };
    let Some(pairs) = pairs else {
        return fields.push(field(path, None, Some(value)));
    };
    for (step, _, value) in pairs {
        leaves(value.unwrap_or(&Value::Null), step.after(&path), fields);
    }
}

fn field(path: String, before: Option<&Value>, after: Option<&Value>) -> Field {
    Field {
        path,
        before: before.cloned(),
        after: after.cloned(),
        taken_from: BTreeSet::new(),
    }
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
        return fields.push(field(path, Some(old), Some(new)));
    };
    for (step, old, new) in pairs {
        let path = step.after(&path);
        match (old, new) {
            (Some(old), Some(new)) => differ(old, new, path, fields),
            (old, new) => fields.push(field(path, old, new)),
        }
    }
}

enum Step {
    Key(String),
    Item(String),
}

impl Step {
    fn after(self, path: &str) -> String {
        match self {
            Step::Key(key) => joined(path, &key),
            Step::Item(item) => format!("{path}[{item}]"),
        }
    }
}

/// The path of a field: `metadata.annotations."crew.example.com/x"`.
pub(super) fn joined(path: &str, key: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    if key.contains(['.', '/']) {
        format!("{path}{dot}\"{key}\"")
    } else {
        format!("{path}{dot}{key}")
    }
}

type Pair<'a> = (Step, Option<&'a Value>, Option<&'a Value>);

fn of_objects<'a>(old: &'a Map<String, Value>, new: &'a Map<String, Value>) -> Vec<Pair<'a>> {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let pair = |key: &String| (Step::Key(key.clone()), old.get(key), new.get(key));
    keys.into_iter().map(pair).collect()
}

/// What tells the elements of a list apart, the first that all have.
pub const KEYS: [&str; 6] = ["name", "type", "containerPort", "mountPath", "uid", "ip"];

/// The elements by what tells them apart, or by their places if the lists are equally long. `None` if they are better shown whole.
fn of_lists<'a>(old: &'a [Value], new: &'a [Value]) -> Option<Vec<Pair<'a>>> {
    for key in KEYS {
        let names = |all: &'a [Value]| -> Option<BTreeMap<String, &'a Value>> {
            let named: Option<BTreeMap<_, _>> = all
                .iter()
                .map(|it| Some((element(&it[key])?, it)))
                .collect();
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

fn hide_secret(object: &Value, fields: &mut [Field]) {
    if object["apiVersion"] == "v1" && object["kind"] == "Secret" {
        fields.iter_mut().for_each(hide);
    }
}

/// A field of a Secret shows how long its values are, and those only.
fn hide(field: &mut Field) {
    let of_metadata = field.path.starts_with("metadata.") && !field.path.contains("last-applied");
    let is_shown = of_metadata || ["type", "immutable"].contains(&&*field.path);
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
        let mut new = secret("b3Blbg==");
        new["type"] = json!("Opaque");
        let shown: Vec<_> = content(&new).into_iter().map(|it| it.after).collect();
        assert_eq!(shown, [fields[0].before.clone(), Some(json!("Opaque"))]);
    }

    #[test]
    fn a_new_object_shows_its_own_choices_before_what_an_api_server_fills_in() {
        let container = json!({ "name": "helm", "image": "helm:1", "args": ["a", "b"], "imagePullPolicy": "Always" });
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" }, "status": {},
            "spec": { "strategy": { "type": "Recreate" }, "template": { "spec": { "containers": [container] } } },
        });
        let paths: Vec<String> = content(&object).into_iter().map(|it| it.path).collect();
        let helm = "spec.template.spec.containers[helm]";
        let expected = ["args", "image", "imagePullPolicy"];
        let mut expected = expected.map(|it| format!("{helm}.{it}")).to_vec();
        expected.insert(2, "spec.strategy.type".to_owned());
        assert_eq!(paths, expected);
    }

    #[test]
    fn labels_that_are_the_uid_of_a_job_are_no_difference() {
        let labels = |uid: &str| json!({ "labels": { "controller-uid": uid, "batch.kubernetes.io/controller-uid": uid } });
        assert_eq!(differing(&labels("1"), &labels("2")), []);
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
