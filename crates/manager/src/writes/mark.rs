//! Sets an annotation of the object that is reconciled, without triggering another reconcile of it.

use std::sync::Arc;

use anyhow::Context as _;
use kube::api::Patch;
use serde_json::json;

use crate::{
    cache::{
        object::{Object, api, version},
        stripped::Stripped,
    },
    key::Key,
    writes::{core::Core, gone::changed_since, kind::KindData, tries::Tries},
};

/// Sets the annotation, unless the object is gone or was replaced by another of its name.
///
/// The request carries the resource version of the object, so that the change is known to be our own.
pub(crate) async fn annotate<K: Object>(
    core: &Core<K>,
    key: &Key,
    mut object: Arc<K>,
    name: &str,
    value: &str,
) -> anyhow::Result<()> {
    let cannot = || {
        format!(
            "cannot set the annotation `{name}`, which needs the verb `patch` on {}",
            K::kind(&())
        )
    };
    let (api, kind) = (api::<K>(core.client.clone(), key), KindData::of::<K>());
    let write = core.writes.begin(key);
    let mut tries = Tries::new();
    loop {
        let change = json!({"resourceVersion": version(&*object), "annotations": {name: value}});
        let patch = Patch::Merge(json!({"metadata": change}));
        let error = match api.patch(key.name(), &core.patch_params(), &patch).await {
            Ok(Stripped(changed)) => {
                write.finish(version(&*object), version(&changed));
                core.wrote(key, &Arc::new(changed));
                return Ok(());
            }
            Err(error) => error,
        };
        let at = (object.meta().uid.as_deref(), version(&*object));
        let fresh = changed_since(&core.client, &kind, key, at, error, &mut tries).await;
        let Some(fresh) = fresh.with_context(cannot)? else {
            return Ok(());
        };
        let Stripped(fresh) = serde_json::from_value(fresh).with_context(cannot)?;
        object = Arc::new(fresh);
    }
}
