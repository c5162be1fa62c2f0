//! Deletion: preconditions, finalizers, and dependents.
//!
//! Source: `k8s.io/apiserver/pkg/registry/generic/registry/store.go`, `k8s.io/apiserver/pkg/registry/rest/delete.go`,
//! and `apiserver_rules::garbage` for the garbage collector. That of a cluster takes a while; here, dependents are
//! deleted at once.

use std::collections::BTreeSet;

use apiserver_rules::garbage::{FOREGROUND, Owner, Verdict, references, verdict};
use hyper::StatusCode;
use serde_json::{Value, json};

use super::{
    Call,
    answer::{Answer, ErrorResponse},
    kinds::Kind,
    path::Path,
    select::Selection,
    store::{Objects, Stored},
};

/// How to treat the dependents of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dependents {
    /// Delete them afterwards.
    Background,
    /// Delete them first.
    Foreground,
    /// Remove the owner reference and keep them.
    Orphan,
}

impl Dependents {
    /// The meaning of a propagation policy.
    fn parse(policy: &str) -> Option<Self> {
        match policy {
            "Background" => Some(Self::Background),
            "Foreground" => Some(Self::Foreground),
            "Orphan" => Some(Self::Orphan),
            _ => None,
        }
    }
}

impl Objects {
    /// Handles a request to delete an object.
    pub(super) fn delete_by(&mut self, call: &Call, kind: &Kind) -> Answer {
        let dependents = dependents(call)?;
        let path = call.path.object();
        self.preconditions(&path, kind, &call.body["preconditions"])?;
        let last = self.delete(&path, dependents)?;
        if self.stored.contains_key(&path) || kind.returns {
            return Ok((StatusCode::OK, call.shown(last)));
        }
        let details = json!({
            "name": path.name, "group": path.group(), "kind": path.plural,
            "uid": last["metadata"]["uid"],
        });
        let status = json!({
            "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success",
            "details": details,
        });
        Ok((StatusCode::OK, status))
    }

    /// Why an object cannot be deleted, if it cannot.
    pub(super) fn check_deletion(&self, call: &Call) -> Result<(), ErrorResponse> {
        let kind = self.known(call)?;
        dependents(call)?;
        let path = self.stored_path(&call.path.object());
        self.preconditions(&path, &kind, &call.body["preconditions"])
    }

    /// Deletes all objects that a request selects.
    pub(super) fn delete_collection(&mut self, call: &Call, kind: &Kind) -> Answer {
        let dependents = dependents(call)?;
        let list = self.list(call, kind)?;
        for path in self.paths_of(call)? {
            // It may have been deleted with an earlier one.
            let _ = self.delete(&path, dependents);
        }
        Ok(list)
    }

    /// The objects that a request selects.
    pub fn paths_of(&self, call: &Call) -> Result<Vec<Path>, ErrorResponse> {
        let selection = Selection::parse(&call.query, &call.path)?;
        let here = self.stored.iter().filter(|(path, _)| call.path.holds(path));
        let fit = here.filter(|(_, stored)| selection.fits(&stored.object));
        Ok(fit.map(|(path, _)| path.clone()).collect())
    }

    /// Deletes an object, like `kubectl delete`.
    pub fn delete_now(&mut self, path: &Path) {
        // An object that does not exist is not an error.
        let _ = self.delete(path, Dependents::Background);
    }

    fn preconditions(&self, path: &Path, kind: &Kind, wanted: &Value) -> Result<(), ErrorResponse> {
        let Some(stored) = self.stored.get(path) else {
            return Err(ErrorResponse::not_found(path));
        };
        for (name, field) in [("UID", "uid"), ("ResourceVersion", "resourceVersion")] {
            let found = &stored.object["metadata"][field];
            if !wanted[field].is_null() && wanted[field] != *found {
                let why = format!(
                    "the {name} in the precondition ({}) does not match the {name} in record ({})",
                    wanted[field], found
                );
                return Err(ErrorResponse::conflict(path, &why).about(&kind.name));
            }
        }
        Ok(())
    }

    /// Deletes an object, or marks it while it has finalizers; returns its current or last state.
    fn delete(&mut self, path: &Path, dependents: Dependents) -> Result<Value, ErrorResponse> {
        let missing = || ErrorResponse::not_found(path);
        let mut stored = self.stored.get(path).cloned().ok_or_else(missing)?;
        let uid = stored.object["metadata"]["uid"].clone();
        let owns = self.stored.values().any(|other| owned(other, &uid));
        match dependents {
            Dependents::Foreground if owns => hold(&mut stored),
            Dependents::Orphan => self.orphan(&uid),
            _ => {}
        }
        if !held(&stored.object) {
            return Ok(self.remove(path));
        }
        let now = self.now();
        let meta = &mut stored.object["metadata"];
        if meta.get("deletionTimestamp").is_none() {
            meta["deletionTimestamp"] = json!(now);
            meta["deletionGracePeriodSeconds"] = json!(0);
            if let Some(generation) = meta["generation"].as_i64() {
                meta["generation"] = json!(generation + 1);
            }
        }
        let last = match self.kinds.of(path) {
            Some(kind) if self.stored.get(path) != Some(&stored) => self.store(path, &kind, stored),
            _ => stored.whole(),
        };
        if dependents == Dependents::Foreground {
            for path in self.dependents_of(&uid) {
                self.collect_one(&path);
            }
            self.release(path);
        }
        Ok(last)
    }

