//! Field ownership and server-side apply.
//!
//! Source: `sigs.k8s.io/structured-merge-diff/v6/merge/update.go`, `k8s.io/apimachinery/pkg/util/managedfields`.

use serde_json::{Value, json};

use super::{
    fields::{Fields, Step, compare, fields, of_v1, show, v1, with_parents, without},
    merge::merged,
    shape::Shape,
};

/// A field manager with an operation; it owns the fields that it wrote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) applies: bool,
    pub(super) name: String,
    pub(super) api_version: String,
    /// Empty for the main resource.
    pub(super) subresource: String,
}

impl Manager {
    /// Whether both count as the same manager: for an apply, the version is ignored.
    fn is(&self, other: &Self) -> bool {
        let same = |a: &Self, b: &Self| {
            a.name == b.name && a.applies == b.applies && a.subresource == b.subresource
        };
        same(self, other) && (self.applies || self.api_version == other.api_version)
    }

    fn show(&self, time: &str) -> String {
        let mut text = format!("\"{}\"", self.name);
        if !self.subresource.is_empty() {
            text = format!("{text} with subresource \"{}\"", self.subresource);
        }
        if !self.applies {
            text = format!("{text} using {} at {time}", self.api_version);
        }
        text
    }
}

/// The owners of an object's fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners(Vec<Owner>);

#[derive(Clone, Debug)]
struct Owner {
    manager: Manager,
    fields: Fields,
    /// The time of the last write that changed something; ignored when owners are compared.
    time: String,
}

impl Owner {
    /// The entry in `metadata.managedFields`.
    fn entry(&self) -> Value {
        let manager = &self.manager;
        let mut entry = json!({
            "manager": manager.name,
            "operation": if manager.applies { "Apply" } else { "Update" },
            "apiVersion": manager.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": v1(&self.fields),
        });
        if !manager.subresource.is_empty() {
            entry["subresource"] = json!(manager.subresource);
        }
        entry
    }

    /// The owner in an entry; `None` if it has another format.
    fn of_entry(entry: &Value) -> Option<Self> {
        let text = |key: &str| entry[key].as_str().map(str::to_owned);
        Some(Self {
            manager: Manager {
                applies: text("operation")? == "Apply",
                name: text("manager")?,
                api_version: text("apiVersion")?,
                subresource: text("subresource").unwrap_or_default(),
            },
            fields: of_v1(&entry["fieldsV1"])?,
            time: text("time").unwrap_or_default(),
        })
    }
}

impl PartialEq for Owners {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().all(|ours| {
                other
                    .0
                    .iter()
                    .any(|theirs| theirs.manager == ours.manager && theirs.fields == ours.fields)
            })
    }
}

/// The reason why an apply failed.
pub(super) enum Failure {
    /// Others own fields with other values: manager and field of each.
    Conflicts(Vec<(String, String)>),
    Duplicate(String),
}

