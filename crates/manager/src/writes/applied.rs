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
    /// Children that an apply returned, by the key of their owner.
    answers: HashMap<Key, Vec<(Key, Answer)>>,
}

type Answer = Arc<dyn Any + Send + Sync>;

impl Applied {
    /// Announces that [`forget`](Self::forget) is called for each child of this kind that is gone. Children of other
    /// kinds are not remembered, because their entries would never be removed.
    pub(crate) fn follow<C: 'static>(&self) {
        self.lock().followed.insert(TypeId::of::<C>());
    }

    /// Whether [`forget`](Self::forget) is called for each child of this kind that is gone.
    pub(crate) fn follows<C: 'static>(&self) -> bool {
        self.lock().followed.contains(&TypeId::of::<C>())
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

    /// Keeps a child whose cache has only metadata, for the reconcile that it triggers: until the current reconcile
    /// ends and no other one of the owner follows at once.
    pub(crate) fn keep<C: Cached>(&self, owner: &Key, key: &Key, child: Arc<C>) {
        let mut state = self.lock();
        if state.followed.contains(&TypeId::of::<C>()) {
            let answers = state.answers.entry(owner.clone()).or_default();
            answers.push((key.clone(), child));
        }
    }

    /// Takes a child that was kept, if it has this version.
    pub(crate) fn take<C: Cached>(&self, owner: &Key, key: &Key, at: &str) -> Option<Arc<C>> {
        let mut state = self.lock();
        let answers = state.answers.get_mut(owner)?;
        let found = answers.iter().position(|(kept, answer)| {
            let child = answer.downcast_ref::<C>();
            kept == key && child.is_some_and(|child| version(child) == at)
        });
        answers.swap_remove(found?).1.downcast().ok()
    }

    /// Drops the children that were kept for the next reconcile of an owner.
    pub(crate) fn drop_answers(&self, owner: &Key) {
        self.lock().answers.remove(owner);
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
