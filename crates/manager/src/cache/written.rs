//! What the readers of a cache see after a write: its result, until the watch delivers that or something later. Handlers
//! of changes see what the watch delivers; and if a write is shown no longer although the watch has delivered nothing,
//! that, too.

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
        if let Some(at) = at {
            self.ahead.deleted(key, at);
        }
        match self.ahead.writes.get_mut(key) {
            Some(write) if write.follows(uid, at) => write.delivered.take(),
            _ => self.discard(key),
        }
    }

    /// Removes an object that was not in the list of this version; returns what the watch delivered before. A later
    /// write stays.
    pub(super) fn deliver_absence(&mut self, key: &Key, at: Option<u128>) -> Option<Arc<K>> {
        match self.ahead.writes.get_mut(key) {
            Some(write) if write.version.zip(at).is_some_and(|(own, at)| own > at) => {
                write.delivered.take()
            }
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

    /// Shows the result of a write, unless the watch has come as far as that. `selected` means that the watch delivers
    /// such an object even if it has not delivered it before.
    pub(super) fn show(
        &mut self,
        key: &Key,
        object: &Arc<K>,
        selected: bool,
    ) -> Option<Withdrawn<K>> {
        let own = number(version(&**object))?;
        // The watch may have been faster than the response, or a list without the object.
        if self.ahead.has_reached(key, own) {
            return None;
        }
        let uid = object.meta().uid.as_ref();
        let visible = self.objects.get(key);
        let later = match visible {
            Some(visible) => number(version(&**visible)).is_some_and(|visible| own > visible),
            None => selected,
        };
        let hidden = self.ahead.writes.get(key).is_some_and(|write| {
            let newer = write.version.is_none_or(|version| version >= own);
            write.hides && newer && write.uid.as_ref() == uid
        });
        if !later || hidden || self.unreadable.contains_key(key) {
            return None;
        }
        self.write(key, Some(object), uid.cloned(), Some(own))
    }

    /// Hides an object that a write has deleted, or that has left the selection with this version.
    pub(super) fn hide(
        &mut self,
        key: &Key,
        uid: Option<&str>,
        version_after: Option<&str>,
    ) -> Option<Withdrawn<K>> {
        let visible = self.objects.get(key)?;
        let own = version_after.and_then(number);
        let later = own.is_some_and(|own| number(version(&**visible)) > Some(own));
        if visible.meta().uid.as_deref() != uid || later {
            return None;
        }
        self.write(key, None, uid.map(str::to_owned), own)
    }

    fn write(
        &mut self,
        key: &Key,
        object: Option<&Arc<K>>,
        uid: Option<String>,
        version: Option<u128>,
    ) -> Option<Withdrawn<K>> {
        let withdrawn = if self.ahead.writes.len() < MOST {
            None
        } else {
            self.withdraw_oldest()
        };
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
        self.ahead.writes.insert(key.clone(), write);
        withdrawn
    }

    /// Shows what the watch delivered instead of writes that are too old.
    pub(super) fn withdraw_old(&mut self) -> Vec<Withdrawn<K>> {
        let writes = self.ahead.writes.iter();
        let old = writes.filter(|(_, write)| write.at.elapsed() > LIMIT);
        let old: Vec<_> = old.map(|(key, _)| key.clone()).collect();
        old.into_iter()
            .filter_map(|key| self.withdraw(key))
            .collect()
    }

    fn withdraw_oldest(&mut self) -> Option<Withdrawn<K>> {
        let writes = self.ahead.writes.iter();
        let (key, _) = writes.min_by_key(|(_, write)| write.at)?;
        self.withdraw(key.clone())
    }

    /// Shows what the watch delivered instead of a write.
    fn withdraw(&mut self, key: Key) -> Option<Withdrawn<K>> {
        let delivered = self.ahead.writes.remove(&key)?.delivered;
        let shown = match &delivered {
            Some(delivered) => self.insert(&key, delivered),
            None => self.remove(&key),
        };
        Some(Withdrawn {
            key,
            shown,
            delivered,
        })
    }
}

/// A write that is no longer shown, although the watch has not delivered it.
pub(super) struct Withdrawn<K> {
    pub(super) key: Key,
    /// What readers saw until now.
    pub(super) shown: Option<Arc<K>>,
    /// What they see from now on.
    pub(super) delivered: Option<Arc<K>>,
}

#[cfg(test)]
mod tests;
