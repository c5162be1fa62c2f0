//! Other writers, which are faster than the operator.

use serde_json::json;

use super::{replica::Replica, state::TOUCHED, trace::Happened};
use crate::server::Path;

/// For how many writes someone else is faster. The library gives up earlier.
const CONFLICTS: usize = 6;

impl Replica {
    /// From now on, someone else changes an object before each write.
    pub(super) fn contend(&self, path: &Path) {
        self.wire.lock().contended = Some((path.object(), CONFLICTS));
    }

    /// Changes an object if someone else does so before each write.
    pub(super) fn interfere(&self, path: &Path) {
        let is_contended = match &mut self.wire.lock().contended {
            Some((contended, left)) if *contended == path.object() && *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        };
        if is_contended {
            self.touch(path);
        }
    }

    /// Changes an object as another writer does, so that the operator's version is out of date.
    pub(super) fn touch(&self, path: &Path) {
        let object = path.object();
        let changed = self.wire.0.api.change(|objects| {
            let mut found = objects.get(&object)?.clone();
            found["metadata"]["annotations"][TOUCHED] = json!(objects.version().to_string());
            objects.put(&object, found);
            Some(())
        });
        if changed.is_some() {
            let what = format!("someone else annotates {object}");
            self.wire.tell(Happened::Fault(what));
        }
    }

    /// Removes an object that is about to be read or written, even one with finalizers.
    pub(super) fn vanish(&self, path: &Path) {
        let object = path.object();
        let removed = self.wire.0.api.change(|objects| {
            let mut found = objects.get(&object)?.clone();
            found["metadata"]["finalizers"] = json!([]);
            objects.put(&object, found);
            objects.delete_now(&object);
            Some(())
        });
        if removed.is_some() {
            let what = format!("someone else removes {object}");
            self.wire.tell(Happened::Fault(what));
        }
    }
}
