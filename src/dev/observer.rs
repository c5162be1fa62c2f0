//! Watches objects and events for the screen: those of the operator's kinds, what they own, and events.

mod source;

use std::collections::BTreeMap;
use std::io::BufReader;
use std::sync::mpsc::{SendError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

pub use self::source::Source;
use super::screen::{Event, Object, Update, controller};
use kbr_scaffold::project::Project;

/// The pause before a watch that has ended begins again.
const RETRY: Duration = Duration::from_secs(2);

/// The longest pause; each failure doubles it until then.
const LONGEST: Duration = Duration::from_secs(60);

/// The kinds that controllers usually create, of which only owned objects are shown: kind and path.
const CHILDREN: [(&str, &str); 5] = [
    ("Deployment", "/apis/apps/v1/deployments"),
    ("StatefulSet", "/apis/apps/v1/statefulsets"),
    ("DaemonSet", "/apis/apps/v1/daemonsets"),
    ("CronJob", "/apis/batch/v1/cronjobs"),
    ("Job", "/apis/batch/v1/jobs"),
];

const EVENTS: &str = "/apis/events.k8s.io/v1/events";

/// The watches that run, each in a thread. They end with kbr, or once the screen is closed.
#[derive(Debug)]
pub struct Observer {
    source: Source,
    updates: Sender<Update>,
    shown: Arc<Mutex<Shown>>,
    /// Whether children and events are watched.
    started: bool,
}

/// What is shown.
#[derive(Clone, Debug, Default, PartialEq)]
struct Shown {
    /// The operator's kinds: kind and group, by path.
    kinds: BTreeMap<String, (String, String)>,
}

/// What one watch shows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scope {
    /// All objects of one of the operator's kinds.
    All,
    /// Objects that belong to one of the operator's kinds.
    Owned,
    Events,
}

/// One watch.
struct Watch {
    kind: String,
    path: String,
    scope: Scope,
    shown: Arc<Mutex<Shown>>,
    source: Source,
    updates: Sender<Update>,
}

impl Observer {
    pub fn new(source: Source, updates: Sender<Update>) -> Self {
        Self {
            source,
            updates,
            shown: Arc::default(),
            started: false,
        }
    }

    /// Watches the kinds of the project; watches of other kinds end. Call it before the operator starts, which creates children.
    pub fn observe(&mut self, project: &Project) {
        let now = Shown::of(project);
        let before = std::mem::replace(&mut *lock(&self.shown), now.clone());
        // A watch begins with the objects that exist, so the kinds that own them must be known.
        if !std::mem::replace(&mut self.started, true) {
            for (kind, path) in CHILDREN {
                self.start(kind, path, Scope::Owned);
            }
            self.start("Event", EVENTS, Scope::Events);
        }
        for (path, (kind, group)) in &now.kinds {
            if !before.kinds.contains_key(path) {
                self.start(&now.label(kind, group), path, Scope::All);
            }
        }
    }

    fn start(&self, kind: &str, path: &str, scope: Scope) {
        let watch = Watch {
            kind: kind.to_owned(),
            path: path.to_owned(),
            scope,
            shown: self.shown.clone(),
            source: self.source.clone(),
            updates: self.updates.clone(),
        };
        thread::spawn(move || watch.run());
    }
}

impl Shown {
    fn of(project: &Project) -> Self {
        let mut kinds: BTreeMap<String, (String, String)> = BTreeMap::new();
        for target in project.targets() {
            let (group, version, plural) = (&target.full_group, &target.version, &target.plural);
            let kind = (target.kind.clone(), group.clone());
            // Objects are the same in each version.
            if kinds.values().any(|known| *known == kind) {
                continue;
            }
            let path = match group.as_str() {
                "" => format!("/api/{version}/{plural}"),
                group => format!("/apis/{group}/{version}/{plural}"),
            };
            kinds.insert(path, kind);
        }
        Self { kinds }
    }

    /// The kind, with its group if another kind has the same name.
    fn label(&self, kind: &str, group: &str) -> String {
        let own = self.kinds.values().filter(|(known, _)| known == kind);
        let is_child = CHILDREN.iter().any(|(known, _)| *known == kind);
        if own.count() + usize::from(is_child) > 1 {
            return format!("{kind}.{group}");
        }
        kind.to_owned()
    }
}