/// The fields that a request may not write, by the first names of their path.
pub(super) type Ignored = &'static [&'static [&'static str]];

/// Fields that every manager writes and none owns.
const META: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

fn starts(way: &[Step], names: &[&str]) -> bool {
    let is = |step: &Step, name: &str| matches!(step, Step::Field(field) if field == name);
    way.len() >= names.len() && way.iter().zip(names).all(|(step, name)| is(step, name))
}

/// Removes ignored fields, and all fields below them.
fn strip_ignored(fields: &mut Fields, ignored: Ignored) {
    fields.retain(|way| !ignored.iter().any(|names| starts(way, names)));
}

/// Removes ignored fields, and fields that no manager owns.
fn strip(fields: &mut Fields, ignored: Ignored) {
    strip_ignored(fields, ignored);
    let meta = |way: &[Step]| {
        META.iter()
            .any(|names| way.len() == names.len() && starts(way, names))
    };
    fields.retain(|way| !meta(way));
}

impl Owners {
    /// The value of `metadata.managedFields`.
    pub(super) fn managed_fields(&self) -> Value {
        let mut owners: Vec<_> = self.0.iter().collect();
        owners.sort_by_key(|owner| (!owner.manager.applies, &owner.time, &owner.manager));
        owners.into_iter().map(Owner::entry).collect()
    }

    /// The managers with these fields of the object itself, not of a subresource.
    pub(super) fn of_object(&self) -> impl Iterator<Item = (&Manager, &Fields)> {
        let whole = |owner: &&Owner| owner.manager.subresource.is_empty();
        let owners = self.0.iter().filter(whole);
        owners.map(|owner| (&owner.manager, &owner.fields))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The owners in the value of `metadata.managedFields`; `None` if it has another format.
    pub(super) fn of_entries(entries: &[Value]) -> Option<Self> {
        entries
            .iter()
            .map(Owner::of_entry)
            .collect::<Option<_>>()
            .map(Self)
    }

    fn own(&mut self, manager: &Manager, fields: Fields, time: &str) {
        self.0.retain(|owner| !owner.manager.is(manager));
        if !fields.is_empty() {
            self.0.push(Owner {
                manager: manager.clone(),
                fields,
                time: time.to_owned(),
            });
        }
    }

    fn of(&self, manager: &Manager) -> Option<&Owner> {
        self.0.iter().find(|owner| owner.manager.is(manager))
    }

    /// Removes fields from all owners but one.
    fn take(&mut self, fields: &Fields, but: Option<&Manager>) {
        for owner in &mut self.0 {
            if but.is_none_or(|but| !owner.manager.is(but)) {
                owner.fields.retain(|way| !fields.contains(way));
            }
        }
        self.0.retain(|owner| !owner.fields.is_empty());
    }

    /// Records that `manager` changed `old` to `new`.
    pub(super) fn update(
        &mut self,
        old: &Value,
        new: &Value,
        shape: &Shape<'_>,
        manager: &Manager,
        ignored: Ignored,
        time: &str,
    ) {
        let mut changes = compare(old, new, shape);
        strip(&mut changes.changed, ignored);
        strip(&mut changes.removed, ignored);
        self.take(&changes.changed, None);
        self.take(&changes.removed, None);
        if changes.changed.is_empty() {
            return;
        }
        let before = self.of(manager).map(|owner| owner.fields.clone());
        changes.changed.extend(before.unwrap_or_default());
        self.own(manager, changes.changed, time);
    }

    /// Applies `applied` to `live` for `manager`; returns the result, and updates the owners.
    pub(super) fn apply(
        &mut self,
        live: &Value,
        applied: &Value,
        shape: &Shape<'_>,
        request: &Apply<'_>,
    ) -> Result<Value, Failure> {
        let manager = &request.manager;
        let new = merged(Some(live), Some(applied), shape).map_err(Failure::Duplicate)?;
        let new = new.unwrap_or_default();
        let last = self.of(manager).cloned();
        let mut wanted = fields(applied, shape);
        strip_ignored(&mut wanted, request.ignored);
        let time = last.as_ref().map_or(request.time, |last| &last.time);
        self.own(manager, wanted, time);
        let new = match &last {
            Some(last) => self.pruned(&new, &last.fields, shape),
            None => new,
        };

        let mut changes = compare(live, &new, shape);
        strip_ignored(&mut changes.changed, request.ignored);
        strip_ignored(&mut changes.removed, request.ignored);
        let conflicts = self.conflicts(&changes.changed, manager);
        if !request.force && !conflicts.is_empty() {
            return Err(Failure::Conflicts(conflicts));
        }
        self.take(&changes.changed, Some(manager));
        self.take(&changes.removed, Some(manager));
        if let Some(owner) = self.0.iter_mut().find(|owner| owner.manager.is(manager)) {
            strip(&mut owner.fields, &[]);
            if last.is_none_or(|last| last.fields != owner.fields) || new != *live {
                request.time.clone_into(&mut owner.time);
            }
        }
        self.0.retain(|owner| !owner.fields.is_empty());
        Ok(new)
    }

    /// `object` without the fields in `last` that no manager owns any more.
    fn pruned(&self, object: &Value, last: &Fields, shape: &Shape<'_>) -> Value {
        let last = with_parents(last, shape);
        let all = with_parents(&fields(object, shape), shape);
        let left = |object: &Value| with_parents(&fields(object, shape), shape);

        let pruned = without(object, &last, shape);
        let owned: Fields = self
            .0
            .iter()
            .flat_map(|owner| owner.fields.clone())
            .collect();
        let owned = with_parents(&owned, shape);
        let kept = left(&pruned);
        let gone = all
            .iter()
            .filter(|way| !kept.contains(*way) && !owned.contains(*way));
        let pruned = without(object, &gone.cloned().collect(), shape);

        let kept = left(&pruned);
        let gone = all
            .iter()
            .filter(|way| !kept.contains(*way) && last.contains(*way));
        without(object, &gone.cloned().collect(), shape)
    }

    fn conflicts(&self, changed: &Fields, manager: &Manager) -> Vec<(String, String)> {
        let mut others: Vec<_> = self
            .0
            .iter()
            .filter(|owner| !owner.manager.is(manager))
            .collect();
        others.sort_by_key(|owner| &owner.manager);
        let of = |owner: &Owner| -> Vec<_> {
            let who = owner.manager.show(&owner.time);
            let ways = owner.fields.intersection(changed);
            ways.map(|way| (who.clone(), show(way))).collect()
        };
        others.into_iter().flat_map(of).collect()
    }
}

/// The options of an apply.
pub(super) struct Apply<'a> {
    pub(super) manager: Manager,
    pub(super) force: bool,
    pub(super) ignored: Ignored,
    pub(super) time: &'a str,
}
