//! Changes an object that other writers change, too.

use std::{any::Any, sync::Arc, time::Duration};

use anyhow::Context as _;
use kube::api::Patch;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    cache::{
        object::{Object, api, version},
        stripped::Stripped,
    },
    controller::core::Core,
    key::Key,
    leader::election::jitter,
    writes::difference::difference,
};

/// How often a change is attempted, and the delay in between: `DefaultRetry` of client-go's `util/retry`.
const STEPS: usize = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Makes `change` to `object`; see `Context::update`.
pub(crate) async fn update<K: Object, C: Object>(
    core: &Core<K>,
    object: &C,
    change: impl Fn(&mut C),
) -> anyhow::Result<Arc<C>> {
    let (key, kind) = (Key::of(object), C::kind(&()));
    let api = api::<C>(core.client.clone(), &key);
    let mut known = object.clone();
    for step in 1..=STEPS {
        let Some(patch) = patch(&known, &change)? else {
            return Ok(Arc::new(known));
        };
        match api
            .patch(key.name(), &core.patch_params(), &Patch::Merge(patch))
            .await
        {
            Ok(Stripped(changed)) => {
                let changed = Arc::new(changed);
                remember(core, &key, changed.clone());
                return Ok(changed);
            }
            Err(kube::Error::Api(error)) if error.code == 409 && step < STEPS => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot update {kind} `{key}`"));
            }
        }
        sleep(jitter(PAUSE)).await;
        let fresh = api.get(key.name()).await;
        Stripped(known) = fresh.with_context(|| format!("cannot read {kind} `{key}` again"))?;
        anyhow::ensure!(
            object.meta().uid.is_none() || known.meta().uid == object.meta().uid,
            "{kind} `{key}` was deleted and made anew meanwhile; it was not changed"
        );
    }
    // The last step returns.
    anyhow::bail!("cannot update {kind} `{key}`")
}

/// The JSON merge patch that makes the change to exactly this version of the object; `None` if nothing changes.
fn patch<C: Object>(known: &C, change: impl Fn(&mut C)) -> anyhow::Result<Option<Value>> {
    let mut wanted = known.clone();
    change(&mut wanted);
    let (old, new) = (serde_json::to_value(known)?, serde_json::to_value(wanted)?);
    Ok(difference(&old, &new).map(|changes| {
        let mut patch = changes.patch(&old);
        patch["metadata"]["resourceVersion"] = json!(version(known));
        patch
    }))
}

/// If the object is of the controller's own kind, the next reconcile gets it even if the watch is slow.
fn remember<K: Object, C: Object>(core: &Core<K>, key: &Key, changed: Arc<C>) {
    let changed: Arc<dyn Any + Send + Sync> = changed;
    if let Ok(own) = changed.downcast::<K>() {
        core.wrote(key, own);
    }
}
