//! The entries of `managedFields` before and after a takeover.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use serde_json::{Map, Value, json};

/// What an earlier operator may have set once, for others to change: they keep its value unless we apply one. Without a value, the
/// API server would set its default.
const REPLICAS: [&str; 2] = ["spec", "replicas"];

/// The fields that are not taken over because `applied` does not set them.
pub(super) fn kept(applied: &Value) -> &'static [[&'static str; 2]] {
    let [first, second] = REPLICAS;
    if applied[first][second].is_null() {
        &[REPLICAS]
    } else {
        &[]
    }
}

/// The entries with those of the managers `names` merged into the one of `ours` for applies; `None` if they have none.
///
/// The fields `kept` lose the owner that they have there. Entries about a subresource stay: a status is written by updates, which take the fields from their owners anyway.
/// Entries in another version of the kind than the latest one are dropped, as in csaupgrade.
pub(super) fn taken_over(
    entries: &[ManagedFieldsEntry],
    names: &[String],
    ours: &str,
    kept: &[[&str; 2]],
) -> Option<Vec<ManagedFieldsEntry>> {
    let is_of_object = |entry: &ManagedFieldsEntry| entry.subresource.is_none();
    let is_ours = |entry: &&ManagedFieldsEntry| {
        is_of_object(entry)
            && entry.manager.as_deref() == Some(ours)
            && entry.operation.as_deref() == Some("Apply")
    };
    let is_theirs = |entry: &&ManagedFieldsEntry| {
        let is_named = |manager: &String| names.contains(manager);
        is_of_object(entry) && entry.manager.as_ref().is_some_and(is_named) && !is_ours(entry)
    };
    let latest = entries
        .iter()
        .filter(is_theirs)
        .max_by_key(|entry| entry.time.as_ref().map(|time| time.0))?;
    let mut own = entries.iter().find(is_ours).unwrap_or(latest).clone();
    let theirs = entries.iter().filter(is_theirs);
    let same_version = theirs.filter(|entry| entry.api_version == own.api_version);
    let fields = |entry: &ManagedFieldsEntry| Some(entry.fields_v1.as_ref()?.0.clone());
    let same_version = same_version.filter_map(fields).map(|mut fields| {
        for path in kept {
            remove(&mut fields, path);
        }
        fields
    });
    let fields = same_version.chain(entries.iter().filter(is_ours).filter_map(fields));
    let all = fields.reduce(|all, more| union(all, &more));
    own.manager = Some(ours.to_owned());
    own.operation = Some("Apply".to_owned());
    own.fields_v1 = all.map(FieldsV1);
    let others = entries.iter().filter(|it| !is_theirs(it) && !is_ours(it));
    Some(std::iter::once(own).chain(others.cloned()).collect())
}

/// Removes a field from a set in the format `FieldsV1`, and the fields around it that are not in the set themselves.
fn remove(fields: &mut Value, path: &[&str]) {
    let (Some((name, rest)), Some(fields)) = (path.split_first(), fields.as_object_mut()) else {
        return;
    };
    let name = format!("f:{name}");
    let Some(below) = fields.get_mut(&name) else {
        return;
    };
    let was_leaf = *below == json!({});
    remove(below, rest);
    if rest.is_empty() || !was_leaf && *below == json!({}) {
        fields.remove(&name);
    }
}

/// All fields of two sets in the format `FieldsV1`. There, `{}` is a field of the set without fields below it, and a
/// field that is in the set together with some below it contains `.`.
fn union(mut one: Value, other: &Value) -> Value {
    let (Some(into), Some(from)) = (one.as_object_mut(), other.as_object()) else {
        return one;
    };
    for (name, below) in from {
        let Some(known) = into.get_mut(name) else {
            into.insert(name.clone(), below.clone());
            continue;
        };
        let is_leaf = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        let is_one = is_leaf(known) != is_leaf(below);
        let mut all = union(known.take(), below);
        if is_one {
            all["."] = json!({});
        }
        *known = all;
    }
    one
}

