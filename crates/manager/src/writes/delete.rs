//! Deletes an object, but never another one of the same name.

use std::sync::Arc;

use anyhow::Context as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Preconditions};

use crate::{
    cache::{
        object::{Object, api, namespaced},
        stripped::Stripped,
    },
    controller::core::Core,
    key::Key,
    writes::{
        apply::{Known, there},
        child::ensure_child,
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
    let key = Key::of(object);
    let here = owner.meta().namespace.as_deref();
    let key = Key::new(
        key.namespace().or(here).filter(|_| namespaced::<C>()),
        key.name(),
    );
    let found;
    let meta = if object.meta().uid.is_some() {
        object.meta()
    } else {
        let Some(meta) = child(core, owner, object, &key).await? else {
            return Ok(());
        };
        found = meta;
        &found
    };
    if meta.deletion_timestamp.is_some() {
        return Ok(());
    }

    let params = DeleteParams::background().preconditions(Preconditions {
        uid: meta.uid.clone(),
        resource_version: None,
    });
    match api::<C>(core.client.clone(), &key)
        .delete(key.name(), &params)
        .await
    {
        Ok(answer) => {
            deleted(core, &key, meta, answer.left());
            Ok(())
        }
        // It is gone. On a conflict, another object has that name, or a Namespace is already being emptied.
        Err(kube::Error::Api(error)) if [404, 409].contains(&error.code) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot delete {} `{key}`", C::kind(&()))),
    }
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
            core.reader.caches.deleted::<C>(key, uid);
        }
    }
}

/// The metadata of the child of `owner` with this key, if it exists; an object of that name that is not its child is an
/// error.
async fn child<K: Object, C: Object>(
    core: &Core<K>,
    owner: &K,
    object: &C,
    key: &Key,
) -> anyhow::Result<Option<ObjectMeta>> {
    let kind = C::kind(&());
    let name = object.meta().name.as_deref().unwrap_or_default();
    anyhow::ensure!(
        !name.is_empty(),
        "a {kind} without a name cannot be deleted"
    );
    let known = Known::<C>::of(core, key);
    // A child that was just applied may not be in the cache yet.
    let certain = known.is_certain() && !core.applied.knows::<C>(key);
    let meta = match known.meta() {
        Some(meta) => Some(meta.clone()),
        None if certain => None,
        None => there::<C>(&api(core.client.clone(), key), key)
            .await?
            .map(|there| there.metadata),
    };
    if let Some(meta) = &meta {
        ensure_child::<K, C>(owner, meta, key, NOT_DELETED)?;
    }
    Ok(meta)
}
