//! Remembers what a controller has applied, so that the same is not sent again.

use std::{
    any::{Any, TypeId},
    collections::{HashMap, HashSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use crate::{
    cache::object::{Cached, version},
    key::Key,
};

/// For how many owners children are kept. The watch delivers a child soon after the API server has answered, and the reconcile
/// that this triggers goes ahead of a flood, so few owners wait for theirs at a time.
const OWNERS: usize = 16;

/// What a controller applied last: hashes of the text and of the body, each with the resulting resource version.
#[derive(Default)]
pub(crate) struct Applied(Mutex<State>);

#[derive(Default)]
struct State {
    /// The kinds for which [`forget`](Applied::forget) is called when an object is gone.
    followed: HashSet<TypeId>,
    children: HashMap<(TypeId, Key), [u64; 2]>,
    /// The latest owner last.
    answers: VecDeque<Answers>,
}

/// Children that applies for one owner returned.
struct Answers {
    owner: Key,
    /// Those of its last reconcile.
    last: Vec<Answer>,
    /// Those of the reconcile in progress.
    now: Vec<Answer>,
}

type Answer = (Key, Arc<dyn Any + Send + Sync>);

impl Applied {
    /// Announces that [`forget`](Self::forget) is called for each child of this kind that is gone. Children of other
    /// kinds are not remembered, because their entries would never be removed.
    pub(crate) fn follow<C: 'static>(&self) {
        self.lock().followed.insert(TypeId::of::<C>());
    }

    /// Forgets a child that is gone.
    pub(crate) fn forget<C: 'static>(&self, key: &Key) {
        self.lock().children.remove(&id::<C>(key));
    }

    /// Whether a child was applied that has not been forgotten.
    pub(crate) fn knows<C: 'static>(&self, key: &Key) -> bool {
        self.lock().children.contains_key(&id::<C>(key))
    }

    /// Whether the child still has the `version` that resulted from applying this text or body.
    pub(crate) fn has<C: 'static>(&self, key: &Key, sent: impl Hash, version: &str) -> bool {
        let hash = hash(sent, version);
        let applied = self.lock().children.get(&id::<C>(key)).copied();
        applied.is_some_and(|hashes| hashes.contains(&hash))
    }

    /// Remembers the resource version that resulted from applying a body, and the text that it was made from.
    pub(crate) fn set<C: 'static>(&self, key: &Key, text: impl Hash, body: &Value, version: &str) {
        let hashes = [hash(text, version), hash(body, version)];
        let mut state = self.lock();
        if state.followed.contains(&TypeId::of::<C>()) {
            state.children.insert(id::<C>(key), hashes);
        }
    }

    /// Keeps a child whose cache has only metadata, for the next reconcile of its owner, which it triggers, unless this is
    /// done for [`OWNERS`] other owners until then.
    pub(crate) fn keep<C: Cached>(&self, owner: &Key, key: &Key, child: Arc<C>) {
        let mut state = self.lock();
        if !state.followed.contains(&TypeId::of::<C>()) {
            return;
        }
        let answers = &mut state.answers;
        let known = answers.iter().position(|known| known.owner == *owner);
        let mut kept = known.and_then(|at| answers.remove(at)).unwrap_or(Answers {
            owner: owner.clone(),
            last: Vec::new(),
            now: Vec::new(),
        });
        kept.now.push((key.clone(), child));
        if answers.len() == OWNERS {
            answers.pop_front();
        }
        answers.push_back(kept);
    }

    /// Takes a child that was kept, if it has this version.
    pub(crate) fn take<C: Cached>(&self, owner: &Key, key: &Key, at: &str) -> Option<Arc<C>> {
        let mut state = self.lock();
        let kept = state.answers.iter_mut().find(|kept| kept.owner == *owner)?;
        let is_it = |(other, answer): &Answer| {
            let child = answer.downcast_ref::<C>();
            other == key && child.is_some_and(|child| version(child) == at)
        };
        [&mut kept.last, &mut kept.now]
            .into_iter()
            .find_map(|children| {
                let found = children.iter().position(is_it)?;
                children.swap_remove(found).1.downcast().ok()
            })
    }

    /// Notices the end of a reconcile: what the one before it had kept is dropped.
    pub(crate) fn end(&self, owner: &Key) {
        let answers = &mut self.lock().answers;
        if let Some(at) = answers.iter().position(|kept| kept.owner == *owner) {
            let kept = &mut answers[at];
            kept.last = mem::take(&mut kept.now);
            if kept.last.is_empty() {
                answers.remove(at);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn id<C: 'static>(key: &Key) -> (TypeId, Key) {
    (TypeId::of::<C>(), key.clone())
}

fn hash(sent: impl Hash, version: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (sent, version).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn child(version: usize) -> Arc<ConfigMap> {
        let mut child = ConfigMap::default();
        child.metadata.resource_version = Some(version.to_string());
        Arc::new(child)
    }

    fn owner(number: usize) -> Key {
        Key::from(&format!("owner-{number}"))
    }

    fn kept(applied: &Applied, number: usize, at: &str) -> bool {
        let taken = applied.take::<ConfigMap>(&owner(number), &"child".into(), at);
        taken.is_some_and(|child| version(&*child) == at)
    }

    #[test]
    fn a_child_is_kept_until_the_next_reconcile_of_its_owner_has_ended() {
        let (applied, key) = (Applied::default(), Key::from("child"));
        applied.follow::<ConfigMap>();
        applied.keep(&owner(0), &key, child(1));
        applied.end(&owner(0));
        assert!(!kept(&applied, 1, "1"), "it has another owner");
        assert!(!kept(&applied, 0, "2"), "it has another version");
        assert!(kept(&applied, 0, "1"));
        assert!(!kept(&applied, 0, "1"), "it was taken");

        applied.keep(&owner(0), &key, child(2));
        applied.end(&owner(0));
        applied.keep(&owner(0), &key, child(3));
        applied.end(&owner(0));
        assert!(!kept(&applied, 0, "2"), "a reconcile has ended since");
        assert!(kept(&applied, 0, "3"));
        applied.end(&owner(0));
        assert!(applied.lock().answers.is_empty());
    }

    #[test]
    fn children_are_kept_for_a_limited_number_of_owners() {
        let (applied, key) = (Applied::default(), Key::from("child"));
        applied.follow::<ConfigMap>();
        for number in 0..=OWNERS {
            applied.keep(&owner(number), &key, child(1));
            applied.end(&owner(number));
        }
        assert!(!kept(&applied, 0, "1"), "it has made room");
        assert!((1..=OWNERS).all(|number| kept(&applied, number, "1")));
    }
}
