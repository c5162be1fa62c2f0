//! Reports objects that cannot be read: a line in the log, and an event on the object.

use crate::{
    cache::{
        lenient::Unreadable,
        object::{Cached, reference_to},
    },
    events::{Event, RECONCILE, Recorder, Severity},
    key::Key,
    leader::fence::Fence,
};

/// Reports for one manager.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    pub(crate) recorder: Recorder,
    pub(crate) fence: Fence,
    /// The id of the manager.
    pub(crate) id: String,
}

impl Reporter {
    /// Reports that an object became unreadable, or is unreadable for another reason than before. Every replica logs it,
    /// and the leader publishes an event.
    pub(super) fn unreadable<K: Cached>(&self, key: &Key, object: &Unreadable) {
        let (kind, reason) = (K::kind(&()), &object.reason);
        tracing::warn!(%kind, %key, reason, "cannot read an object; it is skipped until it changes");
        if self.fence.is_open() {
            self.publish::<K>(object);
        }
    }

    /// Publishes an event about an unreadable object.
    pub(super) fn publish<K: Cached>(&self, object: &Unreadable) {
        let reason = &object.reason;
        self.recorder.publish(Event {
            regarding: reference_to::<K>(&object.meta),
            related: None,
            severity: Severity::Warning,
            action: RECONCILE.to_owned(),
            reason: "Unreadable".to_owned(),
            note: format!("cannot be read, so it is skipped until it changes: {reason}"),
            controller: self.id.clone(),
        });
    }
}
