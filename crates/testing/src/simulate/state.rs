//! The state of a cluster, without what differs from one run to the next.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::ByteString;
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::FakeApi;

/// The annotation that another writer sets.
pub(super) const TOUCHED: &str = "simulate.kbr-testing/touched";

/// The objects, by their names.
pub(super) type State = BTreeMap<String, Value>;

/// What stands for an observed generation that is not the current one.
pub(super) const OLDER: &str = "<older>";

/// What is not part of the state: what operators report about themselves.
pub(super) const NOT_COMPARED: [&str; 2] = ["Event", "Lease"];

/// Metadata that the API server sets.
pub(super) const SERVERS: [&str; 6] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The current state, with what services outside the cluster hold. Uids, times, versions and generated names are replaced by
/// what they stand for.
pub(super) fn of(api: &FakeApi, held: State) -> State {
    let all: Vec<Value> = api.change_quietly(|objects| objects.all(|_| true));
    let compared = |object: &&Value| {
        let kind = object["kind"].as_str().unwrap_or_default();
        !NOT_COMPARED.contains(&kind)
    };
    let names = Names::of(&all);
    let all = all.iter().filter(compared);
    let objects = all.map(|object| (names.title(object), names.normal(object)));
    // A service that holds nothing is as one that was not used.
    let held = held.into_iter().filter(|(_, value)| !is_zero(value));
    let held = held.map(|(title, mut value)| {
        names.mask(&mut value, &Value::Null);
        (names.replaced(&title), value)
    });
    objects.chain(held).collect()
}

/// What uids and generated names stand for.
struct Names(Vec<(String, String)>);

impl Names {
    fn of(objects: &[Value]) -> Self {
        let mut generated: BTreeMap<String, usize> = BTreeMap::new();
        let (mut names, mut sorted): (Vec<_>, Vec<_>) = (Vec::new(), objects.iter().collect());
        // Uids count creations.
        sorted.sort_by_key(|object| object["metadata"]["uid"].as_str());
        for object in &sorted {
            let meta = &object["metadata"];
            if let (Some(prefix), Some(name)) = (
                meta["generateName"].as_str().filter(|it| !it.is_empty()),
                meta["name"].as_str(),
            ) {
                let count = generated.entry(prefix.to_owned()).or_default();
                *count += 1;
                names.push((name.to_owned(), format!("{prefix}{count}")));
            }
        }
        let mut names = Self(names);
        let uids = sorted.iter().filter_map(|object| {
            let uid = object["metadata"]["uid"].as_str()?;
            Some((uid.to_owned(), format!("<uid of {}>", names.title(object))))
        });
        let uids: Vec<_> = uids.collect();
        names.0.extend(uids);
        names
    }

    /// The name of an object in reports.
    fn title(&self, object: &Value) -> String {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let meta = &object["metadata"];
        let (kind, name) = (text(&object["kind"]), self.replaced(&text(&meta["name"])));
        match meta["namespace"].as_str() {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        }
    }

    fn normal(&self, object: &Value) -> Value {
        let mut object = object.clone();
        let generation = object["metadata"]["generation"].clone();
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.retain(|field, _| !SERVERS.contains(&field.as_str()));
            if let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.remove(TOUCHED);
                if annotations.is_empty() {
                    meta.remove("annotations");
                }
            }
        }
        if object["kind"] == "Secret" {
            decode(&mut object["data"]);
        }
        self.mask(&mut object, &generation);
        without_zeros(&mut object["status"]);
        object
    }

    fn mask(&self, value: &mut Value, generation: &Value) {
        match value {
            Value::String(text) => *text = self.replaced(text),
            Value::Array(items) => {
                for item in items {
                    self.mask(item, generation);
                }
            }
            Value::Object(fields) => {
                let renamed = |name: &String| self.replaced(name) != *name;
                if fields.keys().any(renamed) {
                    let all = std::mem::take(fields).into_iter();
                    *fields = all.map(|(name, it)| (self.replaced(&name), it)).collect();
                }
                for (name, field) in fields {
                    if let ("conditions", Some(conditions)) = (name.as_str(), field.as_array_mut())
                    {
                        // Their order has no meaning.
                        conditions.sort_by_key(|it| it["type"].as_str().map(str::to_owned));
                    }
                    if name == "observedGeneration" && field.is_number() {
                        let current = field == generation;
                        *field = json!(if current { "<current>" } else { OLDER });
                    }
                    self.mask(field, generation);
                    if let ("ownerReferences" | "finalizers", Some(items)) =
                        (name.as_str(), field.as_array_mut())
                    {
                        // The same, once uids are what they stand for.
                        items.sort_by_cached_key(ToString::to_string);
                    }
                }
            }
            _ => {}
        }
    }

    fn replaced(&self, text: &str) -> String {
        if is_time(text) {
            return "<time>".to_owned();
        }
        let mut text = text.to_owned();
        for (from, to) in &self.0 {
            if text.contains(from.as_str()) {
                text = text.replace(from.as_str(), to);
            }
        }
        if text.starts_with("00000000-0000-4000-8000-") {
            return "<uid of an object that is gone>".to_owned();
        }
        text
    }
}