#[cfg(test)]
#[allow(
    clippy::needless_pass_by_value,
    reason = "literals read better without references"
)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({
            "manager": manager, "operation": operation, "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        })
    }

    #[track_caller]
    fn check(before: Value, after: Option<Value>) {
        let entries: Vec<ManagedFieldsEntry> = serde_json::from_value(before).unwrap();
        let found = taken_over(&entries, &["manager".to_owned()], "new/one", &[REPLICAS]);
        assert_eq!(found.map(|found| json!(found)), after);
    }

    #[test]
    fn what_the_earlier_operator_has_updated_becomes_applied() {
        let data = json!({"f:data": {".": {}, "f:ship": {}}});
        let other = entry("kubectl-edit", "Update", json!({"f:data": {"f:crew": {}}}));
        check(
            json!([entry("manager", "Update", data.clone()), other]),
            Some(json!([entry("new/one", "Apply", data), other])),
        );
    }

    #[test]
    fn fields_of_both_are_merged() {
        let ours = json!({"f:data": {"f:ship": {}}, "f:metadata": {"f:labels": {}}});
        let theirs =
            json!({"f:data": {}, "f:metadata": {"f:labels": {"f:a": {}}}, "f:immutable": {}});
        let both = json!({
            "f:data": {".": {}, "f:ship": {}},
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:immutable": {},
        });
        check(
            json!([
                entry("new/one", "Apply", ours),
                entry("manager", "Update", theirs)
            ]),
            Some(json!([entry("new/one", "Apply", both)])),
        );
    }

    #[test]
    fn nothing_is_written_without_an_entry_or_for_a_status() {
        let fields = json!({"f:data": {}});
        check(json!([]), None);
        check(json!([entry("new/one", "Apply", fields.clone())]), None);
        check(json!([entry("another", "Update", fields.clone())]), None);
        let mut status = entry("manager", "Update", fields);
        status["subresource"] = json!("status");
        check(json!([status]), None);
    }

    #[test]
    fn fields_that_are_kept_lose_the_owner() {
        for (before, after) in [
            (
                json!({"f:spec": {"f:replicas": {}, "f:paused": {}}, "f:data": {}}),
                json!({"f:spec": {"f:paused": {}}, "f:data": {}}),
            ),
            (
                json!({"f:spec": {"f:replicas": {}}, "f:data": {}}),
                json!({"f:data": {}}),
            ),
            (
                json!({"f:spec": {".": {}, "f:replicas": {}}}),
                json!({"f:spec": {".": {}}}),
            ),
            (json!({"f:spec": {}}), json!({"f:spec": {}})),
            (json!({"f:replicas": {}}), json!({"f:replicas": {}})),
        ] {
            check(
                json!([entry("manager", "Update", before)]),
                Some(json!([entry("new/one", "Apply", after)])),
            );
        }
        // What we have applied ourselves is removed when we no longer do.
        let ours = json!({"f:spec": {"f:replicas": {}}});
        check(
            json!([
                entry("new/one", "Apply", ours.clone()),
                entry("manager", "Update", ours.clone())
            ]),
            Some(json!([entry("new/one", "Apply", ours)])),
        );
        let set = json!({"spec": {"replicas": 0}});
        assert!(kept(&set).is_empty());
        assert_eq!(kept(&json!({"spec": {"replicas": null}})), [REPLICAS]);
        assert_eq!(kept(&json!({})), [REPLICAS]);
    }

    #[test]
    fn of_two_versions_the_latest_is_taken_over() {
        let mut old = entry("manager", "Update", json!({"f:old": {}}));
        old["time"] = json!("2026-01-01T00:00:00Z");
        old["apiVersion"] = json!("v1beta1");
        let mut new = entry("manager", "Update", json!({"f:new": {}}));
        new["time"] = json!("2026-01-02T00:00:00Z");
        let mut own = entry("new/one", "Apply", json!({"f:new": {}}));
        own["time"] = new["time"].clone();
        check(json!([old, new]), Some(json!([own])));
    }
}
