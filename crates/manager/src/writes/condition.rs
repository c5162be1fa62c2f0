//! Status conditions, as `metav1.Condition` defines them.

use std::sync::OnceLock;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::core::object::HasStatus;
use serde::Serialize;
use serde_json::Value;

use crate::{error::cut, simulated};

/// Lends the conditions and the `observedGeneration` of an object to a change of them.
type Conditions<K> = Box<dyn Fn(&mut K, Edit<'_>) + Send + Sync>;

/// Changes the conditions and the `observedGeneration` of a status.
type Edit<'a> = &'a mut dyn FnMut(&mut Vec<Condition>, &mut Option<i64>);

/// Where the status of a kind is, and the conditions and the `observedGeneration` in it.
pub(crate) struct Accessor<K> {
    status: fn(&K) -> serde_json::Result<Value>,
    conditions: Conditions<K>,
    /// What the type of the conditions keeps of one.
    kept: fn(Condition) -> Condition,
    /// The names of the fields that lead from the status to the conditions, once they are known.
    path: OnceLock<Vec<String>>,
}

impl<K: HasStatus<Status: Default + Serialize>> Accessor<K> {
    /// `conditions` returns the conditions of a status, and its `observedGeneration` if it has one.
    pub(crate) fn new<C>(
        conditions: impl Fn(&mut K::Status) -> (&mut Vec<C>, Option<&mut Option<i64>>)
        + Send
        + Sync
        + 'static,
    ) -> Self
    where
        C: Clone + From<Condition> + Into<Condition> + 'static,
    {
        Self {
            status: |object| serde_json::to_value(object.status()),
            conditions: Box::new(move |object, change| {
                let status = object.status_mut().get_or_insert_default();
                let (conditions, observed) = conditions(status);
                edit(conditions, |conditions| {
                    change(conditions, observed.unwrap_or(&mut None));
                });
            }),
            kept: |condition| C::from(condition).into(),
            path: OnceLock::new(),
        }
    }
}

/// Changes conditions of any type. Those that stay the same keep what their type has beyond Kubernetes' own.
fn edit<C>(own: &mut Vec<C>, change: impl FnOnce(&mut Vec<Condition>))
where
    C: Clone + From<Condition> + Into<Condition>,
{
    let before: Vec<Condition> = own.iter().cloned().map(Into::into).collect();
    let mut after = before.clone();
    change(&mut after);
    let mut left: Vec<(Condition, C)> = before.into_iter().zip(own.drain(..)).collect();
    own.extend(after.into_iter().map(|condition| {
        match left.iter().position(|(before, _)| *before == condition) {
            Some(at) => left.swap_remove(at).1,
            None => C::from(condition),
        }
    }));
}

impl<K> Accessor<K> {
    /// The status of an object; `null` if it has none.
    pub(crate) fn status(&self, object: &K) -> serde_json::Result<Value> {
        (self.status)(object)
    }

    /// The names of the fields that lead from the status to the conditions. Any object will do to find them.
    pub(crate) fn path(&self, object: &K) -> serde_json::Result<&[String]>
    where
        K: Clone,
    {
        if let Some(path) = self.path.get() {
            return Ok(path);
        }
        let mut marked = object.clone();
        self.change(&mut marked, &mut |conditions, _| {
            *conditions = vec![new(MARK, ConditionStatus::Unknown, "", "", None)];
        });
        let path = path_to_mark(&self.status(&marked)?).unwrap_or_default();
        Ok(self.path.get_or_init(|| path))
    }

    /// Whether the conditions can say that a reconcile failed, so that a later success finds it.
    pub(crate) fn keeps_failures(&self) -> bool {
        let failed = new(READY, ConditionStatus::False, FAILED, "", None);
        let kept = (self.kept)(failed.clone());
        let parts = |it: &Condition| (it.type_.clone(), it.status.clone(), it.reason.clone());
        parts(&kept) == parts(&failed)
    }

    /// Makes `change` to an object, which has a status from then on.
    pub(crate) fn change(&self, object: &mut K, change: Edit<'_>) {
        (self.conditions)(object, change);
    }
}

/// The type of a condition that is never stored.
const MARK: &str = "kbr-manager/mark";

/// The path of the list that begins with the marked condition.
fn path_to_mark(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(list) => (list.first()?["type"] == MARK).then(Vec::new),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let mut path = path_to_mark(value)?;
            path.insert(0, name.clone());
            Some(path)
        }),
        _ => None,
    }
}

/// The type of the condition that summarizes all others.
pub(crate) const READY: &str = "Ready";

/// The reason of a `Ready` that the manager sets when a reconcile fails.
pub(crate) const FAILED: &str = "ReconcileFailed";

/// The type of the condition of an object that is paused.
pub(crate) const PAUSED: &str = "Paused";

/// The reason of a `Paused` that the manager sets.
pub(crate) const PAUSED_BY: &str = "PausedByUser";

/// Whether the condition `Ready` is `True`.
#[must_use]
pub fn is_ready(conditions: &[Condition]) -> bool {
    conditions
        .iter()
        .any(|condition| condition.type_ == READY && condition.status == "True")
}

/// The longest message that `metav1.Condition` allows, in bytes.
const LONGEST_MESSAGE: usize = 32_768;

/// The status of a condition. A `bool` converts into it, unless the status is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// `True`
    True,
    /// `False`
    False,
    /// `Unknown`
    Unknown,
}

impl From<bool> for ConditionStatus {
    fn from(status: bool) -> Self {
        if status { Self::True } else { Self::False }
    }
}