/// A thread that panicked has not changed it.
fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Watches until the project has dropped the kind, or the screen is closed.
    fn run(&self) {
        let mut pause = RETRY;
        loop {
            match self.watch() {
                Err(SendError(_)) => return,
                Ok(true) => pause = RETRY,
                Ok(false) => pause = LONGEST.min(pause * 2),
            }
            thread::sleep(pause);
            if self.scope == Scope::All && !lock(&self.shown).kinds.contains_key(&self.path) {
                let kind = self.kind.clone();
                // It fails if the screen is closed.
                return drop(self.updates.send(Update::Forgotten { kind }));
            }
        }
    }

    /// Reports the objects, and each change, until the API server ends the watch. Returns whether there was one; fails once the
    /// screen is closed.
    fn watch(&self) -> Result<bool, SendError<Update>> {
        let mut stream = match self.source.watch(&self.path) {
            Ok(stream) => stream,
            Err(error) => return self.fail(&error).map(|()| false),
        };
        let mut begun = stream.is_answered();
        if begun {
            self.begin()?;
        }
        let changes = serde_json::Deserializer::from_reader(BufReader::new(&mut stream));
        // A stream that breaks off has ended.
        for change in changes.into_iter::<Value>().map_while(Result::ok) {
            if !begun {
                self.begin()?;
                begun = true;
            }
            if let Some(update) = self.update(&change) {
                self.updates.send(update)?;
            }
        }
        if let Err(error) = stream.end() {
            self.fail(&error)?;
            return Ok(false);
        }
        Ok(begun)
    }

    /// All objects follow.
    fn begin(&self) -> Result<(), SendError<Update>> {
        let kind = self.kind.clone();
        match self.scope {
            Scope::All => self.updates.send(Update::Listing { kind }),
            Scope::Owned => self.updates.send(Update::Forgotten { kind }),
            Scope::Events => Ok(()),
        }
    }

    /// Only the operator's kinds must exist and be readable.
    fn fail(&self, error: &anyhow::Error) -> Result<(), SendError<Update>> {
        if self.scope != Scope::All {
            return Ok(());
        }
        let (kind, reason) = (self.kind.clone(), format!("cannot be watched: {error:#}"));
        self.updates.send(Update::Unreadable { kind, reason })
    }

    fn update(&self, change: &Value) -> Option<Update> {
        let object = &change["object"];
        let what = change["type"].as_str()?;
        if !["ADDED", "MODIFIED", "DELETED"].contains(&what) {
            return None;
        }
        let is_shown = match self.scope {
            Scope::All => true,
            Scope::Owned => {
                let shown = lock(&self.shown);
                let owner = controller(object);
                owner.is_some_and(|owner| shown.kinds.values().any(|known| *known == owner))
            }
            Scope::Events if what == "DELETED" || !self.is_near(object) => return None,
            Scope::Events => return Some(Update::Event(Event::of(object))),
        };
        let kind = self.kind.clone();
        let object = Object::of(object);
        if is_shown && what != "DELETED" {
            return Some(Update::Object { kind, object });
        }
        let name = object.name;
        Some(Update::Gone { kind, name })
    }

    /// Whether an event is shown: in the user's own cluster, only if it is about a kind that is.
    fn is_near(&self, event: &Value) -> bool {
        let about = &event["regarding"]["kind"];
        matches!(self.source, Source::Own(_))
            || CHILDREN.iter().any(|(kind, _)| about == kind)
            || lock(&self.shown)
                .kinds
                .values()
                .any(|(kind, _)| about == kind)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use serde_json::json;

    use super::*;

    fn watch(scope: Scope, kinds: &[(&str, &str)]) -> Watch {
        let kinds = kinds
            .iter()
            .enumerate()
            .map(|(at, (kind, group))| (at.to_string(), ((*kind).to_owned(), (*group).to_owned())));
        let shown = Shown {
            kinds: kinds.collect(),
        };
        Watch {
            kind: "Deployment".to_owned(),
            path: String::new(),
            scope,
            shown: Arc::new(Mutex::new(shown)),
            source: Source::Kubectl,
            updates: mpsc::channel().0,
        }
    }

    fn deployment(what: &str, owner: &str) -> Value {
        let owner =
            json!({ "apiVersion": "crew.example.com/v1", "kind": owner, "controller": true });
        json!({ "type": what, "object": { "metadata": { "name": "a", "ownerReferences": [owner] } } })
    }

    #[test]
    fn only_children_of_the_operators_kinds_are_shown() {
        let watch = watch(Scope::Owned, &[("Captain", "crew.example.com")]);
        let is_object =
            |change: &Value| matches!(watch.update(change), Some(Update::Object { .. }));
        let is_gone = |change: &Value| matches!(watch.update(change), Some(Update::Gone { .. }));
        assert!(is_object(&deployment("ADDED", "Captain")));
        assert!(is_gone(&deployment("DELETED", "Captain")));
        // It may have belonged to a Captain before.
        assert!(is_gone(&deployment("MODIFIED", "Mate")));
        assert!(watch.update(&deployment("BOOKMARK", "Captain")).is_none());
    }

    #[test]
    fn events_of_the_users_own_cluster_are_about_the_operators_kinds() {
        let watch = watch(Scope::Events, &[("Captain", "crew.example.com")]);
        let event =
            |kind: &str| json!({ "type": "ADDED", "object": { "regarding": { "kind": kind } } });
        assert!(watch.update(&event("Captain")).is_some());
        assert!(watch.update(&event("Job")).is_some());
        assert!(watch.update(&event("Node")).is_none());
    }

    #[test]
    fn a_kind_is_shown_with_its_group_if_another_one_has_its_name() {
        let two = [
            ("Captain", "a.io"),
            ("Captain", "b.io"),
            ("Job", "c.io"),
            ("Mate", "a.io"),
        ];
        let watch = watch(Scope::All, &two);
        let label = |kind: &str, group: &str| lock(&watch.shown).label(kind, group);
        assert_eq!(label("Captain", "a.io"), "Captain.a.io");
        assert_eq!(label("Job", "c.io"), "Job.c.io");
        assert_eq!(label("Mate", "a.io"), "Mate");
    }
}
