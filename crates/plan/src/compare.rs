//! Two states -> what has changed between them.

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

#[cfg(test)]
mod tests {
    use super::super::state::strip;
    use super::*;
    use serde_json::json;

    fn state(objects: &[Value]) -> State {
        let entry = |object: &Value| {
            let id = Id {
                group: String::new(),
                kind: text(&object["kind"]).to_owned(),
                namespace: "navy".to_owned(),
                name: text(&object["metadata"]["name"]).to_owned(),
            };
            let mut object = object.clone();
            let managed = strip(&mut object).unwrap_or_default();
            let seen = Seen {
                object: object.to_string().into(),
                managed: managed.to_string().into(),
            };
            (id, seen)
        };
        objects.iter().map(entry).collect()
    }

    fn object(kind: &str, name: &str, uid: &str, rest: &Value) -> Value {
        let mut object = json!({ "kind": kind, "metadata": { "name": name, "uid": uid } });
        for (field, value) in rest.as_object().unwrap() {
            object[field] = value.clone();
        }
        object
    }

    fn compared(before: &[Value], after: &[Value]) -> Changes {
        compare(&state(before), &state(after), &BTreeSet::new())
    }

    fn actions(changes: &Changes) -> Vec<(Action, &str)> {
        let objects = changes.objects.iter();
        objects.map(|it| (it.action, it.id.name.as_str())).collect()
    }

    #[test]
    fn what_is_deleted_takes_along_what_it_owns() {
        let none = json!({});
        let mut pod = object("Pod", "b", "2", &none);
        pod["metadata"]["ownerReferences"] = json!([{ "uid": "1", "kind": "Job", "name": "a" }]);
        let mut of_pod = object("Secret", "c", "3", &none);
        of_pod["metadata"]["ownerReferences"] = json!([{ "uid": "2" }]);
        let mut shared = object("Secret", "d", "4", &none);
        shared["metadata"]["ownerReferences"] = json!([{ "uid": "2" }, { "uid": "other" }]);
        let before = [object("Job", "a", "1", &none), pod, of_pod, shared];
        let changes = compared(&before, &[]);
        let expected = [(Action::Deleted, "a"), (Action::Deleted, "d")];
        assert_eq!(actions(&changes), expected);
        assert_eq!(
            changes.objects[0].dependents,
            ["Pod navy/b", "Secret navy/c"]
        );
    }

    #[test]
    fn an_object_with_another_uid_is_recreated() {
        let job = |uid: &str| [object("Job", "a", uid, &json!({ "spec": {} }))];
        assert_eq!(
            actions(&compared(&job("1"), &job("2"))),
            [(Action::Recreated, "a")]
        );
        assert_eq!(actions(&compared(&job("1"), &job("1"))), []);
        assert_eq!(actions(&compared(&[], &job("1"))), [(Action::Created, "a")]);
    }

    #[test]
    fn an_object_that_only_waits_for_the_garbage_collector_is_deleted() {
        let before = [object("Job", "a", "1", &json!({}))];
        let mut after = before.clone();
        after[0]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        after[0]["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
        assert_eq!(
            actions(&compared(&before, &after)),
            [(Action::Deleted, "a")]
        );
        after[0]["metadata"]["finalizers"] = json!(["crew.example.com/x"]);
        assert_eq!(
            actions(&compared(&before, &after)),
            [(Action::Changed, "a")]
        );
    }

    #[test]
    fn pods_restart_only_if_their_template_differs() {
        let deployment = |image: &str, replicas: u64| {
            let template =
                json!({ "spec": { "containers": [{ "name": "helm", "image": image }] } });
            [object(
                "Deployment",
                "a",
                "1",
                &json!({ "spec": { "replicas": replicas, "template": template } }),
            )]
        };
        let restarts = |after: &[Value]| compared(&deployment("1", 3), after).objects[0].restarts;
        assert_eq!(restarts(&deployment("2", 3)), Some(3));
        assert_eq!(restarts(&deployment("1", 2)), None);
        // None runs.
        assert_eq!(restarts(&deployment("2", 0)), None);
    }

    #[test]
    fn pods_of_a_set_that_updates_on_deletion_do_not_restart_by_themselves() {
        let set = |image: &str| {
            let spec = json!({
                "replicas": 3, "updateStrategy": { "type": "OnDelete" },
                "template": { "spec": { "containers": [{ "name": "helm", "image": image }] } },
            });
            [object("StatefulSet", "a", "1", &json!({ "spec": spec }))]
        };
        let change = compared(&set("1"), &set("2")).objects.remove(0);
        assert_eq!((change.restarts, change.on_delete), (None, true));
    }

    #[test]
    fn a_status_in_which_nothing_but_times_differs_counts_as_no_change() {
        let captain = |at: &str, phase: &str| {
            let condition = json!({ "type": "Ready", "lastHeartbeatTime": at });
            let status = json!({ "phase": phase, "conditions": [condition], "synced": [at] });
            [object("Captain", "a", "1", &json!({ "status": status }))]
        };
        let before = captain("2026-01-01T00:00:00Z", "sails");
        let changes = compared(&before, &captain("2026-01-02T03:04:05.678+01:00", "sails"));
        assert_eq!((changes.status, changes.times), (vec![], 1));
        let changes = compared(&before, &captain("2026-01-02T00:00:00Z", "sinks"));
        assert_eq!((changes.status.len(), changes.times), (1, 0));
        let changes = compared(&before, &captain("later", "sails"));
        assert_eq!((changes.status.len(), changes.times), (1, 0));
    }

    #[test]
    fn a_change_names_who_has_made_it_and_whose_value_it_replaces() {
        let set = |manager: &str, replicas: u8| {
            let mut set = object(
                "StatefulSet",
                "a",
                "1",
                &json!({ "spec": { "replicas": replicas } }),
            );
            let fields = json!({ "f:spec": { "f:replicas": {} } });
            set["metadata"]["managedFields"] = json!([{ "manager": manager, "fieldsV1": fields }]);
            [set]
        };
        let change = |before: &str| {
            let mut changes = compared(&set(before, 5), &set("crew/captain", 2));
            let change = changes.objects.remove(0);
            (change.managers, change.fields[0].taken_from.clone())
        };
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(
            change("kubectl-edit"),
            (names(&["crew/captain"]), names(&["kubectl-edit"]))
        );
        assert_eq!(
            change("crew/captain"),
            (names(&["crew/captain"]), names(&[]))
        );
        let created = compared(&[], &set("crew/captain", 2)).objects.remove(0);
        assert_eq!(created.managers, names(&["crew/captain"]));
        assert_eq!(created.fields[0].path, "spec.replicas");
    }

    #[test]
    fn elements_of_lists_are_named_and_the_status_is_counted_apart() {
        let old = json!({ "status": { "conditions": [{ "type": "Ready", "status": "False" }] }, "spec": { "ports": [{ "name": "a", "port": 1 }] } });
        let new = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] }, "spec": { "ports": [{ "name": "b", "port": 2 }, { "name": "a", "port": 3 }] } });
        let changes = compared(
            &[object("Service", "a", "1", &old)],
            &[object("Service", "a", "1", &new)],
        );
        let paths: Vec<&str> = changes.objects[0]
            .fields
            .iter()
            .map(|it| it.path.as_str())
            .collect();
        assert_eq!(paths, ["spec.ports[a].port", "spec.ports[b]"]);
        let status = &changes.status[0];
        assert_eq!(
            (status.objects, status.fields.contains("conditions[Ready]")),
            (1, true)
        );
    }
}
