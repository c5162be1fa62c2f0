//! What others than the operator do to its objects: people by hand, and writers that are faster.

use serde_json::{Value, json};

use super::{
    environment::Environment, history::Broken, plan::What, replica::Replica, state::TOUCHED,
    trace::Happened, who::Who,
};
use crate::server::Path;

impl Environment {
    /// The user's objects in the other versions of their kinds, by their URLs.
    pub(super) fn other_versions(&self) -> Vec<String> {
        let paths = self.scenario.objects.iter().map(|(path, _)| path);
        self.api.change_quietly(|objects| {
            let stored = paths.filter(|path| objects.get(path).is_some());
            let others = stored.flat_map(|path| objects.other_versions(path));
            others.map(|path| path.url()).collect()
        })
    }

    /// The user reads objects in other versions than the stored one, and writes them back: that changes nothing.
    pub(super) async fn write_back(&mut self) -> Result<(), Broken> {
        let plan = self.plan.clone();
        for what in plan.at(0) {
            let What::WriteBack(url) = what else {
                continue;
            };
            let Some(path) = Path::parse(url) else {
                continue;
            };
            let version = path.version();
            let what = format!("the user reads {path} in version {version}, and writes that back");
            self.network.tell(Happened::Fault(Who::User, what));
            let Some(shown) = self.api.stored(&path) else {
                continue;
            };
            let stored_at = self
                .api
                .change_quietly(|objects| objects.stored_path(&path));
            let Some(now) = self.api.stored(&stored_at) else {
                continue;
            };
            let back = self
                .api
                .change_quietly(|objects| objects.completed_at(shown, &path, &stored_at));
            let back =
                back.unwrap_or_else(|error| panic!("cannot write {path}: {}", error.message()));
            self.api.write(&stored_at, restored(&now, back));
            self.rest_again().await?;
        }
        Ok(())
    }
}

/// For how many writes someone else is faster. The library gives up earlier.
const CONFLICTS: usize = 6;

impl Replica {
    /// From now on, someone else changes an object before each write.
    pub(super) fn contend(&self, path: &Path) {
        self.network.lock().contended = Some((path.object(), CONFLICTS));
    }

    /// Changes an object if someone else does so before each write.
    pub(super) fn interfere(&self, path: &Path) {
        let is_contended = match &mut self.network.lock().contended {
            Some((contended, left)) if *contended == path.object() && *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        };
        if is_contended {
            self.touch(path);
        }
    }

    /// Changes an object as another writer does, so that the operator's version is out of date.
    pub(super) fn touch(&self, path: &Path) {
        let object = path.object();
        let changed = self.network.api.change(|objects| {
            let mut found = objects.get(&object)?.clone();
            found["metadata"]["annotations"][TOUCHED] = json!(objects.version().to_string());
            objects.put(&object, found);
            Some(())
        });
        if changed.is_some() {
            let what = format!("someone else annotates {object}");
            self.network.tell(Happened::Fault(Who::Others, what));
            self.network.stored_by(Who::Others);
        }
    }

    /// Removes an object that is about to be read or written, even one with finalizers.
    pub(super) fn vanish(&self, path: &Path) {
        let object = path.object();
        let removed = self.network.api.change(|objects| {
            let mut found = objects.get(&object)?.clone();
            found["metadata"]["finalizers"] = json!([]);
            objects.put(&object, found);
            objects.delete_now(&object);
            Some(())
        });
        if removed.is_some() {
            let what = format!("someone else removes {object}");
            self.network.tell(Happened::Fault(Who::Others, what));
            self.network.stored_by(Who::Others);
        }
    }
}

/// An object with what the user has written of it before: neither its status nor its finalizers.
pub(super) fn restored(now: &Value, mut before: Value) -> Value {
    let mut meta = now["metadata"].clone();
    for field in ["labels", "annotations"] {
        copy(field, &before["metadata"], &mut meta);
    }
    copy("generation", &Value::Null, &mut meta);
    before["metadata"] = meta;
    copy("status", now, &mut before);
    before
}

/// Makes a field of one object what it is in another, or absent.
fn copy(field: &str, from: &Value, to: &mut Value) {
    let Some(to) = to.as_object_mut() else {
        return;
    };
    match from.get(field) {
        Some(value) => drop(to.insert(field.to_owned(), value.clone())),
        None => drop(to.remove(field)),
    }
}

/// Changes a value that everyone may change: neither a name nor what the API server keeps as it is.
pub(super) fn corrupt(object: &mut Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let group = text(&object["apiVersion"]);
    let is_custom = group.contains('.') && !group.contains(".k8s.io/");
    match text(&object["kind"]).as_str() {
        "ConfigMap" => corrupt_first(&mut object["data"]),
        "Deployment" | "ReplicaSet" | "StatefulSet" => {
            corrupt_first(&mut object["spec"]["replicas"])
        }
        "Secret" => {
            let mut data = object["data"].as_object_mut().into_iter().flatten();
            // `by-hand` in base64.
            data.next()
                .map(|(_, value)| *value = json!("YnktaGFuZA=="))
                .is_some()
        }
        _ if is_custom => corrupt_first(&mut object["spec"]),
        _ => false,
    };
}

fn corrupt_first(value: &mut Value) -> bool {
    match value {
        Value::Null => return false,
        Value::Bool(it) => *it = !*it,
        Value::Number(it) => *value = json!(it.as_i64().unwrap_or_default() + 1),
        Value::String(it) => it.push_str("-by-hand"),
        Value::Array(items) => return items.iter_mut().any(corrupt_first),
        Value::Object(fields) => {
            let mut fields = fields.iter_mut().filter(|(field, _)| *field != "name");
            return fields.any(|(_, value)| corrupt_first(value));
        }
    }
    true
}
