//! Checks that a controller will see the changes of a child that it writes.

use kube::api::PartialObjectMeta;

use crate::{
    cache::{
        object::{Cached, Object},
        shape::Shape,
        store::Cache,
    },
    controller::core::Core,
    key::Key,
    writes::error::WriteError,
};

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
