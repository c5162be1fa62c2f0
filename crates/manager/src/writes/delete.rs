//! Deletes an object, but never another one of the same name.

use std::sync::Arc;

use anyhow::Context as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Client,
    api::{DeleteParams, DynamicObject, Preconditions},
};

use crate::{
    cache::{
        object::{Object, api},
        stripped::Stripped,
    },
    key::Key,
    writes::core::Core,
    writes::{
        child::ensure_child,
        gone::{is_doubtful, read_again},
        kind::KindData,
        known::Known,
        target::there,
    },
};

/// The end of an error about an object that is not a child of the one being reconciled.
const NOT_DELETED: &str =
    "it was not deleted\nhelp: to delete it nevertheless, pass the object as it was read";

/// Deletes `object` on behalf of `owner`; see `Context::delete`.
pub(crate) async fn delete<K: Object, C: Object>(
    core: &Core<K>,
    owner: &K,
    object: &C,
) -> anyhow::Result<()> {
    let kind = KindData::of::<C>();
    let key = key_of(owner, &kind, object.meta())?;
    let meta = if object.meta().uid.is_some() {
        Some(object.meta().clone())
    } else {
        child::<K, C>(core, owner, &key).await?
    };
    let Some(meta) = meta.filter(is_kept) else {
        return Ok(());
    };
    core.guard.progress(&Key::of(owner));
    let api = api::<C>(core.client.clone(), &key);
    let answer = api.delete(key.name(), &only(&meta)).await;
    if let Some(answer) = unless_gone(&core.client, answer, &kind, &key, &meta).await? {
        deleted(core, &key, &meta, answer.left());
    }
    Ok(())
}

/// Deletes `object` on behalf of `owner`; see `Context::delete_object`.
pub(crate) async fn delete_object<K: Object>(
    core: &Core<K>,
    owner: &K,
    kind: &KindData,
    object: &DynamicObject,
) -> anyhow::Result<()> {
    let key = key_of(owner, kind, &object.metadata)?;
    let api = kind.api(core.client.clone(), &key);
    let meta = if object.metadata.uid.is_some() {
        Some(object.metadata.clone())
    } else {
        let meta = there(&api, kind.name(), &key).await?;
        ensure_own(owner, kind.name(), meta.as_ref(), &key)?;
        meta
    };
    if let Some(meta) = meta.filter(is_kept) {
        core.guard.progress(&Key::of(owner));
        let answer = api.delete(key.name(), &only(&meta)).await;
        unless_gone(&core.client, answer, kind, &key, &meta).await?;
    }
    Ok(())
}

/// The key of the object with this metadata, by default in the namespace of `near`.
fn key_of<K: Object>(near: &K, kind: &KindData, meta: &ObjectMeta) -> anyhow::Result<Key> {
    let name = meta.name.as_deref().unwrap_or_default();
    anyhow::ensure!(
        !name.is_empty(),
        "a {} without a name cannot be deleted",
        kind.name()
    );
    let given = meta.namespace.as_deref().filter(|given| !given.is_empty());
    let namespace = given.or(near.meta().namespace.as_deref());
    Ok(Key::new(namespace.filter(|_| kind.namespaced), name))
}

fn is_kept(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_none()
}

/// Deletes only the object with the uid of this metadata, and its dependents in the background.
fn only(meta: &ObjectMeta) -> DeleteParams {
    DeleteParams::background().preconditions(Preconditions {
        uid: meta.uid.clone(),
        resource_version: None,
    })
}

/// The answer to the deletion of the object with this metadata; `None` if it is gone already, or being deleted: a
/// Namespace that is being emptied answers with a conflict.
async fn unless_gone<T>(
    client: &Client,
    answer: kube::Result<T>,
    kind: &KindData,
    key: &Key,
    meta: &ObjectMeta,
) -> anyhow::Result<Option<T>> {
    let error = match answer {
        Ok(answer) => return Ok(Some(answer)),
        Err(error) => error,
    };
    let cannot = || format!("cannot delete {} `{key}`", kind.name());
    if is_doubtful(&error) {
        let there = read_again(client, kind, key, meta.uid.as_deref()).await;
        let there = there.with_context(cannot)?;
        if there.is_none_or(|it| it["metadata"]["deletionTimestamp"].is_string()) {
            return Ok(None);
        }
    }
    Err(error).with_context(cannot)
}

/// Hides an object that is gone from readers, and shows them the deletion timestamp of one that is not.
///
/// The API server answers with the last state of the object if it is not gone, and in any case for some kinds, such as
/// Pods and Services (`ReturnDeletedObject` in their registries).
fn deleted<K: Object, C: Object>(
    core: &Core<K>,
    key: &Key,
    meta: &ObjectMeta,
    last: Option<Stripped<C>>,
) {
    match last {
        Some(Stripped(last)) if last.meta().deletion_timestamp.is_some() => {
            core.wrote(key, &Arc::new(last));
        }
        _ => {
            let uid = meta.uid.as_deref().unwrap_or_default();
            core.deleted::<C>(key, uid);
        }
    }
}

/// The metadata of the child of `owner` with this key, if it exists; an object of that name that is not its child is an
/// error.
async fn child<K: Object, C: Object>(
    core: &Core<K>,
    owner: &K,
    key: &Key,
) -> anyhow::Result<Option<ObjectMeta>> {
    let kind = C::kind(&());
    let known = Known::<C>::of(core, key);
    // A child that was just applied may not be in the cache yet.
    let certain = known.is_certain() && !core.applied.knows::<C>(key);
    let meta = match known.meta() {
        Some(meta) => Some(meta.clone()),
        None if certain => None,
        None => there(&api::<C>(core.client.clone(), key), &kind, key).await?,
    };
    ensure_own(owner, &kind, meta.as_ref(), key)?;
    Ok(meta)
}

/// Fails if the object of this kind exists, with this metadata, and is not a child of `owner`.
fn ensure_own<K: Object>(
    owner: &K,
    kind: &str,
    meta: Option<&ObjectMeta>,
    key: &Key,
) -> anyhow::Result<()> {
    meta.map_or(Ok(()), |meta| {
        ensure_child(owner, kind, meta, key, NOT_DELETED)
    })
}
