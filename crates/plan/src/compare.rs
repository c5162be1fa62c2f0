//! Two states -> what has changed between them.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::difference::{Field, content, differing};
use super::discovery::{list, text};
use super::managers::{Managers, is_below};
use super::state::{Id, Seen, State};
use super::time::is_time_alone;

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// It is new.
    Created,
    /// Fields of it change.
    Changed,
    /// It is deleted, and created again.
    Recreated,
    /// It is deleted.
    Deleted,
}

/// An object that changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What happens to it.
    pub action: Action,
    /// The object.
    #[serde(flatten)]
    pub id: Id,
    /// `Captain nemo`: its controller.
    pub owner: Option<String>,
    /// The number of Pods that restart, if its Pod template changes.
    pub restarts: Option<u64>,
    /// Whether its Pod template changes, and its Pods keep the old one until someone deletes them.
    pub on_delete: bool,
    /// The fields that differ, apart from those of the status; of a new object, what it contains.
    pub fields: Vec<Field>,
    /// The field managers that have set these values.
    pub managers: BTreeSet<String>,
    /// What the garbage collector has deleted with it: `Pod navy/nemo-0`.
    pub dependents: Vec<String>,
}

/// Fields of the status that differ in objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The kind.
    pub kind: String,
    /// The first field in each path below the status.
    pub fields: BTreeSet<String>,
    /// The number of these objects.
    pub objects: usize,
}

/// All changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Sorted by kind, namespace and name.
    pub objects: Vec<Change>,
    /// By kind.
    pub status: Vec<Status>,
    /// The number of objects in whose status nothing but times differs, which counts as no change.
    pub times: usize,
}

/// Compares two states, without the objects that the installation itself applied.
pub fn compare(before: &State, after: &State, installed: &BTreeSet<Id>) -> Changes {
    let mut objects = Vec::new();
    let mut status: BTreeMap<String, Status> = BTreeMap::new();
    let mut times = 0;
    let ids: BTreeSet<&Id> = before.keys().chain(after.keys()).collect();
    for id in ids.into_iter().filter(|id| !installed.contains(id)) {
        let (seen, seen_after) = (before.get(id), after.get(id));
        if seen.map(|it| &it.object) == seen_after.map(|it| &it.object) {
            continue;
        }
        let parse = |seen: &Seen| serde_json::from_str::<Value>(&seen.object).unwrap_or_default();
        let old = seen.map(parse).filter(|it| !is_deleted(it));
        let new = seen_after.map(parse).filter(|it| !is_deleted(it));
        let fields = match (&old, &new) {
            (Some(old), Some(new)) => differing(old, new),
            (None, Some(new)) => content(new),
            (_, None) => Vec::new(),
        };
        let (of_status, mut fields): (Vec<Field>, Vec<Field>) = fields
            .into_iter()
            .partition(|it| it.path == "status" || is_below(&it.path, "status"));
        let action = match (&old, &new) {
            (None, None) => continue,
            (None, Some(_)) => Action::Created,
            (Some(_), None) => Action::Deleted,
            (Some(old), Some(new)) if old["metadata"]["uid"] != new["metadata"]["uid"] => {
                Action::Recreated
            }
            (Some(_), Some(_)) => Action::Changed,
        };
        let is_shown = of_status.iter().any(|it| !is_time_alone(it));
        if action == Action::Changed && !of_status.is_empty() && !is_shown {
            times += 1;
        }
        if action == Action::Changed && is_shown {
            let known = status.entry(id.kind.clone()).or_insert_with(|| Status {
                kind: id.kind.clone(),
                fields: BTreeSet::new(),
                objects: 0,
            });
            known.objects += 1;
            known
                .fields
                .extend(of_status.iter().map(|it| first_of_status(&it.path)));
        }
        if action == Action::Changed && fields.is_empty() {
            continue;
        }
        let managers = written_by(seen, seen_after, &mut fields);
        let shown = new.as_ref().or(old.as_ref());
        let (restarts, on_delete) = restarts(&id.kind, old.as_ref(), new.as_ref());
        objects.push(Change {
            action,
            id: id.clone(),
            owner: shown.and_then(owner),
            restarts,
            on_delete,
            fields,
            managers,
            dependents: Vec::new(),
        });
    }
    Changes {
        objects: gather_dependents(objects, before),
        status: status.into_values().collect(),
        times,
    }
}

