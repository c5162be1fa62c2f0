//! What a controller has applied lately, so that the same is not sent again.

use std::{
    any::TypeId,
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::key::Key;

/// What a controller applied last: a hash of what it sent and of the resource version that it got.
#[derive(Default)]
pub(crate) struct Applied(Mutex<State>);

#[derive(Default)]
struct State {
    /// The kinds of which [`forget`](Applied::forget) is called when an object is gone.
    followed: HashSet<TypeId>,
    children: HashMap<(TypeId, Key), u64>,
}

impl Applied {
    /// Announces that [`forget`](Self::forget) is called for each child of this kind that is gone. Others are not
    /// remembered, as that would be for ever.
    pub(crate) fn follow<C: 'static>(&self) {
        self.lock().followed.insert(TypeId::of::<C>());
    }

    /// Forgets a child that is gone.
    pub(crate) fn forget<C: 'static>(&self, key: &Key) {
        self.lock().children.remove(&id::<C>(key));
    }

    /// Whether a child was applied that is not gone.
    pub(crate) fn knows<C: 'static>(&self, key: &Key) -> bool {
        self.lock().children.contains_key(&id::<C>(key))
    }

    /// Whether the child is at `version` since `body` was applied.
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
