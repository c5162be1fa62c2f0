//! Adds and removes the finalizer of a controller.

use std::sync::Arc;

use anyhow::Context as _;
use kube::api::Patch;
use serde_json::{Value, json};

use crate::{
    cache::{
        object::{Object, api, version},
        stripped::Stripped,
    },
    controller::core::Core,
    key::Key,
    writes::{
        gone::{changed_since, found, is_doubtful, meta, stored},
        kind::KindData,
        replace::replace,
    },
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
    let kind = KindData::of::<K>();
    let write = core.writes.begin(key);
    let mut tries = 1;
    loop {
        if object.meta().deletion_timestamp.is_some() {
            return Ok(None);
        }
        if has(&*object, name) {
            return Ok(Some(object));
        }
        let mut finalizers = object.meta().finalizers.clone().unwrap_or_default();
        finalizers.push(name.to_owned());
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
        if tries == TRIES {
            return Err(error).context(CANNOT);
        }
        // Another object of the same name has its own finalizers.
        let at = (object.meta().uid.as_deref(), version(&*object));
        let fresh = changed_since(&core.client, &kind, key, at, error).await;
        let Some(fresh) = fresh.context(CANNOT)? else {
            return Ok(None);
        };
        let Stripped(fresh) = serde_json::from_value(fresh).context(CANNOT)?;
        object = Arc::new(fresh);
        tries += 1;
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
    let (mut failed, mut tries): (Option<(String, kube::Error)>, _) = (None, 0);
    loop {
        let live = found(stored(&core.client, &kind, key).await, key.name()).context(CANNOT)?;
        // Another object of the same name has its own finalizers.
        let ours = live.filter(|live| Some(meta(live, "uid")) == object.meta().uid.as_deref());
        let Some(live) = ours.and_then(|live| without(live, name)) else {
            return Ok(());
        };
        let before = meta(&live, "resourceVersion").to_owned();
        // The object has not changed since, so that was no conflict.
        if let Some((_, error)) = failed.take_if(|(at, _)| *at == before || tries == TRIES) {
            return Err(error).context(CANNOT);
        }
        tries += 1;
        match replace::<K, K>(core, key, &live).await {
            Ok(changed) => {
                write.finish(&before, version(&changed));
                core.wrote(key, &Arc::new(changed));
                return Ok(());
            }
            Err(error) if is_doubtful(&error) => failed = Some((before, error)),
            Err(error) => return Err(error).context(CANNOT),
        }
    }
}

/// A stored object without the finalizer `name`; `None` if it does not have it.
fn without(mut object: Value, name: &str) -> Option<Value> {
    let finalizers = object["metadata"]["finalizers"].as_array_mut()?;
    let count = finalizers.len();
    finalizers.retain(|finalizer| finalizer != name);
    (finalizers.len() < count).then_some(object)
}
