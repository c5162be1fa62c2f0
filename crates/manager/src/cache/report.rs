//! Reports objects that cannot be read: a line in the log, and an event on the object.

use crate::{
    cache::{
        lenient::Unreadable,
        object::{Cached, reference_to},
    },
    events::{Event, Recorder, Severity},
    key::Key,
};

/// Reports for one manager.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    pub(crate) recorder: Recorder,
    /// The id of the manager.
    pub(crate) id: String,
}

impl Reporter {
    /// Reports that an object became unreadable, or is unreadable for another reason than before.
    pub(super) fn unreadable<K: Cached>(&self, key: &Key, object: &Unreadable) {
        let (kind, reason) = (K::kind(&()), &object.reason);
        tracing::warn!(%kind, %key, reason, "cannot read an object; it is skipped until it changes");
        self.recorder.publish(Event {
            regarding: reference_to::<K>(&object.meta),
            severity: Severity::Warning,
            reason: "Unreadable".to_owned(),
            note: format!("cannot be read, so it is skipped until it changes: {reason}"),
            controller: self.id.clone(),
        });
    }
}