    /// Deletes the objects whose owners are all gone, like the garbage collector of a cluster.
    pub fn collect_garbage(&mut self) {
        let metas = self.stored.values().map(meta);
        let owners = metas.flat_map(|meta| references(meta).map(move |owner| (meta, owner)));
        let gone: BTreeSet<_> = owners
            .filter(|(meta, owner)| self.owner(meta, owner) == Owner::Absent)
            .map(|(_, owner)| owner["uid"].to_string())
            .collect();
        for uid in gone {
            // It was written from a `Value`.
            self.collect_dependents(&serde_json::from_str(&uid).unwrap_or_default());
        }
    }

    fn collect_dependents(&mut self, uid: &Value) {
        for dependent in self.dependents_of(uid) {
            self.collect_one(&dependent);
        }
    }

    /// Does with an object what a garbage collector would do.
    fn collect_one(&mut self, path: &Path) {
        match self.verdict(path) {
            Verdict::Keep | Verdict::Release(_) => {}
            Verdict::Disown(owners) => owners.iter().for_each(|uid| self.disown(path, uid)),
            Verdict::Delete(policy) => {
                // It exists.
                let _ = Dependents::parse(policy).map(|it| self.delete(path, it));
            }
        }
    }

    fn verdict(&self, path: &Path) -> Verdict {
        let Some(meta) = self.stored.get(path).map(meta) else {
            return Verdict::Keep;
        };
        let others = self.stored.values();
        let dependents: Vec<_> = others
            .filter(|other| owned(other, &meta["uid"]))
            .map(self::meta)
            .collect();
        verdict(meta, |owner| self.owner(meta, owner), &dependents)
    }

    fn owner(&self, dependent: &Value, reference: &Value) -> Owner {
        let mut all = self.stored.values().map(meta);
        Owner::of(all.find(|meta| meta["uid"] == reference["uid"]), dependent)
    }

    /// Handles the dependents and owners of an object that is gone.
    pub(super) fn collect(&mut self, path: &Path, object: &Value) {
        if !self.collects_late {
            self.collect_dependents(&object["metadata"]["uid"]);
        }
        if path.plural == "namespaces" && path.group().is_empty() {
            let inside: Vec<_> = self
                .stored
                .keys()
                .filter(|inside| inside.namespace == path.name)
                .cloned()
                .collect();
            for path in inside {
                let _ = self.delete(&path, Dependents::Background);
            }
        }
        // It may have been the last dependent that an owner waited for.
        let owners: Vec<_> = references(&object["metadata"])
            .map(|owner| owner["uid"].clone())
            .collect();
        let waiting: Vec<_> = self
            .stored
            .iter()
            .filter(|(_, stored)| owners.contains(&stored.object["metadata"]["uid"]))
            .map(|(path, _)| path.clone())
            .collect();
        for path in waiting {
            self.release(&path);
        }
    }

    /// Removes an object that waited for its dependents, once no dependent blocks it.
    fn release(&mut self, path: &Path) {
        let Verdict::Release(released) = self.verdict(path) else {
            return;
        };
        let Some(mut stored) = self.stored.get(path).cloned() else {
            return;
        };
        if let Some(all) = stored.object["metadata"]["finalizers"].as_array_mut() {
            all.retain(|finalizer| finalizer != released);
        }
        if !held(&stored.object) {
            self.remove(path);
        } else if let Some(kind) = self.kinds.of(path) {
            self.store(path, &kind, stored);
        }
    }

    fn dependents_of(&self, uid: &Value) -> Vec<Path> {
        let owned = self.stored.iter().filter(|(_, stored)| owned(stored, uid));
        owned.map(|(path, _)| path.clone()).collect()
    }

    fn orphan(&mut self, uid: &Value) {
        for path in self.dependents_of(uid) {
            self.disown(&path, uid);
        }
    }

    /// Removes the reference to an owner.
    fn disown(&mut self, path: &Path, uid: &Value) {
        let Some((mut stored, kind)) = self.stored.get(path).cloned().zip(self.kinds.of(path))
        else {
            return;
        };
        let meta = &mut stored.object["metadata"];
        if let Some(owners) = meta["ownerReferences"].as_array_mut() {
            owners.retain(|owner| owner["uid"] != *uid);
            if owners.is_empty() {
                meta["ownerReferences"] = Value::Null;
            }
        }
        self.store(path, &kind, stored);
    }
}

fn meta(stored: &Stored) -> &Value {
    &stored.object["metadata"]
}

/// Whether finalizers prevent the removal of an object.
pub(super) fn held(object: &Value) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

fn hold(stored: &mut Stored) {
    let finalizers = &mut stored.object["metadata"]["finalizers"];
    let there = finalizers
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one == FOREGROUND));
    match finalizers.as_array_mut() {
        Some(_) if there => {}
        Some(all) => all.push(json!(FOREGROUND)),
        None => *finalizers = json!([FOREGROUND]),
    }
}

fn owned(stored: &Stored, uid: &Value) -> bool {
    references(meta(stored)).any(|owner| owner["uid"] == *uid)
}

fn dependents(call: &Call) -> Result<Dependents, ErrorResponse> {
    let asked = call.body["propagationPolicy"].as_str();
    let asked = asked.or(call.query.get("propagationPolicy").map(String::as_str));
    match asked {
        Some(asked) => Dependents::parse(asked).ok_or_else(|| {
            let why = format!("propagationPolicy: Unsupported value: {asked:?}");
            ErrorResponse::invalid_options(&call.path, "DeleteOptions", &why)
        }),
        None if call.body["orphanDependents"] == true => Ok(Dependents::Orphan),
        // The historical default of this group version.
        None if matches!(call.path.root.as_str(), "/apis/batch/v1")
            && call.path.plural == "jobs" =>
        {
            Ok(Dependents::Orphan)
        }
        None if call.path.plural == "replicationcontrollers" => Ok(Dependents::Orphan),
        None => Ok(Dependents::Background),
    }
}
