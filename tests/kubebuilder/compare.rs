//! The objects that two projects deploy -> their differences, one a line.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::known::Known;

/// Objects by kind and name. In each text, `P` stands for the name of the project.
pub type Objects = BTreeMap<String, Value>;

/// What is absent on one side.
const ABSENT: &str = "-";

/// The objects of rendered YAML.
///
/// # Panics
/// It is not YAML, or two objects have the same kind and name.
pub fn objects(rendered: &str, project: &str) -> Objects {
    let mut objects = Objects::new();
    for document in rendered.split("\n---\n") {
        let mut object: Value = serde_saphyr::from_str(document).expect("YAML");
        rename(&mut object, project);
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let key = text(&object["kind"]) + " " + &text(&object["metadata"]["name"]);
        let second = objects.insert(key.clone(), object);
        assert!(second.is_none(), "{key} twice");
    }
    objects
}

fn rename(value: &mut Value, project: &str) {
    match value {
        Value::String(text) if text == project => "P".clone_into(text),
        Value::String(text) => *text = text.replace(&format!("{project}-"), "P-"),
        Value::Array(all) => all.iter_mut().for_each(|it| rename(it, project)),
        Value::Object(fields) => fields.values_mut().for_each(|it| rename(it, project)),
        _ => {}
    }
}

/// The differences between two sets of objects.
pub fn differences(theirs: &Objects, ours: &Objects, known: &Known) -> Vec<String> {
    let mut found = Vec::new();
    let mut paired = BTreeSet::new();
    for (key, object) in theirs {
        let Some(counterpart) = known.counterpart(key, ours) else {
            found.push(format!("{key}: only in Go"));
            continue;
        };
        of_object(key, object, &ours[&counterpart], &mut found);
        paired.insert(counterpart);
    }
    let others = ours.keys().filter(|key| !paired.contains(*key));
    found.extend(others.map(|key| format!("{key}: only in Rust")));
    found
}

fn of_object(key: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    let (mut theirs, mut ours) = (theirs.clone(), ours.clone());
    // Its counterpart is known by now.
    for object in [&mut theirs, &mut ours] {
        object["metadata"]["name"].take();
        if object["kind"]
            .as_str()
            .is_some_and(|it| it.ends_with("Role"))
        {
            object["rules"] = permissions(&object["rules"]);
        }
    }
    of_value(&format!("{key} "), &theirs, &ours, found);
}

/// The rules of a role as an object with a field for each request that they permit.
fn permissions(rules: &Value) -> Value {
    let mut all = Map::new();
    let list = |rule: &Value, key: &str| -> Vec<String> {
        let items = rule[key].as_array().into_iter().flatten();
        let items: Vec<_> = items.filter_map(Value::as_str).map(str::to_owned).collect();
        if items.is_empty() {
            vec![String::new()]
        } else {
            items
        }
    };
    for rule in rules.as_array().into_iter().flatten() {
        for group in list(rule, "apiGroups") {
            for resource in list(rule, "resources") {
                for name in list(rule, "resourceNames") {
                    for url in list(rule, "nonResourceURLs") {
                        for verb in list(rule, "verbs") {
                            let what = format!("{verb} {group}/{resource} {name}{url}");
                            all.insert(what.trim_end().to_owned(), Value::from(true));
                        }
                    }
                }
            }
        }
    }
    Value::Object(all)
}

fn of_value(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => of_fields(path, theirs, ours, found),
        (Value::Array(theirs), Value::Array(ours)) => {
            if let (Some(theirs), Some(ours)) = (named(theirs), named(ours)) {
                of_order(path, &theirs, &ours, found);
                let map = |all: Vec<(String, Value)>| all.into_iter().collect();
                of_fields(path, &map(theirs), &map(ours), found);
            } else if theirs != ours {
                found.push(format!("{path}: {} => {}", text(theirs), text(ours)));
            }
        }
        _ if theirs == ours => {}
        _ => found.push(format!("{path}: {} => {}", text(theirs), text(ours))),
    }
}

fn of_fields(
    path: &str,
    theirs: &Map<String, Value>,
    ours: &Map<String, Value>,
    found: &mut Vec<String>,
) {
    let keys: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
    for key in keys {
        let path = format!("{path}/{key}");
        match (theirs.get(key), ours.get(key)) {
            (Some(theirs), Some(ours)) => of_value(&path, theirs, ours, found),
            // An empty list is as good as none.
            (Some(theirs), None) if is_split(theirs) => {
                of_value(&path, theirs, &empty(theirs), found);
            }
            (None, Some(ours)) if is_split(ours) => of_value(&path, &empty(ours), ours, found),
            (theirs, ours) => {
                let text =
                    |value: Option<&Value>| value.map_or(ABSENT.to_owned(), Value::to_string);
                found.push(format!("{path}: {} => {}", text(theirs), text(ours)));
            }
        }
    }
}

/// Whether the parts of a value are differences of their own: labels, and lists by name.
fn is_split(value: &Value) -> bool {
    match value {
        Value::Array(items) => named(items).is_some(),
        Value::Object(fields) => !fields.is_empty() && fields.values().all(Value::is_string),
        _ => false,
    }
}

fn empty(value: &Value) -> Value {
    if value.is_array() {
        json!([])
    } else {
        json!({})
    }
}

/// The items of a list by their names, if all have one.
fn named(items: &[Value]) -> Option<Vec<(String, Value)>> {
    let item = |item: &Value| Some((item["name"].as_str()?.to_owned(), item.clone()));
    items.iter().map(item).collect()
}

/// Whether the names on both sides come in the same order.
fn of_order(
    path: &str,
    theirs: &[(String, Value)],
    ours: &[(String, Value)],
    found: &mut Vec<String>,
) {
    let common = |these: &[(String, Value)], those: &[(String, Value)]| -> Vec<String> {
        let names = these.iter().map(|(name, _)| name.clone());
        names
            .filter(|name| those.iter().any(|(it, _)| it == name))
            .collect()
    };
    let (before, after) = (common(theirs, ours), common(ours, theirs));
    if before != after {
        found.push(format!("{path} in order: {before:?} => {after:?}"));
    }
}

fn text<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("JSON")
}
