//! How server-side apply merges lists and maps. An API server tolerates duplicate items that an object already has, whatever else changes.

use serde_json::Value;

use super::pair::{Kind, Pair, kind};
use super::rule::Break;

/// Lists and maps that are merged differently.
pub fn merging(pair: &Pair, found: &mut Vec<Break>) {
    if !pair.is_same_kind() {
        return;
    }
    match kind(pair.old) {
        Kind::List => list(pair, found),
        Kind::Object | Kind::Resource => map(pair, found),
        _ => {}
    }
}

fn list(pair: &Pair, found: &mut Vec<Break>) {
    let word = |value: &Value| value.as_str().unwrap_or("atomic").to_owned();
    let (old, new) = pair.both("x-kubernetes-list-type");
    let (old, new) = (word(old), word(new));
    let (old_keys, new_keys) = pair.both("x-kubernetes-list-map-keys");
    let text = if old != new {
        format!("the list type changed from `{old}` to `{new}`")
    } else if old_keys != new_keys {
        format!("the keys of the list changed from {old_keys} to {new_keys}")
    } else {
        return;
    };
    let help = if new == "atomic" {
        "keep the list type: server-side apply by one client now removes the items of others"
    } else {
        "keep the list type and its keys: server-side apply tells items apart by them, and new objects with duplicate items are rejected"
    };
    found.push(Break::new(pair.path(), text, help));
}

fn map(pair: &Pair, found: &mut Vec<Break>) {
    let word = |value: &Value| value.as_str().unwrap_or("granular").to_owned();
    let (old, new) = pair.both("x-kubernetes-map-type");
    let (old, new) = (word(old), word(new));
    if old != new {
        let text = format!("the map type changed from `{old}` to `{new}`");
        let help = "keep the map type: clients that use server-side apply now own other fields";
        found.push(Break::new(pair.path(), text, help));
    }
}
