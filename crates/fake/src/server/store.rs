//! The stored objects, and their history.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::{answer::ErrorResponse, schema::Rules};
use super::{
    fields,
    kinds::{Kind, Kinds},
    owners::{Manager, Owners},
    patch::tidy,
    path::Path,
    shape::Shape,
};
use crate::conversion::Conversions;

/// The manager of what [`Objects::put`] writes.
const PUT: &str = "put";

/// An object without its managed fields, and the owners of its fields.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stored {
    pub(super) object: Value,
    pub(super) owners: Owners,
}

impl Stored {
    /// The object as it is sent.
    pub(super) fn whole(&self) -> Value {
        let mut object = self.object.clone();
        let managed = self.owners.managed_fields();
        if managed
            .as_array()
            .is_some_and(|managed| !managed.is_empty())
        {
            object["metadata"]["managedFields"] = managed;
        }
        object
    }
}

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Change {
    pub version: u64,
    pub path: Path,
    /// The object before the change; `None` if it is new.
    pub old: Option<Value>,
    pub new: Value,
    pub gone: bool,
}

/// Where the time of day comes from.
#[derive(Clone, Debug)]
pub(super) struct Clock(fn() -> Timestamp);

impl Default for Clock {
    fn default() -> Self {
        Self(Timestamp::now)
    }
}

/// All objects.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    clock: Clock,
    pub(super) stored: BTreeMap<Path, Stored>,
    pub(super) version: u64,
    /// Never pruned, so no resource version is too old.
    pub(super) changes: Vec<Change>,
    pub(super) kinds: Kinds,
    /// The remaining items of lists that are read in pages, by their token.
    pub(super) pages: HashMap<String, Vec<Value>>,
    /// How far the clock of the test is ahead, in seconds.
    pub(super) ahead: i64,
    /// Whether dependents are left to [`collect_garbage`](Self::collect_garbage).
    pub collects_late: bool,
    /// The conversions of the operator.
    pub(super) conversions: Option<Conversions>,
    /// What reads see that may be out of date, if this server lags: the objects at this version.
    pub lags_at: Option<u64>,
}

impl Objects {
    /// No objects. Like the real server, this one never calls a state 0, because a read of that version means any state.
    #[must_use]
    pub fn new() -> Self {
        Self {
            version: 1,
            ..Self::default()
        }
    }

    /// Registers the definition of a kind.
    pub fn define(&mut self, crd: Value) {
        self.kinds.define(crd);
    }

    /// Registers definitions that were read before.
    pub fn set_kinds(&mut self, kinds: Kinds) {
        self.kinds = kinds;
    }

    /// The rules that could not be evaluated, each with the name of its definition.
    #[cfg(feature = "cel")]
    #[must_use]
    pub fn unevaluated_rules(&self) -> Vec<(String, String)> {
        self.kinds.unevaluated()
    }

    /// What the definition of an object rejects of it, by its rules; `None` if it accepts it.
    #[must_use]
    pub fn rejects(&self, path: &Path, new: &Value) -> Option<String> {
        let kind = self.kinds.of(path)?;
        let schema = kind.schema.as_ref().filter(|_| kind.rules.any())?;
        let old = self.stored.get(path).map(|old| &old.object);
        let mut new = tidy(new.clone(), &kind);
        apiserver_rules::complete(&mut new, schema);
        let problems = kind.rules.problems(schema, &new, old);
        let error = ErrorResponse::invalid_fields(path, &kind.name, &problems);
        (!problems.is_empty()).then(|| error.message().to_owned())
    }

    /// Removes the kind at this path, and its objects, whatever their finalizers.
    pub fn uninstall(&mut self, kind: &Path) {
        let here = self.stored.keys().filter(|path| path.same_kind(kind));
        for path in here.cloned().collect::<Vec<_>>() {
            self.remove(&path);
        }
        self.kinds.uninstall(kind);
    }

    /// Whether the kind at this path is installed.
    #[must_use]
    pub fn serves(&self, path: &Path) -> bool {
        self.kinds.of(path).is_some()
    }

    /// Serves the kind at this path again.
    pub fn install(&mut self, kind: &Path) {
        self.kinds.install(kind);
    }

    /// The schema of the kind at this path, if it has a definition.
    #[must_use]
    pub fn schema(&self, path: &Path) -> Option<(Arc<Value>, Rules)> {
        let kind = self.kinds.of(path)?;
        Some((kind.schema?, kind.rules))
    }

    /// The URLs of all objects.
    pub fn urls(&self) -> Vec<String> {
        self.stored.keys().map(Path::url).collect()
    }

    /// The URLs of the objects that have changed since a version.
    #[must_use]
    pub fn urls_since(&self, version: u64) -> Vec<String> {
        let new = self.changes.iter().filter(|it| it.version > version);
        new.map(|change| change.path.url()).collect()
    }

    /// Each object that was created, and whether it was: otherwise it was deleted.
    #[must_use]
    pub fn births_and_deaths(&self) -> Vec<(Value, bool)> {
        let changes = self.changes.iter();
        let changes = changes.filter(|change| change.gone || change.old.is_none());
        changes
            .map(|change| (change.new.clone(), !change.gone))
            .collect()
    }

    /// Takes all changes out, for a report: what would read them ends with this server.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// The version of the last change of anything but a Lease, which changes all the time.
    #[must_use]
    pub fn last_change(&self) -> u64 {
        let mut changes = self.changes.iter().rev();
        let last = changes.find(|change| change.path.plural != "leases");
        last.map_or(0, |change| change.version)
    }