/// Makes text of the data of a Secret, in which a uid would be hidden otherwise.
fn decode(data: &mut Value) {
    for (_, value) in data.as_object_mut().into_iter().flatten() {
        let bytes = ByteString::deserialize(&*value).map(|bytes| bytes.0);
        if let Some(text) = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()) {
            *value = text.into();
        }
    }
}

/// Removes fields of a status that are zero: to types with defaults, and in the Kubernetes API conventions, that is the same
/// as no field.
fn without_zeros(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_zeros),
        Value::Object(fields) => {
            fields.values_mut().for_each(without_zeros);
            fields.retain(|_, value| !is_zero(value));
        }
        _ => {}
    }
}

pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn is_time(text: &str) -> bool {
    text.len() >= "2020-01-01T00:00:00Z".len()
        && text.as_bytes()[10] == b'T'
        && text.parse::<Timestamp>().is_ok()
}

/// A difference at a JSON pointer: what is expected and what is found; `None` if it is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// Empty if the whole object is missing, or should not be there.
    pub(super) pointer: String,
    pub(super) expected: Option<Value>,
    pub(super) found: Option<Value>,
}

/// Where the state differs from what is expected, by object; `ignored` are pointers that may differ.
pub(super) fn differences(
    expected: &State,
    found: &State,
    ignored: &[String],
) -> Vec<(String, Difference)> {
    let titles: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let mut all = Vec::new();
    for title in titles {
        let mut here = Vec::new();
        compare(
            String::new(),
            expected.get(title),
            found.get(title),
            &mut here,
        );
        let counts = |one: &Difference| {
            !ignored
                .iter()
                .any(|pattern| fits(pattern, title, &one.pointer))
        };
        all.extend(
            here.into_iter()
                .filter(counts)
                .map(|one| (title.clone(), one)),
        );
    }
    all
}

/// Collects where two values differ, below a pointer.
pub(super) fn compare(
    pointer: String,
    expected: Option<&Value>,
    found: Option<&Value>,
    to: &mut Vec<Difference>,
) {
    if expected == found {
        return;
    }
    match (expected, found) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            for field in fields(a, b) {
                let escaped = field.replace('~', "~0").replace('/', "~1");
                let pointer = format!("{pointer}/{escaped}");
                compare(pointer, a.get(field), b.get(field), to);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for at in 0..a.len().max(b.len()) {
                compare(format!("{pointer}/{at}"), a.get(at), b.get(at), to);
            }
        }
        _ => to.push(Difference {
            pointer,
            expected: expected.cloned(),
            found: found.cloned(),
        }),
    }
}

fn fields<'a>(a: &'a Map<String, Value>, b: &'a Map<String, Value>) -> BTreeSet<&'a String> {
    a.keys().chain(b.keys()).collect()
}

