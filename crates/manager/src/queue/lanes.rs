//! The keys that wait for a worker, in one lane for each priority.

use crate::{cache::store::Change, key::Key, queue::lane::Lane};

/// After this many keys of normal priority in a row, one of low priority is taken.
const NORMAL_IN_A_ROW: u32 = 4;

/// The waiting keys. Those of normal priority go first, but leave every fifth turn to the others. So a key of low
/// priority waits at most five times as long as in a single lane, however many changes there are.
///
/// A bound on the age of a key would not do: once a flood is older than that, changes would wait behind all of it.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    normal: Lane,
    low: Lane,
    normal_in_a_row: u32,
}

impl Lanes {
    /// Adds a key behind all others of its namespace and priority, and returns its place there.
    pub(super) fn push_back(&mut self, priority: Priority, key: Key) -> i64 {
        self.lane(priority).push_back(key)
    }

    /// Adds a key ahead of all others of this priority, and returns its place.
    pub(super) fn push_front(&mut self, priority: Priority, key: Key) -> i64 {
        self.lane(priority).push_front(key)
    }

    /// Removes the key that has this place.
    pub(super) fn remove(&mut self, priority: Priority, key: &Key, place: i64) {
        self.lane(priority).remove(key, place);
    }

    /// Takes the next key, of another namespace than `except`.
    pub(super) fn pop(&mut self, except: Option<&str>) -> Option<Key> {
        let mut order = Priority::ALL;
        if self.normal_in_a_row >= NORMAL_IN_A_ROW {
            order.reverse();
        }
        for priority in order {
            if let Some(key) = self.lane(priority).pop(except) {
                self.normal_in_a_row = match priority {
                    Priority::Normal => self.normal_in_a_row.saturating_add(1),
                    Priority::Low => 0,
                };
                return Some(key);
            }
        }
        None
    }

    /// Whether a key of another namespace waits.
    pub(super) fn has_others(&self, than: &str) -> bool {
        self.normal.has_others(than) || self.low.has_others(than)
    }

    /// How many keys of this priority wait.
    pub(super) fn len(&self, priority: Priority) -> usize {
        match priority {
            Priority::Normal => self.normal.len(),
            Priority::Low => self.low.len(),
        }
    }

    fn lane(&mut self, priority: Priority) -> &mut Lane {
        match priority {
            Priority::Normal => &mut self.normal,
            Priority::Low => &mut self.low,
        }
    }
}

/// The priority of a key. controller-runtime has the same two for the same events.
///
/// Source: `TypedFuncs` and `LowPriority` in `sigs.k8s.io/controller-runtime/pkg/handler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// No change triggered the reconcile: the object was found when its cache was filled, or a period has passed.
    Low,
    /// Something changed.
    Normal,
}

impl Priority {
    /// Both, the higher one first.
    pub(super) const ALL: [Self; 2] = [Self::Normal, Self::Low];

    /// The priority of the keys that a change enqueues.
    pub(crate) fn of<K>(change: &Change<'_, K>) -> Self {
        if change.initial {
            Self::Low
        } else {
            Self::Normal
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(lanes: &mut Lanes) -> String {
        std::iter::from_fn(|| lanes.pop(None))
            .map(|key| key.to_string())
            .collect()
    }

    #[test]
    fn every_fifth_turn_belongs_to_a_key_of_low_priority() {
        let mut lanes = Lanes::default();
        for low in ["1", "2", "3"] {
            lanes.push_back(Priority::Low, low.into());
        }
        for normal in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
            lanes.push_back(Priority::Normal, normal.into());
        }
        assert_eq!(order(&mut lanes), "abcd1efgh2i3");
    }

    #[test]
    fn a_key_can_be_added_ahead_of_others_and_removed() {
        let mut lanes = Lanes::default();
        let b = lanes.push_back(Priority::Low, "b".into());
        lanes.push_back(Priority::Low, "c".into());
        lanes.push_front(Priority::Low, "a".into());
        assert_eq!(lanes.len(Priority::Low), 3);
        lanes.remove(Priority::Low, &"b".into(), b);
        assert_eq!(order(&mut lanes), "ac");
        assert_eq!(lanes.len(Priority::Low), 0);
    }
}
