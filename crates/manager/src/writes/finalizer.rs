//! Adds and removes the finalizers of a controller.

use std::sync::Arc;

use anyhow::Context as _;
use kube::api::Patch;
use serde_json::{Value, json};

use crate::{
    cache::{
        object::{Object, api, version},
        stripped::Stripped,
    },
    key::Key,
    writes::{
        core::Core,
        create::replace,
        gone::{changed_since, meta, read_again},
        kind::KindData,
        tries::Tries,
    },
};

const CANNOT: &str = "cannot change the finalizers";

/// Whether `object` has the finalizer `name`.
pub(crate) fn has<K: Object>(object: &K, name: &str) -> bool {
    let finalizers = object.meta().finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|finalizer| finalizer == name)
}

/// Adds the finalizers; returns the object with them, or `None` if the object is being deleted, gone or replaced.
///
/// The request carries the resource version of the object, because the list of finalizers is sent as a whole and contains those of
/// others.
pub(crate) async fn add<K: Object>(
    core: &Core<K>,
    key: &Key,
    mut object: Arc<K>,
    names: &[&str],
) -> anyhow::Result<Option<Arc<K>>> {
    let api = api::<K>(core.client.clone(), key);
    let kind = KindData::of::<K>();
    let write = core.writes.begin(key);
    let mut tries = Tries::new();
    loop {
        if object.meta().deletion_timestamp.is_some() {
            return Ok(None);
        }
        let missing = names.iter().filter(|name| !has(&*object, name));
        let missing: Vec<_> = missing.map(|name| (*name).to_owned()).collect();
        if missing.is_empty() {
            return Ok(Some(object));
        }
        let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
        finalizers.extend(missing);
        let change = json!({"resourceVersion": version(&*object), "finalizers": finalizers});
        let patch = Patch::Merge(json!({"metadata": change}));
        let error = match api.patch(key.name(), &core.patch_params(), &patch).await {
            Ok(Stripped(changed)) => {
                write.finish(version(&*object), version(&changed));
                let changed = Arc::new(changed);
                core.wrote(key, &changed);
                // The deletion may have begun at the same time.
                return Ok(Some(changed).filter(|it| it.meta().deletion_timestamp.is_none()));
            }
            Err(error) => error,
        };
        // Another object of the same name has its own finalizers.
        let at = (object.meta().uid.as_deref(), version(&*object));
        let fresh = changed_since(&core.client, &kind, key, at, error, &mut tries).await;
        let Some(fresh) = fresh.context(CANNOT)? else {
            return Ok(None);
        };
        let Stripped(fresh) = serde_json::from_value(fresh).context(CANNOT)?;
        object = Arc::new(fresh);
    }
}

/// Removes the finalizer by replacing the object, so that no other object of that name is deleted.
pub(crate) async fn remove<K: Object>(
    core: &Core<K>,
    key: &Key,
    object: Arc<K>,
    name: &str,
) -> anyhow::Result<()> {
    let kind = KindData::of::<K>();
    let write = core.writes.begin(key);
    // Another object of the same name has its own finalizers.
    let uid = object.meta().uid.as_deref();
    let live = read_again(&core.client, &kind, key, uid).await;
    let (mut live, mut tries) = (live.context(CANNOT)?, Tries::new());
    while let Some(released) = live.and_then(|live| without(live, name)) {
        let before = meta(&released, "resourceVersion").to_owned();
        let error = match replace::<K, K>(core, key, &released).await {
            Ok(changed) => {
                write.finish(&before, version(&changed));
                core.wrote(key, &Arc::new(changed));
                return Ok(());
            }
            Err(error) => error,
        };
        let at = (uid, &*before);
        let fresh = changed_since(&core.client, &kind, key, at, error, &mut tries).await;
        live = fresh.context(CANNOT)?;
    }
    Ok(())
}

/// A stored object without the finalizer `name`; `None` if it does not have it.
fn without(mut object: Value, name: &str) -> Option<Value> {
    let finalizers = object["metadata"]["finalizers"].as_array_mut()?;
    let count = finalizers.len();
    finalizers.retain(|finalizer| finalizer != name);
    (finalizers.len() < count).then_some(object)
}
