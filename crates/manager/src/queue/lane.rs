//! The keys of one priority that wait for a worker. The namespaces take turns, so that the keys of one do not wait for all
//! those of another.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::key::Key;

/// Keys, first come, first served within their namespace. Those of a cluster-scoped kind count as one namespace.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The namespaces with keys.
    namespaces: HashMap<Arc<str>, Waiting>,
    /// The same namespaces in the order of their turns.
    turns: BTreeMap<i64, Arc<str>>,
    len: usize,
}

#[derive(Debug)]
struct Waiting {
    turn: i64,
    /// Keys by their place.
    keys: BTreeMap<i64, Key>,
}

/// The namespace of a key; empty for a cluster-scoped kind.
pub(super) fn namespace(key: &Key) -> &str {
    key.namespace().unwrap_or_default()
}

impl Lane {
    /// Adds a key behind all others of its namespace, and returns its place there.
    pub(super) fn push_back(&mut self, key: Key) -> i64 {
        self.len += 1;
        let keys = &mut self.waiting(namespace(&key)).keys;
        let place = keys.last_key_value().map_or(0, |(last, _)| last + 1);
        keys.insert(place, key);
        place
    }

    /// Adds a key ahead of all others, and returns its place in its namespace, whose turn it takes.
    pub(super) fn push_front(&mut self, key: Key) -> i64 {
        self.len += 1;
        let first = self.turns.first_key_value().map_or(0, |(first, _)| *first);
        let waiting = self.waiting(namespace(&key));
        let keys = &mut waiting.keys;
        let place = keys.first_key_value().map_or(0, |(first, _)| first - 1);
        keys.insert(place, key);
        let turn = std::mem::replace(&mut waiting.turn, first - 1);
        if let Some(namespace) = self.turns.remove(&turn) {
            self.turns.insert(first - 1, namespace);
        }
        place
    }

    /// Removes the key that has this place in its namespace.
    pub(super) fn remove(&mut self, key: &Key, place: i64) {
        let here = namespace(key);
        if let Some(waiting) = self.namespaces.get_mut(here)
            && waiting.keys.remove(&place).is_some()
        {
            self.len -= 1;
            if waiting.keys.is_empty() {
                self.turns.remove(&waiting.turn);
                self.namespaces.remove(here);
            }
        }
    }

    /// Takes the next key, of another namespace than `except`.
    pub(super) fn pop(&mut self, except: Option<&str>) -> Option<Key> {
        let mut turns = self.turns.iter();
        let (&turn, _) = turns.find(|(_, namespace)| except != Some(&***namespace))?;
        let next = self.next_turn();
        let namespace = self.turns.remove(&turn)?;
        let waiting = self.namespaces.get_mut(&namespace)?;
        let (_, key) = waiting.keys.pop_first()?;
        self.len -= 1;
        if waiting.keys.is_empty() {
            self.namespaces.remove(&namespace);
        } else {
            waiting.turn = next;
            self.turns.insert(next, namespace);
        }
        Some(key)
    }

    /// Whether a key of another namespace waits.
    pub(super) fn has_others(&self, than: &str) -> bool {
        self.turns.values().any(|namespace| &**namespace != than)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The keys of a namespace, which has the last turn if it has none yet.
    fn waiting(&mut self, namespace: &str) -> &mut Waiting {
        let (turn, namespace) = (self.next_turn(), Arc::<str>::from(namespace));
        let turns = &mut self.turns;
        self.namespaces.entry(namespace.clone()).or_insert_with(|| {
            turns.insert(turn, namespace);
            let keys = BTreeMap::new();
            Waiting { turn, keys }
        })
    }

    fn next_turn(&self) -> i64 {
        self.turns.last_key_value().map_or(0, |(last, _)| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(lane: &mut Lane) -> String {
        let keys = std::iter::from_fn(|| lane.pop(None));
        let keys: Vec<_> = keys.map(|key| key.to_string()).collect();
        keys.join(" ")
    }

    fn lane(keys: &[&str]) -> Lane {
        let mut lane = Lane::default();
        for key in keys {
            lane.push_back(Key::from(*key));
        }
        lane
    }

    #[test]
    fn namespaces_take_turns_and_their_keys_keep_their_order() {
        let mut lane = lane(&["a/1", "a/2", "a/3", "b/1", "c/1", "b/2"]);
        assert_eq!(order(&mut lane), "a/1 b/1 c/1 a/2 b/2 a/3");
        assert!(lane.namespaces.is_empty() && lane.turns.is_empty());
    }

    #[test]
    fn a_namespace_that_always_comes_back_delays_no_other() {
        let mut lane = lane(&["a/1", "b/1", "b/2"]);
        let mut order = String::new();
        for _ in 0..5 {
            let key = lane.pop(None).unwrap().to_string();
            order.push_str(&key);
            if key == "a/1" {
                lane.push_back(Key::from("a/1"));
            }
        }
        assert_eq!(order, "a/1b/1a/1b/2a/1");
    }

    #[test]
    fn a_key_that_goes_ahead_takes_the_turn_of_its_namespace() {
        let mut lane = lane(&["a/1", "b/1", "c/1", "c/2"]);
        lane.push_front(Key::from("c/0"));
        lane.push_front(Key::from("d/0"));
        assert_eq!(order(&mut lane), "d/0 c/0 a/1 b/1 c/1 c/2");
    }

    #[test]
    fn one_namespace_can_be_left_out() {
        let mut lane = lane(&["a/1", "a/2", "b/1"]);
        assert!(lane.has_others("a"));
        assert_eq!(lane.pop(Some("a")), Some("b/1".into()));
        assert!(!lane.has_others("a"));
        assert_eq!(lane.pop(Some("a")), None);
        assert_eq!(order(&mut lane), "a/1 a/2");
    }

    #[test]
    fn a_key_can_be_removed() {
        let mut lane = lane(&["a/1"]);
        let place = lane.push_back(Key::from("a/2"));
        let only = lane.push_back(Key::from("b/1"));
        lane.remove(&"a/2".into(), place);
        lane.remove(&"b/1".into(), only);
        assert_eq!(lane.len(), 1);
        assert_eq!(order(&mut lane), "a/1");
        assert_eq!(lane.len(), 0);
    }
}
