//! Writes the status of an object: once per reconcile, and only the difference.

use std::sync::Arc;

use kube::{
    Client,
    api::{GetParams, Patch, PatchParams, Request},
};
use serde_json::{Value, json};

use crate::{
    cache::{
        object::{Object, api, version},
        stripped::Stripped,
    },
    controller::{core::Core, draft::Wanted},
    key::Key,
    writes::difference::{Difference, difference},
};

/// How often a write is attempted while others write at the same time.
const TRIES: usize = 3;

/// Writes the difference between the status of `known` and the one that is wanted, if there is any.
///
/// The request carries the resource version that the difference was computed from. If another writer was faster, the
/// object is read again and the same changes are made to its new status, conditions by type, so neither write is lost.
/// If the object is gone or was replaced by another of its name, nothing is written.
///
/// # Errors
/// If the API server rejects the write, or after three conflicts.
pub(crate) async fn write<K: Object>(
    core: &Core<K>,
    key: &Key,
    known: &K,
    wanted: &Wanted<K>,
) -> anyhow::Result<()> {
    let (old, new) = match &core.conditions {
        Some(accessor) if !wanted.whole => {
            (accessor.status(known)?, accessor.status(&wanted.object)?)
        }
        Some(_) | None => statuses(known, &wanted.object)?,
    };
    let Some(mut changes) = difference(&old, &new) else {
        return Ok(());
    };
    let (mut old, mut at) = (old, version(known).to_owned());
    let api = api::<K>(core.client.clone(), key);
    let write = core.writes.begin(key);
    let mut reads = is_of_kubernetes::<K>() && changes.is_of_elements();
    for _ in 0..TRIES {
        if std::mem::replace(&mut reads, true) {
            let Some(fresh) = read::<K>(&core.client, key).await? else {
                return Ok(());
            };
            // Another object of the same name has its own status.
            if fresh["metadata"]["uid"].as_str() != known.meta().uid.as_deref() {
                return Ok(());
            }
            match again(&changes, &fresh) {
                Some((status, rest)) => (old, changes) = (status, rest),
                None => return Ok(()),
            }
            let fresh = fresh["metadata"]["resourceVersion"].as_str();
            fresh.unwrap_or_default().clone_into(&mut at);
        }
        let patch = json!({"metadata": {"resourceVersion": at}, "status": changes.patch(&old)});
        match api
            .patch_status(key.name(), &core.patch_params(), &Patch::Merge(patch))
            .await
        {
            Ok(Stripped(object)) => {
                write.finish(&at, version(&object));
                core.wrote(key, &Arc::new(object));
                return Ok(());
            }
            Err(kube::Error::Api(error)) if error.code == 409 => {}
            Err(kube::Error::Api(error)) if error.code == 404 => return gone(core, key).await,
            Err(error) => return Err(anyhow::Error::new(error).context("cannot write the status")),
        }
    }
    anyhow::bail!("cannot write the status: others changed the object {TRIES} times meanwhile")
}

/// Whether `K` is a kind of Kubernetes. The API server may be newer than its type, and a patch replaces lists as a
/// whole: the elements of others would lose the fields that the type does not know.
fn is_of_kubernetes<K: Object>() -> bool {
    let group = K::group(&());
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// The status of `fresh`, and the changes that remain to be made to it; `None` if nothing remains.
fn again(changes: &Difference, fresh: &Value) -> Option<(Value, Difference)> {
    let old = fresh.get("status").cloned().unwrap_or_default();
    let mut wanted = old.clone();
    changes.apply(&mut wanted);
    let rest = difference(&old, &wanted)?;
    Some((old, rest))
}

/// The statuses of both objects, which must be equal in everything else.
fn statuses<K: Object>(known: &K, wanted: &K) -> anyhow::Result<(Value, Value)> {
    let ((old, rest), (new, wanted_rest)) = (split(known)?, split(wanted)?);
    anyhow::ensure!(
        rest == wanted_rest,
        "`cx.update_status` has changed more of the object than its status; nothing was written\n\
         help: change the rest with `cx.update`"
    );
    Ok((old, new))
}

/// The status of an object, and the rest of it.
fn split<K: Object>(object: &K) -> serde_json::Result<(Value, Value)> {
    let mut object = serde_json::to_value(object)?;
    let status = object.get_mut("status").map(Value::take);
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    Ok((status.unwrap_or_default(), object))
}

/// Reads the current object, including fields that `K` does not know; `None` if it is gone.
async fn read<K: Object>(client: &Client, key: &Key) -> anyhow::Result<Option<Value>> {
    let url = K::url_path(&(), key.namespace());
    let request = Request::new(url).get(key.name(), &GetParams::default())?;
    match client.request(request).await {
        Ok(object) => Ok(Some(object)),
        Err(kube::Error::Api(error)) if error.code == 404 => Ok(None),
        Err(error) => Err(anyhow::Error::new(error).context("cannot read the status")),
    }
}

/// A 404 means that the object is gone, which is fine, or that its kind has no status subresource, which is an error.
async fn gone<K: Object>(core: &Core<K>, key: &Key) -> anyhow::Result<()> {
    if read::<K>(&core.client, key).await?.is_none() {
        return Ok(());
    }
    anyhow::bail!(
        "`{}` has no subresource `status` on the API server\n\
         help: install its CustomResourceDefinition again, with `make install`",
        K::kind(&()),
    )
}

impl<K> Core<K> {
    /// The parameters of a patch as this controller's field manager.
    pub(crate) fn patch_params(&self) -> PatchParams {
        PatchParams {
            field_manager: Some(self.field_manager.clone()),
            ..PatchParams::default()
        }
    }
}
