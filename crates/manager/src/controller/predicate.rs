//! Filters for updates, to use with [`Controller::when`](crate::Controller::when): controller-runtime's predicates, as
//! plain functions of the object before and after.
//!
//! Combine them with each other, and with your own, like any other conditions:
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use manager::predicate::{annotations_changed, generation_changed};
//!
//! fn register(manager: &mut manager::Manager) {
//!     let _ = manager
//!         .controller::<ConfigMap>("configmap")
//!         .when(|old, new| generation_changed(old, new) || annotations_changed(old, new));
//! }
//! ```

use kube::Resource;

use crate::{
    cache::{object::Cached, store::Change},
    panics::caught,
};

/// Whether the generation changed. It changes with the spec, but not with the status or the metadata.
///
/// For a kind without generations, such as a `ConfigMap`, every update counts.
pub fn generation_changed<K: Resource>(old: &K, new: &K) -> bool {
    let (old, new) = (old.meta().generation, new.meta().generation);
    old.is_none() || new.is_none() || old != new
}

/// Whether a label was added, changed or removed.
pub fn labels_changed<K: Resource>(old: &K, new: &K) -> bool {
    let (old, new) = (&old.meta().labels, &new.meta().labels);
    old.iter().flatten().ne(new.iter().flatten())
}

/// Whether an annotation was added, changed or removed.
pub fn annotations_changed<K: Resource>(old: &K, new: &K) -> bool {
    let (old, new) = (&old.meta().annotations, &new.meta().annotations);
    old.iter().flatten().ne(new.iter().flatten())
}

/// Decides from an object before and after whether the update matters.
type Predicate<K> = Box<dyn Fn(&K, &K) -> bool + Send + Sync>;

/// The predicates on one kind, all of which must hold.
pub(crate) struct Filter<K>(Vec<Predicate<K>>);

impl<K> Default for Filter<K> {
    /// A filter that passes everything.
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K> Filter<K> {
    pub(crate) fn add(&mut self, predicate: impl Fn(&K, &K) -> bool + Send + Sync + 'static) {
        self.0.push(Box::new(predicate));
    }

    /// Whether it passes everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Cached> Filter<K> {
    /// Whether a change matters. An object that is first seen does, and so does its end: a deletion, a deletion
    /// timestamp, or a replacement by another object of the same name.
    pub(crate) fn passes(&self, change: &Change<'_, K>) -> bool {
        let (Some(old), Some(new)) = (change.old, change.new) else {
            return true;
        };
        let (before, after) = (old.meta(), new.meta());
        if before.uid != after.uid || before.deletion_timestamp != after.deletion_timestamp {
            return true;
        }
        let holds = |predicate: &Predicate<K>| {
            caught(|| predicate(old, new)).unwrap_or_else(|panic| {
                tracing::error!(panic, key = %change.key, "a predicate panicked");
                // In doubt, reconcile.
                true
            })
        };
        self.0.iter().all(holds)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::core::v1::ConfigMap,
        apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
        jiff::Timestamp,
    };

    use super::*;

    fn object(change: impl FnOnce(&mut ObjectMeta)) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.uid = Some("u".to_owned());
        object.metadata.generation = Some(1);
        change(&mut object.metadata);
        object
    }

    fn pair() -> std::collections::BTreeMap<String, String> {
        [("a".to_owned(), "b".to_owned())].into()
    }

    /// Which of generation, labels and annotations `change` affects.
    fn changed(change: impl FnOnce(&mut ObjectMeta)) -> [bool; 3] {
        let (old, new) = (object(|_| {}), object(change));
        let predicates = [generation_changed, labels_changed, annotations_changed];
        predicates.map(|predicate| predicate(&old, &new))
    }

    #[test]
    fn each_predicate_sees_only_its_own_field() {
        assert_eq!(
            changed(|meta| meta.generation = Some(2)),
            [true, false, false]
        );
        assert_eq!(
            changed(|meta| meta.labels = Some(pair())),
            [false, true, false]
        );
        assert_eq!(
            changed(|meta| meta.annotations = Some(pair())),
            [false, false, true]
        );
        assert_eq!(changed(|meta| meta.labels = Some([].into())), [false; 3]);
        let version = Some("2".to_owned());
        assert_eq!(changed(|meta| meta.resource_version = version), [false; 3]);
    }

    #[test]
    fn every_update_counts_if_the_kind_has_no_generation() {
        assert_eq!(changed(|meta| meta.generation = None), [true, false, false]);
    }

    fn passes(
        filter: &Filter<ConfigMap>,
        old: Option<&ConfigMap>,
        new: Option<&ConfigMap>,
    ) -> bool {
        let key = &"ns/a".into();
        filter.passes(&Change {
            key,
            old,
            new,
            unreadable: None,
            initial: false,
        })
    }

    #[test]
    fn creation_and_deletion_pass_every_predicate() {
        let mut never = Filter::default();
        never.add(|_, _| false);
        let now = || Some(Time(Timestamp::UNIX_EPOCH));
        let (known, going) = (
            object(|_| {}),
            object(|meta| meta.deletion_timestamp = now()),
        );
        let again = object(|meta| meta.uid = Some("v".to_owned()));
        assert!(!passes(&never, Some(&known), Some(&known)));
        assert!(passes(&never, None, Some(&known)));
        assert!(passes(&never, Some(&known), Some(&going)));
        assert!(passes(&never, Some(&going), None));
        assert!(passes(&never, Some(&known), Some(&again)));
    }

    #[test]
    fn every_predicate_must_hold_and_one_that_panics_counts_as_true() {
        let (old, new) = (object(|_| {}), object(|meta| meta.labels = Some(pair())));
        let mut filter = Filter::default();
        filter.add(labels_changed);
        filter.add(|_, _| panic!("no idea"));
        assert!(passes(&filter, Some(&old), Some(&new)));
        filter.add(generation_changed);
        assert!(!passes(&filter, Some(&old), Some(&new)));
    }
}
