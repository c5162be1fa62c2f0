//! What happens around the objects of the user: to those that were there before, and beside them.

use serde_json::Value;

use super::{
    environment::Environment,
    history::Broken,
    interference::{corrupt, restored},
    plan::What,
    state::State,
    trace::{Event, Happened},
};
use crate::server::Path;

/// What other things depend on: to delete or change it is another matter.
const FOUNDATIONS: [&str; 4] = [
    "customresourcedefinitions.apiextensions.k8s.io",
    "leases.coordination.k8s.io",
    "namespaces",
    "nodes",
];

/// What the name of a neighbour ends with: the name of the object itself is a prefix of it.
const NEIGHBOUR: &str = "-2";

impl Environment {
    /// The objects that were there before and still are, and that the operator reads.
    pub(super) fn read_in_the_world(&self, before: &[String]) -> Vec<String> {
        let now = self.urls();
        let state = self.network.lock();
        let is_read = |url: &&String| {
            let path = Path::parse(url);
            path.is_some_and(|path| now.contains(*url) && reads(&state.events, &path))
        };
        before.iter().filter(is_read).cloned().collect()
    }

    /// What someone does to objects that were there before the operator: it follows, and can be stopped.
    pub(super) async fn change_world(&mut self) -> Result<(), Broken> {
        let plan = self.plan.clone();
        for what in plan.at(0) {
            let (path, deleted) = match what {
                What::WorldDeleted(path) => (path, true),
                What::WorldEdited(path) => (path, false),
                _ => continue,
            };
            let Some((path, object)) =
                Path::parse(path).and_then(|path| Some((path.clone(), self.api.stored(&path)?)))
            else {
                continue;
            };
            if deleted {
                self.fault(format!("someone deletes {path}"));
                self.api.remove(&path);
                self.idle().await?;
                self.history.world_deleted = self.lost(&self.state());
                continue;
            }
            let mut changed = object.clone();
            corrupt(&mut changed);
            self.fault(format!("someone changes {path}"));
            self.put(&path, changed);
            self.idle().await?;
            self.resync().await?;
            if !self.history.unstable.is_empty() {
                return Ok(());
            }
            self.fault(format!("someone changes {path} back"));
            if let Some(now) = self.api.stored(&path) {
                self.put(&path, restored(&now, object));
            }
            self.idle().await?;
        }
        Ok(())
    }

    /// Someone creates an object like each of the user's, and deletes it: the user's own are as they were.
    pub(super) async fn have_neighbours(&mut self) -> Result<(), Broken> {
        if !self.plan.at(0).any(|what| *what == What::Neighbour) {
            return Ok(());
        }
        let mut neighbours = Vec::new();
        for (path, object) in self.specs() {
            let mut path = path.clone();
            path.name.push_str(NEIGHBOUR);
            let object = like(&object, &path.name);
            self.fault(format!("someone creates {path}"));
            self.api.write(&path, object);
            neighbours.push(path);
        }
        self.idle().await?;
        // Each of them leaves alone what belongs to the other one.
        self.resync().await?;
        for path in neighbours {
            self.fault(format!("someone deletes {path}"));
            self.api.remove(&path);
        }
        self.rest_again().await
    }

    /// What was there before the operator, and is no longer.
    pub(super) fn lost(&self, now: &State) -> Vec<String> {
        let before = self.history.before.keys();
        let lost = before.filter(|title| !now.contains_key(*title));
        let by_others = lost.filter(|title| !self.history.deleted_by_user.contains(title));
        by_others.cloned().collect()
    }

    fn fault(&self, what: String) {
        self.network.tell(Happened::Fault(what));
    }

    fn put(&self, path: &Path, mut object: Value) {
        object["metadata"]["generation"] = Value::Null;
        self.api.change(|objects| objects.put(path, object));
    }
}

/// A new object with the spec of another one.
fn like(object: &Value, name: &str) -> Value {
    let mut object = object.clone();
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    if let Some(meta) = object["metadata"].as_object_mut() {
        meta.retain(|field, _| ["namespace", "labels", "annotations"].contains(&field.as_str()));
        meta.insert("name".to_owned(), name.into());
    }
    object
}

/// Whether the operator has asked for an object, for all of its kind, or watches them.
fn reads(events: &[Event], path: &Path) -> bool {
    let resource = path.resource();
    if FOUNDATIONS.contains(&&*resource) {
        return false;
    }
    let (watch, one) = (format!("watch {resource}"), path.to_string());
    let mut all = path.clone();
    all.name.clear();
    let inside = format!("GET {all}");
    all.namespace.clear();
    let everywhere = format!("GET {all}");
    events.iter().any(|event| match &event.what {
        Happened::Asked(what) => [&watch, &inside, &everywhere].contains(&what),
        Happened::Read { object, .. } => *object == one,
        _ => false,
    })
}
