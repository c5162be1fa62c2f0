//! The objects that two projects deploy -> their differences, one a line.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::known::Known;

/// Objects by kind and name, with the namespace of those outside the operator's.
/// In each text, `P` stands for the name of the project, and `P-system` for its namespace.
pub type Objects = BTreeMap<String, Value>;

/// How a project names what it deploys.
#[derive(Debug)]
pub struct Names {
    /// How names begin: `captains-`.
    pub prefix: String,
    /// The namespace of the operator.
    pub namespace: String,
    /// The operator's Deployment, which is `P-controller-manager` in each text.
    pub deployment: String,
}

/// What is absent on one side.
const ABSENT: &str = "-";

/// The objects of rendered YAML.
///
/// # Errors
/// It is not YAML of objects with names, or two of the same kind have the same name.
pub fn objects(rendered: &str, names: &Names) -> Result<Objects, String> {
    let mut objects = Objects::new();
    for document in rendered.split("\n---\n") {
        let mut object: Value =
            serde_saphyr::from_str(document).map_err(|error| error.to_string())?;
        // The schema of a kind says nothing of the operator's names.
        if object["kind"] == "CustomResourceDefinition" {
            rename(&mut object["metadata"]["annotations"], names);
            rename(&mut object["spec"]["conversion"], names);
        } else {
            rename(&mut object, names);
            call_manager(&mut object);
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let mut key = text(&object["kind"]) + " " + &text(&metadata["name"]);
        let namespace = text(&metadata["namespace"]);
        if !["", "P-system"].contains(&&*namespace) {
            key = format!("{key} in {namespace}");
        }
        if objects.insert(key.clone(), object).is_some() {
            return Err(format!("{key} twice"));
        }
    }
    Ok(objects)
}

/// Gives the operator's container the name that kbr has for it.
fn call_manager(object: &mut Value) {
    let is_operator = object["metadata"]["name"] == "P-controller-manager";
    let containers = object.pointer_mut("/spec/template/spec/containers");
    let containers = containers.and_then(Value::as_array_mut);
    let Some(containers) = containers.filter(|_| is_operator) else {
        return;
    };
    if !containers.iter().any(|it| it["name"] == "manager")
        && let Some(first) = containers.first_mut()
    {
        first["name"] = "manager".into();
    }
}

fn rename(value: &mut Value, names: &Names) {
    let (prefix, namespace) = (names.prefix.as_str(), names.namespace.as_str());
    match value {
        Value::String(text) if *text == names.deployment => {
            "P-controller-manager".clone_into(text);
        }
        Value::String(text) if !namespace.is_empty() && *text == namespace => {
            "P-system".clone_into(text);
        }
        Value::String(text) if Some(text.as_str()) == prefix.strip_suffix('-') => {
            "P".clone_into(text);
        }
        Value::String(text) => {
            for end in ["/", ".svc"] {
                *text = text.replace(&format!("{namespace}{end}"), &format!("P-system{end}"));
            }
            if !prefix.is_empty() {
                *text = text.replace(prefix, "P-");
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|it| rename(it, names)),
        Value::Object(fields) => fields.values_mut().for_each(|it| rename(it, names)),
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
