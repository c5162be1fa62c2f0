//! Fields of objects: removed, required, defaulted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::pair::{Kind, Pair, kind};
use super::rule::Break;
use crate::lints::keywords::PRESERVE;

/// Fields that are gone, and the values of maps.
pub fn removed(pair: &Pair, found: &mut Vec<Break>) {
    if !holds_fields(pair) {
        return;
    }
    let (old, new) = (fields(pair.old), fields(pair.new.schema));
    let (old_map, new_map) = pair.both("additionalProperties");
    if is_map(new_map) {
        // Each former field is compared as a value of the map, because it is one now.
        return;
    }
    if is_map(old_map) {
        let text = "the map's values were removed: the API server drops them";
        let path = format!("{}[*]", pair.path());
        found.push(Break::new(&path, text, "keep the type"));
    }
    let gone = |name: &&String| !new.is_some_and(|new| new.contains_key(*name));
    let renamed = renamed(pair);
    for name in old.into_iter().flat_map(Map::keys).filter(gone) {
        let path = format!("{}.{name}", pair.path());
        found.push(match (is_kept(pair), renamed.get(name.as_str())) {
            (true, _) => {
                let text = "the field's schema was removed; its content survives, because unknown fields are kept";
                let help = "keep the field, so that it is still validated and documented";
                Break::new(&path, text, help).tolerated_if(true)
            }
            (false, Some(other)) => {
                let text = format!("the field was removed: the API server drops its content; `{other}` is new and has the same schema");
                let help = format!("if it was renamed, `#[serde(rename = \"{name}\")]` keeps the name in the API; else keep the field, or change it in a new version with conversion");
                Break::new(&path, text, help)
            }
            (false, None) => {
                let text = "the field was removed: the API server drops its content";
                let help = "keep the field, or remove it in a new version with conversion";
                Break::new(&path, text, help)
            }
        });
    }
}

/// Whether both describe objects with fields, rather than something else that is reported as another type.
fn holds_fields(pair: &Pair) -> bool {
    pair.is_same_kind() && matches!(kind(pair.old), Kind::Object | Kind::Resource)
}

fn fields(schema: &Value) -> Option<&Map<String, Value>> {
    schema["properties"].as_object()
}

fn is_map(values: &Value) -> bool {
    values.is_object() || values == &Value::Bool(true)
}

fn is_kept(pair: &Pair) -> bool {
    pair.new.is(PRESERVE)
}

/// For each field that is gone, the only new one with its schema.
fn renamed<'a>(pair: &Pair<'a>) -> BTreeMap<&'a str, &'a str> {
    let (Some(old), Some(new)) = (fields(pair.old), fields(pair.new.schema)) else {
        return BTreeMap::new();
    };
    let mut added: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, schema) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        added.entry(undescribed(schema)).or_default().push(name);
    }
    let gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
    let renamed = gone.filter_map(
        |(name, schema)| match added.get(&undescribed(schema))?[..] {
            [only] => Some((name.as_str(), only)),
            _ => None,
        },
    );
    renamed.collect()
}

fn undescribed(schema: &Value) -> String {
    let keywords = schema.as_object().into_iter().flatten();
    let keywords = keywords.filter(|(key, _)| *key != "description");
    let keywords: BTreeMap<&String, &Value> = keywords.collect();
    // A map of JSON can always be written.
    serde_json::to_string(&keywords).unwrap_or_default()
}

/// Unknown fields that were kept.
pub fn unknown(pair: &Pair, found: &mut Vec<Break>) {
    let (old, new) = pair.both(PRESERVE);
    let open = |value: &Value| value == &Value::Bool(true);
    let values = pair.both("additionalProperties");
    if open(old) && !open(new) && !is_map(values.1) && pair.is_same_kind() {
        let text = "unknown fields were kept, and are now dropped";
        let help = "keep `x-kubernetes-preserve-unknown-fields`, or describe all fields in a new version with conversion";
        found.push(Break::new(pair.path(), text, help));
    }
}

fn names(list: &Value) -> impl Iterator<Item = &str> {
    let names = list.as_array().into_iter().flatten();
    names.filter_map(Value::as_str)
}

/// Fields that must now be present.
pub fn required(pair: &Pair, found: &mut Vec<Break>) {
    if !pair.is_same_kind() {
        return;
    }
    let (old, new) = pair.both("required");
    let before: BTreeSet<&str> = names(old).collect();
    for name in names(new).filter(|name| !before.contains(name)) {
        // The API server adds defaults before it validates, to stored objects as well.
        if !pair.new.get("properties")[name]["default"].is_null() {
            continue;
        }
        let path = format!("{}.{name}", pair.path());
        let was = if fields(pair.old).is_some_and(|old| old.contains_key(name)) {
            "the field is now required"
        } else {
            "the new field is required"
        };
        let text = format!(
            "{was}: objects without it are rejected, existing ones with the next change around it"
        );
        let help = "make it an `Option`, or give it a default: `#[serde(default)]`";
        found.push(Break::new(&path, text, help));
    }
}

/// Defaults of fields that existed.
pub fn default(pair: &Pair, found: &mut Vec<Break>) {
    let (old, new) = pair.both("default");
    if old == new || !pair.is_same_kind() {
        return;
    }
    let text = match (old.is_null(), new.is_null()) {
        (true, _) => {
            format!("the default {new} is new: objects without the field get it when they are read")
        }
        (_, true) => {
            format!("the default {old} was removed: new objects have no value, or are rejected")
        }
        _ => format!(
            "the default changed from {old} to {new}: the same manifest creates different objects"
        ),
    };
    let help = "keep the default, or change it in a new version";
    found.push(Break::new(pair.path(), text, help));
}
