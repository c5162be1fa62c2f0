//! What happens around the objects of the user: to those that were there before, and beside them.

use serde_json::Value;

use super::{
    environment::Environment,
    history::{Broken, Namesakes},
    interference::{corrupt, restored},
    plan::What,
    state::{self, State},
    trace::{Event, Happened},
    who::Who,
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

/// The namespace of objects that have the same names as those of the user.
pub(super) const ELSEWHERE: &str = "elsewhere";

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

    /// Someone creates each of the user's objects in another namespace, with what was there before: neither has anything to do with the
    /// other. Returns what was created.
    pub(super) async fn have_namesakes(&mut self) -> Result<Vec<Path>, Broken> {
        let permissions = self.scenario.permissions.as_ref();
        let is_reached = permissions.is_none_or(|it| it.reach(ELSEWHERE));
        if !is_reached || !self.plan.at(0).any(|what| *what == What::Namesake) {
            return Ok(Vec::new());
        }
        let objects = self.specs();
        let is_near = |path: &Path| {
            let mut objects = objects.iter();
            objects.any(|(it, _)| !it.namespace.is_empty() && it.namespace == path.namespace)
        };
        let existing = self.history.existing.iter();
        let existing = existing.filter_map(|url| Path::parse(url));
        let world: Vec<Path> = existing.filter(|path| is_near(path)).collect();
        let (_, alone) = self.parted();
        let mut created = Vec::new();
        for path in world {
            if let Some(object) = self.api.stored(&path) {
                let path = elsewhere(path);
                self.put(&path, like(&object, &path.name));
                created.push(path);
            }
        }
        for (path, object) in objects.iter().filter(|(path, _)| is_near(path)) {
            let path = elsewhere(path.clone());
            let mut object = like(object, &path.name);
            object["metadata"]["namespace"] = ELSEWHERE.into();
            self.fault(format!("someone creates {path}"));
            self.api.write(&path, object);
            created.push(path);
        }
        self.idle().await?;
        self.reconcile_again(false);
        self.idle().await?;
        // They want the same thing of the world, which only one of them can have.
        let inside = format!("{ELSEWHERE}/");
        if self.failing().iter().any(|key| key.contains(&inside)) {
            return Ok(created);
        }
        let (before, mut beside) = self.parted();
        // What belongs to the namesakes may be anywhere.
        beside.retain(|title, _| alone.contains_key(title));
        self.history.namesakes = Some(Namesakes {
            alone,
            beside,
            before,
            ..Namesakes::default()
        });
        Ok(created)
    }

    /// These are left alone when the user has deleted the objects. Then they go, too.
    pub(super) async fn outlive(&mut self, namesakes: &[Path]) -> Result<(), Broken> {
        if namesakes.is_empty() {
            return Ok(());
        }
        let (after, _) = self.parted();
        let whole = self.state();
        self.reconcile_again(false);
        self.idle().await?;
        let again = self.state();
        if let Some(seen) = &mut self.history.namesakes {
            (seen.after, seen.whole, seen.again) = (after, whole, again);
        }
        // What was there before goes last.
        for path in namesakes.iter().rev() {
            self.fault(format!("someone deletes {path}"));
            self.api.remove(path);
            self.idle().await?;
        }
        Ok(())
    }

    /// The objects in the namespace of the namesakes, and those in others.
    fn parted(&self) -> (State, State) {
        let state = state::of(&self.api, State::new()).into_iter();
        let namespaced = state.filter(|(_, object)| object["metadata"]["namespace"].is_string());
        namespaced.partition(|(_, object)| object["metadata"]["namespace"] == ELSEWHERE)
    }

    /// What was there before the operator, and is no longer.
    pub(super) fn lost(&self, now: &State) -> Vec<String> {
        let before = self.history.before.keys();
        let lost = before.filter(|title| !now.contains_key(*title));
        let by_others = lost.filter(|title| !self.history.deleted_by_user.contains(title));
        by_others.cloned().collect()
    }

    fn fault(&self, what: String) {
        self.network.tell(Happened::Fault(Who::Others, what));
    }

    fn put(&self, path: &Path, mut object: Value) {
        object["metadata"]["generation"] = Value::Null;
        self.api.change(|objects| objects.put(path, object));
    }
}

fn elsewhere(mut path: Path) -> Path {
    ELSEWHERE.clone_into(&mut path.namespace);
    path
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