impl ConditionStatus {
    /// The value in the object.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// A condition that has changed now.
pub(crate) fn new(
    kind: &str,
    status: ConditionStatus,
    reason: &str,
    message: &str,
    generation: Option<i64>,
) -> Condition {
    Condition {
        type_: kind.to_owned(),
        status: status.as_str().to_owned(),
        reason: reason.to_owned(),
        message: cut(message, LONGEST_MESSAGE).to_owned(),
        observed_generation: generation,
        last_transition_time: Time(now()),
    }
}

/// Sets a condition among `conditions`.
///
/// Its transition time changes only if its status differs from the stored one, whatever it was set to in between.
/// `replaced` holds the stored conditions whose status this function has changed since.
pub(crate) fn set(
    conditions: &mut Vec<Condition>,
    replaced: &mut Vec<Condition>,
    mut new: Condition,
) {
    let Some(old) = conditions.iter_mut().find(|old| old.type_ == new.type_) else {
        conditions.push(new);
        return;
    };
    if old.status == new.status {
        new.last_transition_time = since(old, &new);
        *old = new;
        return;
    }
    match replaced.iter().find(|stored| stored.type_ == new.type_) {
        Some(stored) => {
            if stored.status == new.status {
                new.last_transition_time = since(stored, &new);
            }
            *old = new;
        }
        None => replaced.push(std::mem::replace(old, new)),
    }
}

/// The time of the transition to a status that both conditions have: that of the first, unless that has none, as with types of the
/// author's own.
fn since(old: &Condition, new: &Condition) -> Time {
    let has_time = old.last_transition_time.0 != Timestamp::UNIX_EPOCH;
    let condition = if has_time { old } else { new };
    condition.last_transition_time.clone()
}

/// The current time in whole seconds, the resolution of `metav1.Time`.
fn now() -> Timestamp {
    let now = simulated::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FALSE: ConditionStatus = ConditionStatus::False;

    fn condition(kind: &str, status: ConditionStatus, reason: &str, at: &str) -> Condition {
        Condition {
            last_transition_time: Time(at.parse().unwrap()),
            ..new(kind, status, reason, "", Some(2))
        }
    }

    /// Sets `Ready` to each status in turn, starting with a `False` from 2020; returns its reason and the year of its
    /// last transition.
    fn ready_after(statuses: &[bool]) -> (String, i16) {
        let mut all = vec![condition("Ready", FALSE, "Old", "2020-01-01T00:00:00Z")];
        let mut replaced = Vec::new();
        for status in statuses {
            let new = condition("Ready", (*status).into(), "New", "2030-01-01T00:00:00Z");
            set(&mut all, &mut replaced, new);
        }
        assert_eq!((all.len(), all[0].observed_generation), (1, Some(2)));
        let at = all[0].last_transition_time.0.to_string();
        (all[0].reason.clone(), at[..4].parse().unwrap())
    }

    #[test]
    fn the_transition_time_changes_only_with_the_stored_status() {
        for (statuses, year) in [
            (&[false][..], 2020),
            (&[true], 2030),
            (&[true, false], 2020),
            (&[true, false, true], 2030),
            (&[false, true, true, false, false], 2020),
        ] {
            assert_eq!(
                ready_after(statuses),
                ("New".to_owned(), year),
                "{statuses:?}"
            );
        }
    }

    #[test]
    fn an_object_is_ready_if_its_condition_says_so() {
        let at = "2020-01-01T00:00:00Z";
        assert!(is_ready(&[condition("Ready", true.into(), "A", at)]));
        assert!(!is_ready(&[condition("Ready", FALSE, "A", at)]));
        assert!(!is_ready(&[condition("Deployed", true.into(), "A", at)]));
        assert!(!is_ready(&[]));
    }

    #[test]
    fn other_condition_types_are_left_alone() {
        let mut all = vec![condition("Ready", FALSE, "Old", "2020-01-01T00:00:00Z")];
        let new = new("Degraded", ConditionStatus::Unknown, "C", "", None);
        set(&mut all, &mut Vec::new(), new);
        let found: Vec<_> = all
            .iter()
            .map(|c| (c.type_.as_str(), c.status.as_str()))
            .collect();
        assert_eq!(found, [("Ready", "False"), ("Degraded", "Unknown")]);
    }

    #[test]
    fn the_conditions_are_found_wherever_they_are_in_the_status() {
        #[derive(Clone, Debug, Default, Serialize)]
        struct Status {
            filters: Vec<Condition>,
            health: Health,
        }
        #[derive(Clone, Debug, Default, Serialize)]
        struct Health {
            #[serde(skip_serializing_if = "Vec::is_empty", rename = "all")]
            conditions: Vec<Condition>,
        }
        #[derive(Clone)]
        struct Kind(Option<Status>);
        impl HasStatus for Kind {
            type Status = Status;

            fn status(&self) -> Option<&Status> {
                self.0.as_ref()
            }

            fn status_mut(&mut self) -> &mut Option<Status> {
                &mut self.0
            }
        }
        let accessor = Accessor::<Kind>::new(|status| (&mut status.health.conditions, None));
        assert_eq!(accessor.path(&Kind(None)).unwrap(), ["health", "all"]);
    }

    #[test]
    fn a_message_is_truncated_to_the_limit_of_the_api_server() {
        let long = "x".repeat(40_000);
        assert_eq!(
            new("Ready", FALSE, "A", &long, None).message.len(),
            LONGEST_MESSAGE
        );
    }
}