/// Whether a pointer is at or below a pattern: a JSON pointer in which `*` stands for any one field, perhaps after
/// the title of an object; or only that title.
fn fits(pattern: &str, title: &str, pointer: &str) -> bool {
    let (object, pattern) = match pattern.split_once(" /") {
        _ if pattern.starts_with('/') => ("", &pattern[1..]),
        Some((object, pattern)) => (object, pattern),
        None => return pattern == title,
    };
    if !object.is_empty() && object != title {
        return false;
    }
    let mut parts = pointer.trim_start_matches('/').split('/');
    pattern.split('/').all(|wanted| {
        parts
            .next()
            .is_some_and(|part| wanted == "*" || wanted == part)
    })
}

/// How many times each object was created and deleted. Objects with generated names count together.
pub(super) fn counts(api: &FakeApi) -> BTreeMap<String, [usize; 2]> {
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for (object, created) in api.change_quietly(|objects| objects.births_and_deaths()) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, meta) = (text(&object["kind"]), &object["metadata"]);
        if kind == "Event" || kind == "Lease" {
            continue;
        }
        let name = match meta["generateName"].as_str() {
            Some(prefix) if !prefix.is_empty() => format!("{prefix}*"),
            _ => text(&meta["name"]),
        };
        let title = format!("{kind} {}/{name}", text(&meta["namespace"]));
        counts.entry(title).or_default()[usize::from(!created)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(value: Value) -> State {
        std::iter::once(("ConfigMap default/a".to_owned(), value)).collect()
    }

    #[test]
    fn a_zero_in_a_status_is_no_field() {
        let mut object = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"},
            "spec": {"replicas": 0}, "status": {"phase": "", "count": 0, "list": [{"ok": false, "at": 1}], "more": {}},
        });
        let names = Names::of(&[]);
        let normal = names.normal(&object);
        assert_eq!(normal["status"], json!({"list": [{"at": 1}]}));
        assert_eq!(normal["spec"], json!({"replicas": 0}));
        object["status"] = Value::Null;
        let nothing = names.normal(&object);
        object.as_object_mut().unwrap().remove("status");
        assert_eq!(nothing, names.normal(&object));
    }

    #[test]
    fn a_uid_is_what_it_stands_for_in_a_key_and_in_a_secret_too() {
        let of = |uid: &str, encoded: &str| {
            let owner = json!({
                "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default", "uid": uid},
            });
            let secret = json!({
                "kind": "Secret", "metadata": {"name": "b", "namespace": "default"},
                "data": {"user": encoded, "binary": "/w=="},
            });
            let names = Names::of(&[owner]);
            let mut held = json!({ uid: 1 });
            names.mask(&mut held, &Value::Null);
            (held, names.normal(&secret)["data"].clone())
        };
        let (held, data) = of(
            "00000000-0000-4000-8000-000000000002",
            "MDAwMDAwMDAtMDAwMC00MDAwLTgwMDAtMDAwMDAwMDAwMDAy",
        );
        assert_eq!(held, json!({"<uid of ConfigMap default/a>": 1}));
        assert_eq!(
            data,
            json!({"user": "<uid of ConfigMap default/a>", "binary": "/w=="})
        );
        let other = of(
            "00000000-0000-4000-8000-000000000009",
            "MDAwMDAwMDAtMDAwMC00MDAwLTgwMDAtMDAwMDAwMDAwMDA5",
        );
        assert_eq!(other, (held, data));
    }

    #[test]
    fn fields_that_may_differ_are_ignored() {
        let (one, two) = (
            state(json!({"status": {"tries": 1, "list": [{"at": 1}]}})),
            state(json!({"status": {"tries": 2, "list": [{"at": 2}]}})),
        );
        let left = |ignored: &[&str]| {
            let ignored: Vec<_> = ignored.iter().map(|&one| one.to_owned()).collect();
            differences(&one, &two, &ignored).len()
        };
        assert_eq!(left(&[]), 2);
        assert_eq!(left(&["/status/tries"]), 1);
        assert_eq!(left(&["/status/list/*/at"]), 1);
        assert_eq!(left(&["/status"]), 0);
        assert_eq!(left(&["ConfigMap default/a /status"]), 0);
        assert_eq!(left(&["ConfigMap default/b /status"]), 2);
        assert_eq!(left(&["ConfigMap default/a"]), 0);
        assert_eq!(left(&["ConfigMap default/b"]), 2);
    }
}
