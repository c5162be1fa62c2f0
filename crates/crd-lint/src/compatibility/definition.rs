//! Kind, scope, versions and conversion.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::rule::Break;
use crate::definition::Definition;

/// The version whose objects are now read as `new`, if they are read without conversion.
///
/// A version that was not served and is not served is not compared.
pub fn before<'a>(
    old: &BTreeMap<&str, &'a Value>,
    stored: Option<&'a Value>,
    crd: &Definition,
    new: &Value,
) -> Option<&'a Value> {
    let is_used = |version: &Value| is_served(version) || is_stored(version);
    if !is_used(new) {
        return None;
    }
    match old.get(name(new)) {
        Some(same) => Some(*same).filter(|same| is_used(same)),
        None if converts(crd) => None,
        None => stored,
    }
}

/// The name of the kind.
pub fn kind(old: &Definition, new: &Definition, found: &mut Vec<Break>) {
    let (before, now) = (&old.names()["kind"], &new.names()["kind"]);
    if before != now {
        let text = format!("the kind {} was renamed to {}", quoted(before), quoted(now));
        let help = "keep the name, or give the new kind another plural";
        found.push(Break::new("", text, help));
    }
}

/// Namespaced or not.
pub fn scope(old: &Definition, new: &Definition, found: &mut Vec<Break>) {
    let scope = |it: &Definition| it.0["spec"]["scope"].clone();
    let (before, now) = (scope(old), scope(new));
    if before != now {
        let text = format!(
            "the scope changed from {} to {}",
            quoted(&before),
            quoted(&now)
        );
        let help = "keep the scope, or create another kind: objects cannot change their scope";
        found.push(Break::new("", text, help));
    }
}

/// Versions without which stored objects cannot be read.
pub fn still_stored(old: &Definition, new: &Definition, found: &mut Vec<Break>) {
    let new = by_name(new);
    for version in stored_versions(old).filter(|version| !new.contains_key(version)) {
        let text = format!(
            "version `{version}` was removed, but is in `status.storedVersions`: objects may be stored in it"
        );
        let help = format!(
            "keep it with `served = false` until every object is stored in another version and `{version}` is removed from `status.storedVersions`"
        );
        found.push(Break::new("", text, help));
    }
}

/// Versions that clients can no longer use.
pub fn versions(old: &Definition, new: &Definition, found: &mut Vec<Break>) {
    let new = by_name(new);
    let known_as_stored: BTreeSet<&str> = stored_versions(old).collect();
    for version in old.versions() {
        let name = name(version);
        if known_as_stored.contains(name) && !new.contains_key(name) {
            continue;
        }
        match new.get(name) {
            None if is_stored(version) => {
                let text = format!(
                    "the storage version `{name}` was removed: objects stored in it cannot be read"
                );
                let help = "keep it with `served = false` until `status.storedVersions` of the definition in every cluster lists only other versions";
                found.push(Break::new("", text, help));
            }
            Some(_) if !is_served(version) => {}
            Some(now) if is_served(now) => {}
            _ if !is_served(version) => {}
            _ => {
                let text = format!("version `{name}` is not served now: requests for it fail");
                let help = "serve it until no client uses it, with `deprecated` in `#[kube(…)]` so that they are warned";
                found.push(Break::new("", text, help));
            }
        }
    }
}

/// Conversion that nothing does any more.
pub fn conversion(old: &Definition, new: &Definition, found: &mut Vec<Break>) {
    if converts(old) && !converts(new) && new.versions().len() > 1 {
        let text = "the conversion webhook was removed: objects of one version are read unchanged as another";
        let help = "keep the conversion while the kind has several versions";
        found.push(Break::new("", text, help));
    }
}

/// The version in which objects are stored.
pub fn storage(old: &Definition, new: &Definition, found: &mut Vec<Break>) {
    let stored = |crd| stored(crd).map(|version| name(version).to_owned());
    let (Some(before), Some(now)) = (stored(old), stored(new)) else {
        return;
    };
    if before != now {
        let text = format!(
            "storage version changed from `{before}` to `{now}`; existing objects stay `{before}` until rewritten"
        );
        let help = format!(
            "keep `{before}` until all objects are rewritten and it is removed from `status.storedVersions`: `manager.migrate_storage` of kbr-manager does both"
        );
        found.push(Break::new("", text, help));
    }
}

/// The version in which objects are stored.
pub fn stored<'a>(crd: &Definition<'a>) -> Option<&'a Value> {
    crd.versions().iter().find(|version| is_stored(version))
}

fn stored_versions<'a>(crd: &Definition<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let list = crd.0["status"]["storedVersions"].as_array();
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// The versions by their names; the first of those that have the same.
pub fn by_name<'a>(crd: &Definition<'a>) -> BTreeMap<&'a str, &'a Value> {
    let versions = crd.versions().iter().rev();
    versions.map(|version| (name(version), version)).collect()
}

fn name(version: &Value) -> &str {
    version["name"].as_str().unwrap_or_default()
}

fn is_served(version: &Value) -> bool {
    version["served"] != json!(false)
}

fn is_stored(version: &Value) -> bool {
    version["storage"] == json!(true)
}

fn converts(crd: &Definition) -> bool {
    crd.0["spec"]["conversion"]["strategy"] == json!("Webhook")
}

fn quoted(value: &Value) -> String {
    format!("`{}`", value.as_str().unwrap_or_default())
}
