//! Changes an object that other writers change, too.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use kube::api::Patch;
use serde_json::json;
use tokio::time::sleep;

use crate::{
    cache::{
        object::{Object, api, version},
        stripped::Stripped,
    },
    controller::core::Core,
    key::Key,
    leader::election::jitter,
    writes::{
        difference::difference,
        error::WriteError,
        gone::{found, read_again, stored},
        kind::KindData,
        replace::replace,
    },
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
    let gone = || WriteError::Gone {
        kind: kind.clone().into_owned(),
        key: key.clone(),
    };
    let api = api::<C>(core.client.clone(), &key);
    let mut known = object.clone();
    for step in 1..=STEPS {
        let mut wanted = known.clone();
        change(&mut wanted);
        let (old, new) = (
            serde_json::to_value(&known)?,
            serde_json::to_value(&wanted)?,
        );
        let Some(edit) = difference(&old, &new, &[]) else {
            return Ok(Arc::new(known));
        };
        let resource_version = json!(version(&known));
        let written = if is_released(&known, &wanted) {
            match stored(&core.client, &KindData::of::<C>(), &key).await {
                Ok(mut live) => {
                    edit.apply(&mut live);
                    live["metadata"]["resourceVersion"] = resource_version;
                    replace(core, &key, &live).await
                }
                Err(error) => Err(error),
            }
        } else {
            let mut patch = edit.patch(&old);
            patch["metadata"]["resourceVersion"] = resource_version;
            let patch = Patch::Merge(patch);
            let patched = api.patch(key.name(), &core.patch_params(), &patch).await;
            patched.map(|Stripped(changed)| changed)
        };
        match written {
            Ok(changed) => {
                let changed = Arc::new(changed);
                core.wrote(&key, &changed);
                return Ok(changed);
            }
            Err(kube::Error::Api(error)) if error.code == 409 && step < STEPS => {}
            Err(error) => {
                let uid = object.meta().uid.as_deref();
                if is_missing(&error)
                    && read_again(&core.client, &KindData::of::<C>(), &key, uid)
                        .await?
                        .is_none()
                {
                    return Err(gone().into());
                }
                return Err(error).with_context(|| format!("cannot update {kind} `{key}`"));
            }
        }
        sleep(jitter(PAUSE)).await;
        let fresh = found(api.get(key.name()).await, key.name());
        let fresh = fresh.with_context(|| format!("cannot read {kind} `{key}` again"))?;
        let is_same =
            |known: &C| object.meta().uid.is_none() || known.meta().uid == object.meta().uid;
        let fresh = fresh.map(|Stripped(known)| known).filter(is_same);
        known = fresh.ok_or_else(gone)?;
    }
    // The last step returns.
    anyhow::bail!("cannot update {kind} `{key}`")
}

/// Whether a write may have failed because there is no such object.
fn is_missing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Whether the change lets the API server delete the object: it is being deleted, and loses its last finalizer.
fn is_released<C: Object>(known: &C, wanted: &C) -> bool {
    let has_finalizers = |object: &C| {
        object
            .meta()
            .finalizers
            .as_ref()
            .is_some_and(|all| !all.is_empty())
    };
    known.meta().deletion_timestamp.is_some() && has_finalizers(known) && !has_finalizers(wanted)
}
