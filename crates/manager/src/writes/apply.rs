//! Applies a child object; sends nothing if the child is up to date.

use std::sync::Arc;

use anyhow::Context as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api,
    api::{PartialObjectMeta, Patch},
};

use crate::{
    cache::{
        object::{Cached, Object, api, version},
        stripped::Stripped,
    },
    controller::core::Core,
    key::Key,
    writes::child::{ensure_child, prepare},
};

/// The end of an error about an object that is not a child of the one being reconciled.
const NOT_CHANGED: &str = "it was not changed\nhelp: delete it, or give the child another name";

/// What the caches know about a child.
pub(crate) enum Known<C> {
    /// Nothing: its kind or its namespace is not watched.
    Unwatched,
    /// It is watched, and not in the cache.
    Missing,
    Metadata(Arc<PartialObjectMeta<C>>),
    Whole(Arc<C>),
}

impl<C: Cached> Known<C> {
    pub(crate) fn of<K>(core: &Core<K>, key: &Key) -> Self {
        let watched = core.namespaces.is_empty()
            || key
                .namespace()
                .is_none_or(|here| core.namespaces.iter().any(|watched| watched == here));
        if !watched {
            return Self::Unwatched;
        }
        let caches = &core.reader.caches;
        if let Some(cache) = caches.find::<C>() {
            // An unreadable object exists, and may have another owner.
            let missing = || match cache.unreadable(key) {
                Some(_) => Self::Unwatched,
                None => Self::Missing,
            };
            return cache.get(key).map_or_else(missing, Self::Whole);
        }
        match caches.find::<PartialObjectMeta<C>>() {
            Some(cache) => cache.get(key).map_or(Self::Missing, Self::Metadata),
            None => Self::Unwatched,
        }
    }

    pub(crate) fn meta(&self) -> Option<&ObjectMeta> {
        match self {
            Self::Unwatched | Self::Missing => None,
            Self::Metadata(object) => Some(&object.metadata),
            Self::Whole(object) => Some(object.meta()),
        }
    }

    fn version(&self) -> Option<&str> {
        self.meta()?.resource_version.as_deref()
    }

    pub(crate) fn is_watched(&self) -> bool {
        !matches!(self, Self::Unwatched)
    }
}

/// Applies `child` as a child of `owner`, unless it is known to be up to date; see `Context::apply`.
pub(crate) async fn apply<K: Object, C: Object>(
    core: &Core<K>,
    owner: &K,
    child: &C,
) -> anyhow::Result<Arc<C>> {
    let name = child.meta().name.as_deref().unwrap_or_default();
    anyhow::ensure!(
        !name.is_empty(),
        "a {} without a name cannot be applied\n\
         help: derive `metadata.name` from what it is for; `cx.create` generates a name",
        C::kind(&()),
    );
    let (key, body) = prepare(owner, child)?;
    let known = Known::<C>::of(core, &key);
    // The fields of a JSON object are sorted, so equal objects are equal bytes.
    let text = body.to_string();
    let api = api::<C>(core.client.clone(), &key);
    if let Some(meta) = known.meta() {
        ensure_child::<K, C>(owner, meta, &key, NOT_CHANGED)?;
    } else if !known.is_watched()
        && let Some(there) = there::<C>(&api, &key).await?
    {
        ensure_child::<K, C>(owner, &there.metadata, &key, NOT_CHANGED)?;
    }
    if let Some(version) = known.version()
        && core.applied.has::<C>(&key, &text, version)
    {
        if let Known::Whole(object) = &known {
            return Ok(object.clone());
        }
        if let Some(object) = core.applied.take(&Key::of(owner), &key, version) {
            return Ok(object);
        }
        match api.get_opt(key.name()).await? {
            Some(Stripped(object)) => return Ok(Arc::new(object)),
            // It was deleted this instant: apply it again.
            None => core.applied.forget::<C>(&key),
        }
    }

    let params = core.patch_params().force();
    let answer = api.patch(key.name(), &params, &Patch::Apply(&body)).await;
    let Stripped(object) =
        answer.with_context(|| format!("cannot apply {} `{key}`", C::kind(&())))?;
    let object = Arc::new(object);
    if known.is_watched() {
        core.applied.set::<C>(&key, &text, version(&*object));
        let triggers = known.version() != Some(version(&*object));
        if triggers && core.reader.caches.find::<C>().is_none() {
            core.applied.keep(&Key::of(owner), &key, object.clone());
        }
    }
    Ok(object)
}

/// Asks the API server for the metadata of an object that no cache knows.
pub(crate) async fn there<C: Object>(
    api: &Api<Stripped<C>>,
    key: &Key,
) -> anyhow::Result<Option<PartialObjectMeta<Stripped<C>>>> {
    let there = api.get_metadata_opt(key.name()).await;
    there.with_context(|| format!("cannot look whether {} `{key}` is there", C::kind(&())))
}
