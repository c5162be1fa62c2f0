//! Applies a child object, and sends nothing when it is right already.

use std::sync::Arc;

use anyhow::Context as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api,
    api::{PartialObjectMeta, Patch},
};
use serde_json::{Value, json};

use crate::{
    cache::{
        object::{Cached, Object, api, namespaced, version},
        stripped::Stripped,
    },
    controller::core::Core,
    key::Key,
};

/// Fields of the metadata that the API server sets, and that may not or need not be applied.
const NOT_OURS: [&str; 6] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// What the caches hold of a child.
pub(crate) enum Known<C> {
    /// No cache would hold it: its kind or its namespace is not watched.
    Unwatched,
    /// A cache would hold it, and does not.
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
            return cache.get(key).map_or(Self::Missing, Self::Whole);
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

/// Applies `child` as a child of `owner`, unless it is known to be right; see `Context::apply`.
pub(crate) async fn apply<K: Object, C: Object>(
    core: &Core<K>,
    owner: &K,
    child: &C,
) -> anyhow::Result<Arc<C>> {
    let (key, body) = prepare(owner, child)?;
    let known = Known::<C>::of(core, &key);
    // The fields of a JSON object are sorted, so equal objects are equal bytes.
    let text = body.to_string();
    let api = api::<C>(core.client.clone(), &key);
    if let Some(meta) = known.meta() {
        refuse_foreign::<C>(owner.meta(), meta, &key)?;
    } else if !known.is_watched()
        && let Some(there) = there::<C>(&api, &key).await?
    {
        refuse_foreign::<C>(owner.meta(), &there.metadata, &key)?;
    }
    if let Some(version) = known.version()
        && core.applied.has::<C>(&key, &text, version)
    {
        match known {
            Known::Whole(object) => return Ok(object),
            _ => match api.get_opt(key.name()).await? {
                Some(Stripped(object)) => return Ok(Arc::new(object)),
                // Deleted this instant: it is applied anew.
                None => core.applied.forget::<C>(&key),
            },
        }
    }

    let params = core.patch_params().force();
    let answer = api.patch(key.name(), &params, &Patch::Apply(&body)).await;
    let Stripped(object) =
        answer.with_context(|| format!("cannot apply {} `{key}`", C::kind(&())))?;
    if known.is_watched() {
        core.applied.set::<C>(&key, &text, version(&object));
    }
    Ok(Arc::new(object))
}

/// Asks the API server for the metadata of an object, as no cache knows it.
pub(crate) async fn there<C: Object>(
    api: &Api<Stripped<C>>,
    key: &Key,
) -> anyhow::Result<Option<PartialObjectMeta<Stripped<C>>>> {
    let there = api.get_metadata_opt(key.name()).await;
    there.with_context(|| format!("cannot look whether {} `{key}` is there", C::kind(&())))
}

/// The body of the request, and whom it is about.
fn prepare<K: Object, C: Object>(owner: &K, child: &C) -> anyhow::Result<(Key, Value)> {
    let kind = C::kind(&());
    let mut meta = child.meta().clone();
    let name = meta.name.clone().filter(|name| !name.is_empty());
    let name = name.with_context(|| format!("a {kind} without a name cannot be applied"))?;
    if namespaced::<C>() && meta.namespace.is_none() {
        meta.namespace.clone_from(&owner.meta().namespace);
        anyhow::ensure!(
            meta.namespace.is_some(),
            "{kind} `{name}` needs a namespace: its owner has none to give\n\
             help: set `metadata.namespace`",
        );
    }
    let key = Key::new(meta.namespace.as_deref(), &name);
    own(
        owner,
        &mut meta,
        namespaced::<K>(),
        &format!("{kind} `{key}`"),
    )?;

    let mut body = serde_json::to_value(child)?;
    body["apiVersion"] = json!(C::api_version(&()));
    body["kind"] = json!(kind);
    body["metadata"] = serde_json::to_value(meta)?;
    if let Some(meta) = body["metadata"].as_object_mut() {
        meta.retain(|field, value| !value.is_null() && !NOT_OURS.contains(&field.as_str()));
    }
    if let Some(body) = body.as_object_mut() {
        body.retain(|field, value| !value.is_null() && field != "status");
    }
    Ok((key, body))
}

/// Makes `owner` the controller of the child with this metadata.
fn own<K: Object>(
    owner: &K,
    child: &mut ObjectMeta,
    owner_is_namespaced: bool,
    what: &str,
) -> anyhow::Result<()> {
    anyhow::ensure!(
        !owner_is_namespaced || child.namespace == owner.meta().namespace,
        "{} `{}` cannot own {what}: an owner with a namespace owns only what is in it\n\
         help: write it with `cx.client()`, and delete it in a finalizer",
        K::kind(&()),
        Key::of(owner),
    );
    let Some(reference) = owner.controller_owner_ref(&()) else {
        anyhow::bail!("an owner without name or uid cannot own {what}");
    };
    let owners = child.owner_references.get_or_insert_default();
    if !owners.iter().any(|owner| owner.uid == reference.uid) {
        owners.push(reference);
    }
    Ok(())
}

/// Refuses to take an object that is there and not a child of `owner`.
fn refuse_foreign<C: Object>(
    owner: &ObjectMeta,
    there: &ObjectMeta,
    key: &Key,
) -> anyhow::Result<()> {
    let Some(whose) = whose(owner, there) else {
        return Ok(());
    };
    let kind = C::kind(&());
    anyhow::bail!(
        "{kind} `{key}` is there and is {whose}; it was not changed\n\
         help: delete it, or give the child another name"
    )
}

/// Says whose child an object is that is not one of `owner`; `None` if it is.
pub(crate) fn whose(owner: &ObjectMeta, there: &ObjectMeta) -> Option<String> {
    let owners = there.owner_references.as_deref().unwrap_or_default();
    if owners
        .iter()
        .any(|reference| Some(&reference.uid) == owner.uid.as_ref())
    {
        return None;
    }
    let whose = owners.iter().find(|owner| owner.controller == Some(true));
    Some(whose.map_or("nobody's child".to_owned(), |owner| {
        format!("a child of {} `{}`", owner.kind, owner.name)
    }))
}
