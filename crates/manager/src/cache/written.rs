//! What the readers of a cache see after a write: its result, until the watch delivers that or something later. Handlers
//! of changes see only what the watch delivers.

use std::sync::Arc;

use kube::api::ObjectMeta;
use tokio::time::Instant;

use crate::{
    cache::{
        ahead::{LIMIT, MOST, Write},
        object::{Cached, number, version},
        state::State,
    },
    key::Key,
};

impl<K: Cached> State<K> {
    /// Stores what the watch delivers; returns what it delivered before.
    pub(super) fn deliver(&mut self, key: &Key, object: &Arc<K>) -> Option<Arc<K>> {
        match self.ahead.writes.get_mut(key) {
            Some(write) if write.outdates(object) => write.delivered.replace(object.clone()),
            Some(_) => {
                let write = self.ahead.writes.remove(key);
                self.insert(key, object);
                write?.delivered
            }
            None => self.insert(key, object),
        }
    }

    /// Removes an object that the watch delivers as deleted, with the version of that event; returns what it delivered
    /// before. A later write of a controller stays.
    pub(super) fn deliver_deletion(&mut self, key: &Key, last: &ObjectMeta) -> Option<Arc<K>> {
        let at = last.resource_version.as_deref().and_then(number);
        let uid = last.uid.as_deref();
        if let Some(uid) = uid {
            self.ahead.remember_deletion(uid, at);
        }
        match self.ahead.writes.get_mut(key) {
            Some(write) if write.follows(uid, at) => write.delivered.take(),
            _ => self.discard(key),
        }
    }

    /// Removes an object that was not in a list which began at `began`; returns what the watch delivered before. A
    /// write since then stays.
    pub(super) fn deliver_absence(&mut self, key: &Key, began: Instant) -> Option<Arc<K>> {
        match self.ahead.writes.get_mut(key) {
            Some(write) if write.at >= began => write.delivered.take(),
            _ => self.discard(key),
        }
    }

    /// Removes an object, and a write to it; returns what the watch delivered before, or else what readers saw.
    pub(super) fn discard(&mut self, key: &Key) -> Option<Arc<K>> {
        let visible = self.remove(key);
        match self.ahead.writes.remove(key) {
            Some(write) => write.delivered.or(visible),
            None => visible,
        }
    }

    /// Shows the result of a write, unless the watch has delivered that version or a later one. `selected` means that
    /// the watch delivers such an object even if it has not delivered it before.
    pub(super) fn show(&mut self, key: &Key, object: &Arc<K>, selected: bool) {
        let Some(own) = number(version(&**object)) else {
            return;
        };
        let uid = object.meta().uid.as_ref();
        let visible = self.objects.get(key);
        let later = match visible {
            Some(visible) => number(version(&**visible)).is_some_and(|visible| own > visible),
            // The watch may have been faster than the response.
            None => selected && !uid.is_some_and(|uid| self.ahead.is_deleted(uid, own)),
        };
        let hidden = self.ahead.writes.get(key).is_some_and(|write| {
            let newer = write.version.is_none_or(|version| version >= own);
            write.hides && newer && write.uid.as_ref() == uid
        });
        if later && !hidden && !self.unreadable.contains_key(key) {
            self.write(key, Some(object), uid.cloned(), Some(own));
        }
    }

    /// Hides an object that a write has deleted, or that has left the selection with this version.
    pub(super) fn hide(&mut self, key: &Key, uid: Option<&str>, version_after: Option<&str>) {
        let Some(visible) = self.objects.get(key) else {
            return;
        };
        let own = version_after.and_then(number);
        let later = own.is_some_and(|own| number(version(&**visible)) > Some(own));
        if visible.meta().uid.as_deref() == uid && !later {
            self.write(key, None, uid.map(str::to_owned), own);
        }
    }

    fn write(
        &mut self,
        key: &Key,
        object: Option<&Arc<K>>,
        uid: Option<String>,
        version: Option<u128>,
    ) {
        if self.ahead.writes.len() >= MOST {
            self.expire_oldest();
        }
        let visible = match object {
            Some(object) => self.insert(key, object),
            None => self.remove(key),
        };
        let before = self.ahead.writes.remove(key);
        let write = Write {
            uid,
            version,
            hides: object.is_none(),
            delivered: before.map_or(visible, |before| before.delivered),
            at: Instant::now(),
        };
        self.ahead.since.get_or_insert(write.at);
        self.ahead.writes.insert(key.clone(), write);
    }

    /// Shows what the watch delivered instead of writes that are too old.
    pub(super) fn expire(&mut self) {
        let old = |(_, write): &(&Key, &Write<K>)| write.at.elapsed() > LIMIT;
        let old = self.ahead.writes.iter().filter(old);
        let old: Vec<_> = old.map(|(key, _)| key.clone()).collect();
        for key in &old {
            self.withdraw(key);
        }
        self.ahead.since = self.ahead.writes.values().map(|write| write.at).min();
    }

    fn expire_oldest(&mut self) {
        let writes = self.ahead.writes.iter();
        let oldest = writes.min_by_key(|(_, write)| write.at);
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            self.withdraw(&key);
        }
    }

    /// Shows what the watch delivered instead of a write.
    fn withdraw(&mut self, key: &Key) {
        match self.ahead.writes.remove(key).map(|write| write.delivered) {
            Some(Some(delivered)) => drop(self.insert(key, &delivered)),
            Some(None) => drop(self.remove(key)),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests;
