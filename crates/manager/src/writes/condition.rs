//! Status conditions, as `metav1.Condition` defines them.

use std::sync::Arc;

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};

use crate::error::cut;

/// Says where the conditions and `observedGeneration` of a kind lie.
pub(crate) type Accessor<K> =
    Arc<dyn Fn(&mut K, &mut dyn FnMut(&mut Vec<Condition>, &mut Option<i64>)) + Send + Sync>;

/// The longest message that `metav1.Condition` allows, in bytes.
const LONGEST_MESSAGE: usize = 32_768;

/// The status of a condition. A `bool` will do, unless it is not known.
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
    /// As it stands in an object.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// Puts a condition among `conditions`. Its transition time moves only when its status does.
pub(crate) fn set(
    conditions: &mut Vec<Condition>,
    kind: &str,
    status: ConditionStatus,
    reason: &str,
    message: &str,
    generation: Option<i64>,
) {
    let mut new = Condition {
        type_: kind.to_owned(),
        status: status.as_str().to_owned(),
        reason: reason.to_owned(),
        message: cut(message, LONGEST_MESSAGE).to_owned(),
        observed_generation: generation,
        last_transition_time: Time(now()),
    };
    match conditions.iter_mut().find(|old| old.type_ == new.type_) {
        Some(old) => {
            if old.status == new.status {
                new.last_transition_time = old.last_transition_time.clone();
            }
            *old = new;
        }
        None => conditions.push(new),
    }
}

/// Now, in whole seconds, which is all that `metav1.Time` carries.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions() -> Vec<Condition> {
        let mut all = Vec::new();
        set(&mut all, "Ready", ConditionStatus::False, "A", "", Some(1));
        all[0].last_transition_time = Time("2020-01-01T00:00:00Z".parse().unwrap());
        all
    }

    #[test]
    fn the_transition_time_stays_while_the_status_does() {
        let mut all = conditions();
        let then = all[0].last_transition_time.clone();
        set(&mut all, "Ready", false.into(), "B", "b", Some(2));
        assert_eq!((all.len(), all[0].reason.as_str()), (1, "B"));
        assert_eq!(
            (all[0].observed_generation, &all[0].last_transition_time),
            (Some(2), &then)
        );
    }

    #[test]
    fn the_transition_time_moves_with_the_status() {
        let mut all = conditions();
        let then = all[0].last_transition_time.clone();
        set(&mut all, "Ready", true.into(), "A", "", Some(1));
        assert_ne!(all[0].last_transition_time, then);
    }

    #[test]
    fn other_types_are_left_alone() {
        let mut all = conditions();
        set(
            &mut all,
            "Degraded",
            ConditionStatus::Unknown,
            "C",
            "",
            None,
        );
        let found: Vec<_> = all
            .iter()
            .map(|c| (c.type_.as_str(), c.status.as_str()))
            .collect();
        assert_eq!(found, [("Ready", "False"), ("Degraded", "Unknown")]);
    }

    #[test]
    fn a_message_is_cut_to_what_the_api_server_takes() {
        let mut all = Vec::new();
        set(
            &mut all,
            "Ready",
            true.into(),
            "A",
            &"x".repeat(40_000),
            None,
        );
        assert_eq!(all[0].message.len(), LONGEST_MESSAGE);
    }
}
