//! Adds and removes the finalizer of a controller.

use std::sync::Arc;

use anyhow::Context as _;
use kube::api::Patch;
use serde_json::json;

use crate::{
    cache::{
        object::{Object, api, version},
        stripped::Stripped,
    },
    controller::core::Core,
    key::Key,
    writes::replace::{replace, stored},
};

/// How often a write is attempted while others write at the same time.
const TRIES: usize = 3;

const CANNOT: &str = "cannot change the finalizers";

/// Whether `object` has the finalizer `name`.
pub(crate) fn has<K: Object>(object: &K, name: &str) -> bool {
    let finalizers = object.meta().finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|finalizer| finalizer == name)
}

/// Adds the finalizer; returns the object with it, or `None` if the object is being deleted, gone or replaced.
///
/// The request carries the resource version of the object, because the list of finalizers is sent as a whole and contains those of
/// others.
pub(crate) async fn add<K: Object>(
    core: &Core<K>,
    key: &Key,
    mut object: Arc<K>,
    name: &str,
) -> anyhow::Result<Option<Arc<K>>> {
    let api = api::<K>(core.client.clone(), key);
    let write = core.writes.begin(key);
    for _ in 0..TRIES {
        if object.meta().deletion_timestamp.is_some() {
            return Ok(None);
        }
        if has(&*object, name) {
            return Ok(Some(object));
        }
        let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
        finalizers.push(name.to_owned());
        let meta = json!({"resourceVersion": version(&*object), "finalizers": finalizers});
        let patch = Patch::Merge(json!({"metadata": meta}));
        match api.patch(key.name(), &core.patch_params(), &patch).await {
            Ok(Stripped(changed)) => {
                write.finish(version(&*object), version(&changed));
                let changed = Arc::new(changed);
                core.wrote(key, &changed);
                // The deletion may have begun at the same time.
                return Ok(Some(changed).filter(|it| it.meta().deletion_timestamp.is_none()));
            }
            Err(kube::Error::Api(error)) if error.code == 409 => {}
            Err(kube::Error::Api(error)) if error.code == 404 => return Ok(None),
            Err(error) => return Err(anyhow::Error::new(error).context(CANNOT)),
        }
        match api.get_opt(key.name()).await? {
            // Another object of the same name has its own finalizers.
            Some(Stripped(fresh)) if fresh.meta().uid == object.meta().uid => {
                object = Arc::new(fresh);
            }
            _ => return Ok(None),
        }
    }
    anyhow::bail!("{CANNOT}: others changed the object {TRIES} times meanwhile")
}

/// Removes the finalizer by replacing the object, so that no other object of that name is deleted.
pub(crate) async fn remove<K: Object>(
    core: &Core<K>,
    key: &Key,
    object: Arc<K>,
    name: &str,
) -> anyhow::Result<()> {
    let write = core.writes.begin(key);
    for _ in 0..TRIES {
        let mut live = match stored::<K, K>(core, key).await {
            Err(kube::Error::Api(error)) if error.code == 404 => return Ok(()),
            live => live.context(CANNOT)?,
        };
        let old = live["metadata"].clone();
        let Some(finalizers) = live["metadata"]["finalizers"].as_array_mut() else {
            return Ok(());
        };
        let count = finalizers.len();
        finalizers.retain(|finalizer| finalizer != name);
        // Another object of the same name has its own finalizers.
        if old["uid"].as_str() != object.meta().uid.as_deref() || finalizers.len() == count {
            return Ok(());
        }
        match replace::<K, K>(core, key, &live).await {
            Ok(changed) => {
                let before = old["resourceVersion"].as_str().unwrap_or_default();
                write.finish(before, version(&changed));
                core.wrote(key, &Arc::new(changed));
                return Ok(());
            }
            Err(kube::Error::Api(error)) if error.code == 409 => {}
            Err(kube::Error::Api(error)) if error.code == 404 => return Ok(()),
            Err(error) => return Err(anyhow::Error::new(error).context(CANNOT)),
        }
    }
    anyhow::bail!("{CANNOT}: others changed the object {TRIES} times meanwhile")
}
