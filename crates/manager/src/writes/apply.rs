//! Applies an object, in general a child; sends nothing if it is up to date.

use std::{fmt::Debug, sync::Arc};

use anyhow::Context as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Resource,
    api::{DynamicObject, PartialObjectMeta, Patch},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    cache::{
        object::{Cached, Object, api, version},
        store::Cache,
        stripped::Stripped,
    },
    controller::core::Core,
    key::Key,
    writes::{
        child::{ensure_child, prepare, prepare_unowned},
        kind::KindData,
        selected::ensure_selected,
    },
};

/// The end of an error about an object that is not a child of the one being reconciled.
const NOT_CHANGED: &str = "it was not changed\nhelp: delete it, or give the child another name";

/// What the caches know about a child.
pub(crate) enum Known<C> {
    /// Nothing: its kind, its namespace or perhaps its fields are not watched, its kind is not installed, or it cannot
    /// be read.
    Unwatched,
    /// It is watched, and not in the cache, which holds only objects with some labels: it may exist without them.
    Unselected,
    /// It is watched, and not in the cache.
    Missing,
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
                None => Self::found(&cache, core, key, Self::Whole),
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

    fn version(&self) -> Option<&str> {
        self.meta()?.resource_version.as_deref()
    }

    /// Whether its changes are seen.
    fn is_watched(&self) -> bool {
        !matches!(self, Self::Unwatched)
    }

    /// Whether it is in a cache, or does not exist.
    pub(crate) fn is_certain(&self) -> bool {
        !matches!(self, Self::Unwatched | Self::Unselected)
    }
}

/// Applies `child` as a child of `owner`, unless it is known to be up to date; see `Context::apply`.
pub(crate) async fn apply<K: Object, C: Object>(
    core: &Core<K>,
    owner: &K,
    child: &C,
) -> anyhow::Result<Arc<C>> {
    let kind = KindData::of::<C>();
    ensure_named(&kind, child.meta())?;
    let (key, body) = prepare(owner, &kind, child)?;
    ensure_selected(core, child, &key)?;
    let known = Known::<C>::of(core, &key);
    if let Some(meta) = known.meta() {
        ensure_child(owner, kind.name(), meta, &key, NOT_CHANGED)?;
    } else if !known.is_certain()
        && let Some(meta) = there(&api::<C>(core.client.clone(), &key), kind.name(), &key).await?
    {
        ensure_child(owner, kind.name(), &meta, &key, NOT_CHANGED)?;
    }
    send(core, &Key::of(owner), &key, &body, known).await
}

/// Applies `object` for `near`, which does not become its owner; see `Context::apply_unowned`.
pub(crate) async fn apply_unowned<K: Object, C: Object>(
    core: &Core<K>,
    near: &K,
    object: &C,
) -> anyhow::Result<Arc<C>> {
    let kind = KindData::of::<C>();
    ensure_named(&kind, object.meta())?;
    let (key, body) = prepare_unowned(near, &kind, object)?;
    let known = Known::<C>::of(core, &key);
    send(core, &Key::of(near), &key, &body, known).await
}

/// Applies `child` as a child of `owner`; see `Context::apply_object`.
pub(crate) async fn apply_object<K: Object>(
    core: &Core<K>,
    owner: &K,
    kind: &KindData,
    child: &DynamicObject,
) -> anyhow::Result<DynamicObject> {
    ensure_named(kind, &child.metadata)?;
    let (key, body) = prepare(owner, kind, child)?;
    let api = kind.api(core.client.clone(), &key);
    if let Some(meta) = there(&api, kind.name(), &key).await? {
        ensure_child(owner, kind.name(), &meta, &key, NOT_CHANGED)?;
    }
    patch(core, &api, kind.name(), &key, &body).await
}

/// Applies `object` for `near`, which does not become its owner; see `Context::apply_object_unowned`.
pub(crate) async fn apply_object_unowned<K: Object>(
    core: &Core<K>,
    near: &K,
    kind: &KindData,
    object: &DynamicObject,
) -> anyhow::Result<DynamicObject> {
    ensure_named(kind, &object.metadata)?;
    let (key, body) = prepare_unowned(near, kind, object)?;
    let api = kind.api(core.client.clone(), &key);
    patch(core, &api, kind.name(), &key, &body).await
}

fn ensure_named(kind: &KindData, meta: &ObjectMeta) -> anyhow::Result<()> {
    let name = meta.name.as_deref().unwrap_or_default();
    anyhow::ensure!(
        !name.is_empty(),
        "a {} without a name cannot be applied\n\
         help: derive `metadata.name` from what it is for; `cx.create` generates a name",
        kind.name(),
    );
    Ok(())
}

/// Sends `body`, which `reconciled` applies to `key`, unless the same was applied before and nothing has changed since.
async fn send<K: Object, C: Object>(
    core: &Core<K>,
    reconciled: &Key,
    key: &Key,
    body: &Value,
    known: Known<C>,
) -> anyhow::Result<Arc<C>> {
    let api = api::<C>(core.client.clone(), key);
    // The fields of a JSON object are sorted, so equal objects are equal bytes.
    let text = body.to_string();
    if let Some(version) = known.version()
        && core.applied.has::<C>(key, &text, version)
    {
        if let Known::Whole(object) = &known {
            return Ok(object.clone());
        }
        if let Some(object) = core.applied.take(reconciled, key, version) {
            return Ok(object);
        }
        match api.get_opt(key.name()).await? {
            Some(Stripped(object)) => return Ok(Arc::new(object)),
            // It was deleted this instant: apply it again.
            None => core.applied.forget::<C>(key),
        }
    }

    let object = Arc::new(patch(core, &api, &C::kind(&()), key, body).await?);
    core.wrote(key, &object);
    if known.is_watched() {
        core.applied.set::<C>(key, &text, version(&*object));
        let triggers = known.version() != Some(version(&*object));
        if triggers && core.reader.caches.find::<C>().is_none() {
            core.applied.keep(reconciled, key, object.clone());
        }
    }
    Ok(object)
}

/// Sends a server-side apply, as the field manager of the controller and by force.
async fn patch<K, C: Clone + Debug + DeserializeOwned>(
    core: &Core<K>,
    api: &Api<Stripped<C>>,
    kind: &str,
    key: &Key,
    body: &Value,
) -> anyhow::Result<C> {
    let params = core.patch_params().force();
    let answer = api.patch(key.name(), &params, &Patch::Apply(body)).await;
    let Stripped(object) = answer.with_context(|| format!("cannot apply {kind} `{key}`"))?;
    Ok(object)
}

/// Asks the API server for the metadata of an object of this kind that no cache knows.
pub(crate) async fn there<C: Resource + Clone + Debug + DeserializeOwned>(
    api: &Api<Stripped<C>>,
    kind: &str,
    key: &Key,
) -> anyhow::Result<Option<ObjectMeta>> {
    let there = api.get_metadata_opt(key.name()).await;
    let there = there.with_context(|| format!("cannot look whether {kind} `{key}` is there"))?;
    Ok(there.map(|there| there.metadata))
}
