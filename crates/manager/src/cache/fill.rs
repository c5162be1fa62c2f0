//! Stores the objects that a watch delivers.

use std::sync::Arc;

use crate::{
    cache::{
        lenient::{Lenient, Unreadable},
        object::Cached,
        report::Reporter,
        shape::Shape,
        store::Cache,
    },
    key::Key,
    panics::{caught, dropped},
};

/// One watch of a cache: of one namespace, or of all.
pub(super) struct Follower<'a, K> {
    pub(super) cache: &'a Cache<K>,
    pub(super) shape: &'a Shape<K>,
    pub(super) namespace: Option<&'a str>,
    /// Its index in the progress of the cache.
    pub(super) place: usize,
    pub(super) reporter: &'a Reporter,
}

impl<K: Cached> Follower<'_, K> {
    /// Stores an object; returns its key.
    pub(super) fn set(&self, object: Lenient<K>) -> Key {
        let key = Key::of(&object);
        let object = match object {
            Lenient::Object(object) => self.shape.transformed(object),
            unreadable @ Lenient::Unreadable(_) => unreadable,
        };
        match shared(object) {
            Lenient::Object(object) => {
                if self.cache.set(&key, &object) {
                    tracing::info!(kind = %K::kind(&()), %key, "an object can be read again");
                }
            }
            Lenient::Unreadable(object) => {
                if let Some(object) = self.cache.set_unreadable(&key, *object) {
                    self.reporter.unreadable::<K>(&key, &object);
                }
            }
        }
        key
    }
}

/// An object to share. It is a clone, which has no spare capacity: in parsed data, a list with one item has room for four.
fn shared<K: Cached>(object: Lenient<K>) -> Lenient<Arc<K>> {
    let object = match object {
        Lenient::Object(object) => object,
        Lenient::Unreadable(object) => return Lenient::Unreadable(object),
    };
    let shared = caught(|| Arc::new(object.clone()));
    let shared = shared.map_or_else(
        |panic| {
            let meta = object.meta().clone();
            let reason = format!("its `Clone` panicked: {panic}");
            Lenient::Unreadable(Box::new(Unreadable { meta, reason }))
        },
        Lenient::Object,
    );
    dropped(object);
    shared
}
