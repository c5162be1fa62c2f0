//! Remembers what a controller has applied, so that the same is not sent again.

use std::{
    any::{Any, TypeId},
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    cache::object::{Cached, version},
    key::Key,
};

/// What a controller applied last: a hash of the request and of the resulting resource version.
#[derive(Default)]
pub(crate) struct Applied(Mutex<State>);

#[derive(Default)]
struct State {
    /// The kinds for which [`forget`](Applied::forget) is called when an object is gone.
    followed: HashSet<TypeId>,
    children: HashMap<(TypeId, Key), u64>,
    /// By the key of the owner.
    answers: HashMap<Key, Vec<Answer>>,
}

/// A child that an apply returned, kept for the reconcile that its event triggers.
struct Answer {
    key: Key,
    child: Arc<dyn Any + Send + Sync>,
    /// Whether the event has arrived.
    seen: bool,
}

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

    /// Whether the child still has the `version` that resulted from applying `body`.
    pub(crate) fn has<C: 'static>(&self, key: &Key, body: &str, version: &str) -> bool {
        let hash = hash(body, version);
        self.lock().children.get(&id::<C>(key)) == Some(&hash)
    }

    pub(crate) fn set<C: 'static>(&self, key: &Key, body: &str, version: &str) {
        let hash = hash(body, version);
        let mut state = self.lock();
        if state.followed.contains(&TypeId::of::<C>()) {
            state.children.insert(id::<C>(key), hash);
        }
    }

    /// Keeps a child whose cache has only metadata, for the reconcile that its event triggers. [`see`](Self::see) must
    /// be called when the event arrives, or afterwards if it was faster than this.
    pub(crate) fn keep<C: Cached>(&self, owner: &Key, key: &Key, child: Arc<C>) {
        let mut state = self.lock();
        if state.followed.contains(&TypeId::of::<C>()) {
            let answers = state.answers.entry(owner.clone()).or_default();
            answers.push(Answer {
                key: key.clone(),
                child,
                seen: false,
            });
        }
    }

    /// Marks what was kept of a child whose event has arrived: it is dropped after the next reconcile of the owner, or
    /// now if there is none.
    pub(crate) fn see(&self, owner: &Key, key: &Key, triggers: bool) {
        let mut state = self.lock();
        let Some(answers) = state.answers.get_mut(owner) else {
            return;
        };
        answers.retain_mut(|answer| {
            answer.seen |= answer.key == *key;
            triggers || answer.key != *key
        });
        if answers.is_empty() {
            state.answers.remove(owner);
        }
    }

    /// Takes a child that was kept, if it has this version.
    pub(crate) fn take<C: Cached>(&self, owner: &Key, key: &Key, at: &str) -> Option<Arc<C>> {
        let mut state = self.lock();
        let answers = state.answers.get_mut(owner)?;
        let found = answers.iter().position(|answer| {
            let child = answer.child.downcast_ref::<C>();
            answer.key == *key && child.is_some_and(|child| version(child) == at)
        });
        let answer = answers.swap_remove(found?);
        if answers.is_empty() {
            state.answers.remove(owner);
        }
        answer.child.downcast().ok()
    }

    /// Drops the kept children whose event has arrived, because no reconcile follows that could take them.
    pub(crate) fn drop_seen(&self, owner: &Key) {
        let mut state = self.lock();
        let Some(answers) = state.answers.get_mut(owner) else {
            return;
        };
        answers.retain(|answer| !answer.seen);
        if answers.is_empty() {
            state.answers.remove(owner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn id<C: 'static>(key: &Key) -> (TypeId, Key) {
    (TypeId::of::<C>(), key.clone())
}

fn hash(body: &str, version: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (body, version).hash(&mut hasher);
    hasher.finish()
}