    /// The version of the next change of a kind; of deletions in a row, that of the last one.
    #[must_use]
    pub fn next_change(&self, kind: &str, version: u64) -> Option<u64> {
        let from = self.changes.partition_point(|it| it.version <= version);
        let changes = self.changes.iter().skip(from);
        let mut changes = changes.filter(|change| change.path.resource() == kind);
        let next = changes.next()?;
        // Who has not seen that an object is gone goes on to create its children, which are collected again and again.
        let row = changes.take_while(|change| next.gone && change.gone);
        Some(row.last().unwrap_or(next).version)
    }

    /// The version of the last change.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    #[must_use]
    pub fn get(&self, path: &Path) -> Option<&Value> {
        self.stored.get(path).map(|stored| &stored.object)
    }

    /// All objects whose path is accepted by `are_wanted`.
    pub fn all(&self, are_wanted: impl Fn(&Path) -> bool) -> Vec<Value> {
        let found = self.stored.iter().filter(|(path, _)| are_wanted(path));
        found.map(|(_, stored)| stored.object.clone()).collect()
    }

    /// The fields of an object that a client has written, as JSON pointers, and whether it applies any of them: not what [`put`](Self::put)
    /// has written, and no status.
    #[must_use]
    pub fn owned(&self, path: &Path) -> (Vec<String>, bool) {
        let (mut pointers, mut applies) = (Vec::new(), false);
        if let Some(stored) = self.stored.get(path) {
            let owners = stored.owners.of_object().filter(|(it, _)| it.name != PUT);
            for (manager, fields) in owners {
                applies |= manager.applies;
                let found = fields
                    .iter()
                    .filter_map(|way| fields::pointer(way, &stored.object));
                pointers.extend(found);
            }
        }
        pointers.sort();
        pointers.dedup();
        (pointers, applies)
    }

    /// Stores an object as it is, as if it had existed before. Its path has the version that is stored.
    pub fn put(&mut self, path: &Path, mut object: Value) {
        let Some(kind) = self.kinds.of(path) else {
            return;
        };
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove("managedFields");
        }
        let mut object = tidy(object, &kind);
        if let Some(schema) = &kind.schema {
            apiserver_rules::complete(&mut object, schema);
        }
        let mut owners = Owners::default();
        let mut before = json!({});
        if let Some(stored) = self.stored.get(path) {
            let old = &stored.object["metadata"];
            for field in ["uid", "creationTimestamp"] {
                set_if_missing(&mut object["metadata"], field, old[field].clone());
            }
            let counted = old["generation"].as_i64().unwrap_or_default();
            let changed = object["spec"] != stored.object["spec"];
            let generation = json!(counted + i64::from(changed));
            if kind.generation {
                set_if_missing(&mut object["metadata"], "generation", generation);
            }
            (owners, before) = (stored.owners.clone(), stored.object.clone());
        }
        let manager = Manager {
            applies: false,
            name: PUT.to_owned(),
            api_version: path.api_version().to_owned(),
            subresource: String::new(),
        };
        let now = self.now();
        owners.update(&before, &object, &Shape::of(&kind), &manager, &[], &now);
        self.store(path, &kind, Stored { object, owners });
    }

    /// Stores an object, with the fields that the API server sets.
    pub(super) fn store(&mut self, path: &Path, kind: &Kind, stored: Stored) -> Value {
        self.version += 1;
        let mut stored = self.finished(path, kind, stored, self.version);
        stored.object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let new = stored.whole();
        let old = self.stored.insert(path.clone(), stored);
        self.changes.push(Change {
            version: self.version,
            path: path.clone(),
            old: old.map(|old| old.whole()),
            new: new.clone(),
            gone: false,
        });
        new
    }

    /// Removes an object; returns its last state.
    pub(super) fn remove(&mut self, path: &Path) -> Value {
        self.version += 1;
        let Some(stored) = self.stored.remove(path) else {
            return Value::Null;
        };
        let old = stored.whole();
        let mut new = old.clone();
        new["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.changes.push(Change {
            version: self.version,
            path: path.clone(),
            old: Some(old),
            new: new.clone(),
            gone: true,
        });
        self.collect(path, &new);
        new
    }

    /// An object with what the server sets, but its version, if it becomes this one.
    pub(super) fn finished(&self, path: &Path, kind: &Kind, new: Stored, version: u64) -> Stored {
        let mut object = tidy(new.object, kind);
        apiserver_rules::normalise(&mut object);
        let meta = &mut object["metadata"];
        meta["name"] = json!(path.name);
        if !path.namespace.is_empty() {
            meta["namespace"] = json!(path.namespace);
        }
        set_if_missing(meta, "uid", json!(uid(version)));
        set_if_missing(meta, "creationTimestamp", json!(self.now()));
        if kind.generation {
            set_if_missing(meta, "generation", json!(1));
        }
        Stored { object, ..new }
    }

    /// From now on, the time of day comes from this function.
    pub fn set_clock(&mut self, now: fn() -> Timestamp) {
        self.clock = Clock(now);
    }

    /// The current time on the clock of the test, in whole seconds.
    pub(super) fn now(&self) -> String {
        let now = (self.clock.0)().as_second() + self.ahead;
        let now = Timestamp::from_second(now).unwrap_or_default();
        format!("{now:.0}")
    }
}

fn set_if_missing(meta: &mut Value, field: &str, value: Value) {
    if meta.get(field).is_none_or(Value::is_null) && !value.is_null() {
        meta[field] = value;
    }
}

/// A unique value that looks like a uid.
fn uid(version: u64) -> String {
    format!("00000000-0000-4000-8000-{version:012x}")
}
