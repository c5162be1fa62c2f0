//! What a controller has applied lately, so that the same is not sent again.

use std::{
    any::TypeId,
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
};

use crate::key::Key;

/// What a controller applied last: a hash of what it sent and of the resource version that it got.
#[derive(Default)]
pub(crate) struct Applied(Mutex<HashMap<(TypeId, Key), u64>>);

impl Applied {
    /// Forgets a child that is gone.
    pub(crate) fn forget<C: 'static>(&self, key: &Key) {
        let mut applied = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        applied.remove(&(TypeId::of::<C>(), key.clone()));
    }

    /// Whether a child was applied that is not gone.
    pub(crate) fn knows<C: 'static>(&self, key: &Key) -> bool {
        let applied = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        applied.contains_key(&(TypeId::of::<C>(), key.clone()))
    }

    /// Whether the child is at `version` since `body` was applied.
    pub(crate) fn has<C: 'static>(&self, key: &Key, body: &str, version: &str) -> bool {
        let applied = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = applied.get(&(TypeId::of::<C>(), key.clone()));
        known == Some(&hash(body, version))
    }

    pub(crate) fn set<C: 'static>(&self, key: &Key, body: &str, version: &str) {
        let mut applied = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        applied.insert((TypeId::of::<C>(), key.clone()), hash(body, version));
    }
}

fn hash(body: &str, version: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (body, version).hash(&mut hasher);
    hasher.finish()
}