/// Who has set the fields. Notes with each who had set it before.
fn written_by(
    before: Option<&Seen>,
    after: Option<&Seen>,
    fields: &mut [Field],
) -> BTreeSet<String> {
    let of = |seen: Option<&Seen>| Managers::parse(seen.map_or("", |it| &it.managed));
    let (before, after) = (of(before), of(after));
    let owned = |text: &str| text.to_owned();
    let mut all = BTreeSet::new();
    for field in fields.iter().filter(|it| it.after.is_some()) {
        all.extend(after.of(&field.path).into_iter().map(owned));
    }
    for field in fields.iter_mut() {
        let now = after.of(&field.path);
        if field.after.is_some() && !now.is_empty() {
            let others = before.of(&field.path).into_iter().map(owned);
            field.taken_from = others.filter(|it| !all.contains(it)).collect();
        }
    }
    all
}

/// Whether only a kubelet or the garbage collector is missing for its end.
fn is_deleted(object: &Value) -> bool {
    let meta = &object["metadata"];
    let of_collector = |it: &Value| it == "foregroundDeletion" || it == "orphan";
    !meta["deletionTimestamp"].is_null() && list(&meta["finalizers"]).all(of_collector)
}

/// Lists with each deleted object what the garbage collector has deleted with it: the deleted objects that have lost all owners.
fn gather_dependents(objects: Vec<Change>, before: &State) -> Vec<Change> {
    let gone: Vec<Option<Value>> = objects
        .iter()
        .map(|it| {
            let is_gone = matches!(it.action, Action::Deleted | Action::Recreated);
            let seen = before.get(&it.id).filter(|_| is_gone)?;
            let mut object: Value = serde_json::from_str(&seen.object).ok()?;
            Some(object["metadata"].take())
        })
        .collect();
    let by_uid: HashMap<&str, usize> = (0..)
        .zip(&gone)
        .filter_map(|(at, meta)| Some((text(&meta.as_ref()?["uid"]), at)))
        .collect();
    // The first owner, if all are gone.
    let owner = |at: usize| -> Option<usize> {
        let owners = list(&gone[at].as_ref()?["ownerReferences"]);
        let owners: Option<Vec<usize>> = owners
            .map(|it| by_uid.get(text(&it["uid"])).copied())
            .collect();
        owners?.first().copied()
    };
    // The deletion came from there, however far up. Owners that own each other have no end.
    let root = |at: usize| {
        let chain = std::iter::successors(Some(at), |at| owner(*at));
        chain.take(objects.len()).last().unwrap_or(at)
    };
    let mut dependents: HashMap<usize, Vec<String>> = HashMap::new();
    let mut is_listed = vec![false; objects.len()];
    for (at, change) in objects.iter().enumerate() {
        let root = root(at);
        if change.action == Action::Deleted && root != at {
            is_listed[at] = true;
            let of_root = dependents.entry(root).or_default();
            of_root.push(change.id.to_string());
        }
    }
    let mut rest = Vec::new();
    for (at, mut change) in objects.into_iter().enumerate() {
        if !is_listed[at] {
            change.dependents = dependents.remove(&at).unwrap_or_default();
            rest.push(change);
        }
    }
    rest
}

/// `conditions[Ready]` of `status.conditions[Ready].reason`; `status` itself if it is new.
fn first_of_status(path: &str) -> String {
    let path = path.strip_prefix("status.").unwrap_or(path);
    let end = path.find('.').unwrap_or(path.len());
    path[..end].to_owned()
}

/// The number of Pods that restart because the Pod template differs, and whether they do so only when someone deletes them.
fn restarts(kind: &str, old: Option<&Value>, new: Option<&Value>) -> (Option<u64>, bool) {
    let (Some(old), Some(new)) = (old, new) else {
        return (None, false);
    };
    if old["spec"]["template"] == new["spec"]["template"]
        && old["metadata"]["uid"] == new["metadata"]["uid"]
    {
        return (None, false);
    }
    let count = match kind {
        "Deployment" | "StatefulSet" | "ReplicaSet" => new["spec"]["replicas"].as_u64().or(Some(1)),
        "DaemonSet" => old["status"]["desiredNumberScheduled"].as_u64(),
        "Job" => new["spec"]["parallelism"].as_u64().or(Some(1)),
        _ => None,
    };
    let count = count.filter(|count| *count > 0);
    let on_delete = new["spec"]["updateStrategy"]["type"] == "OnDelete" && count.is_some();
    (count.filter(|_| !on_delete), on_delete)
}

/// The controller of an object, or its only owner.
fn owner(object: &Value) -> Option<String> {
    let owners = &object["metadata"]["ownerReferences"];
    let owner = list(owners)
        .find(|it| it["controller"] == true)
        .or(list(owners).next())?;
    Some(format!("{} {}", text(&owner["kind"]), text(&owner["name"])))
}
