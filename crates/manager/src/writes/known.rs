//! What the caches know about an object to write.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{api::PartialObjectMeta, core::PartialObjectMetaExt as _};

use crate::{
    cache::{
        object::{Cached, Object},
        shape::Shape,
        store::Cache,
    },
    key::Key,
    writes::{core::Core, error::WriteError},
};

/// Whether a cache holds the objects of this kind whole.
pub(crate) fn caches_whole<K, C: Cached>(core: &Core<K>) -> bool {
    let cache = core.reader.caches.find::<C>();
    cache.is_some_and(|cache| !cache.shape().transforms())
}

/// What the caches know about a child.
pub(crate) enum Known<C> {
    /// Nothing: its kind, its namespace or perhaps its fields are not watched, its kind is not installed, or it cannot
    /// be read.
    Unwatched,
    /// It is watched, and not in the cache, which holds only objects with some labels: it may exist without them.
    Unselected,
    /// It is watched, and not in the cache.
    Missing,
    /// The cache has only a part of it.
    Metadata(Arc<PartialObjectMeta<C>>),
    Whole(Arc<C>),
}

impl<C: Cached> Known<C> {
    pub(crate) fn of<K>(core: &Core<K>, key: &Key) -> Self {
        let caches = &core.reader.caches;
        let whole = caches.find::<C>().map(|cache| {
            // An unreadable object exists, and may have another owner.
            match cache.unreadable(key) {
                Some(_) => Self::Unwatched,
                None => Self::found(&cache, core, key, |object| {
                    if cache.shape().transforms() {
                        // The whole object is more than what is cached.
                        let metadata = object.meta().clone().into_response_partial();
                        Self::Metadata(Arc::new(metadata))
                    } else {
                        Self::Whole(object)
                    }
                }),
            }
        });
        match whole {
            // Another cache of the kind may hold it.
            None | Some(Self::Unselected) => {}
            Some(known) => return known,
        }
        let metadata = caches.find::<PartialObjectMeta<C>>();
        let metadata = metadata.map(|cache| Self::found(&cache, core, key, Self::Metadata));
        metadata.or(whole).unwrap_or(Self::Unwatched)
    }

    /// What a cache of whole objects or of metadata knows.
    fn found<K, M: Cached>(
        cache: &Cache<M>,
        core: &Core<K>,
        key: &Key,
        known: impl FnOnce(Arc<M>) -> Self,
    ) -> Self {
        let shape = cache.shape();
        match cache.get(key) {
            _ if !shape.watches(key.namespace(), &core.namespaces) => Self::Unwatched,
            Some(object) => known(object),
            // It may have been installed since the cache noticed that it was not.
            None if cache.is_absent() => Self::Unwatched,
            // Only the API server knows whether the fields of a child are selected, so its changes may not be seen.
            None if shape.has_fields() => Self::Unwatched,
            None if shape.has_labels() => Self::Unselected,
            None => Self::Missing,
        }
    }

    pub(crate) fn meta(&self) -> Option<&ObjectMeta> {
        match self {
            Self::Unwatched | Self::Unselected | Self::Missing => None,
            Self::Metadata(object) => Some(&object.metadata),
            Self::Whole(object) => Some(object.meta()),
        }
    }

    pub(crate) fn version(&self) -> Option<&str> {
        self.meta()?.resource_version.as_deref()
    }

    /// Whether its changes are seen.
    pub(crate) fn is_watched(&self) -> bool {
        !matches!(self, Self::Unwatched)
    }

    /// Whether it is in a cache, or does not exist.
    pub(crate) fn is_certain(&self) -> bool {
        !matches!(self, Self::Unwatched | Self::Unselected)
    }
}

/// Fails if the controller caches this kind, and the labels of `child` keep it out of the cache: it could not be read
/// there, and none of its changes would trigger a reconcile.
pub(crate) fn ensure_selected<K: Object, C: Object>(
    core: &Core<K>,
    child: &C,
    key: &Key,
) -> anyhow::Result<()> {
    let caches = &core.reader.caches;
    let (whole, metadata) = (caches.find::<C>(), caches.find::<PartialObjectMeta<C>>());
    let whole = whole.and_then(|cache| missed(&cache, child));
    let metadata = metadata.map(|cache| missed(&cache, child));
    let Some((selector, name)) = (match metadata {
        // A controller may read whole objects, and own others of the same kind.
        Some(metadata) => metadata,
        None => whole,
    }) else {
        return Ok(());
    };
    let error = WriteError::NotSelected {
        kind: C::kind(&()).into_owned(),
        key: key.clone(),
        selector,
        code: name,
    };
    Err(error.into())
}

/// The label selector that keeps `child` out of a cache, and the kind as code names it; `None` if it is selected.
fn missed<M: Cached, C: Object>(cache: &Cache<M>, child: &C) -> Option<(String, String)> {
    let shape = cache.shape();
    let labels = child.meta().labels.clone().unwrap_or_default();
    (!shape.selects(&labels)).then(|| (shape.labels(), Shape::<M>::written()))
}
