//! Writes the status of an object: once per reconcile, and only the difference.

use std::sync::Arc;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::{
    cache::{
        lenient::Lenient,
        object::{Object, api, version},
        stripped::Stripped,
    },
    guard::{self, fields::changed},
    key::Key,
    writes::{
        carried::carried,
        core::Core,
        difference::{Difference, difference},
        draft::Wanted,
        gone::{changed_since, is_not_found, meta, read_again},
        kind::KindData,
        tries::Tries,
    },
};

const CANNOT: &str = "cannot write the status";

/// Writes the difference between the status of `known` and the one that is wanted, if there is any.
///
/// The request carries the resource version that the difference was computed from. If another writer was faster, the
/// object is read again and the same changes are made to its new status, conditions by type, so neither write is lost.
/// If the object is gone or was replaced by another of its name, nothing is written.
///
/// # Errors
/// If the API server rejects the write, or after five conflicts.
pub(crate) async fn write<K: Object>(
    core: &Core<K>,
    key: &Key,
    known: &K,
    wanted: &Wanted<K>,
) -> anyhow::Result<()> {
    let Some(change) = Change::new(core, known, wanted)? else {
        return Ok(());
    };
    let (kind, mut tries) = (KindData::of::<K>(), Tries::new());
    let uid = known.meta().uid.as_deref();
    core.look_for_writer(key, &kind, key).await;
    let write = core.writes.begin(key);
    // What is left of the change for what is stored, once that was read.
    let mut rest = None;
    let mut reads = knows_in_part(core) && change.difference.has_lists(&change.old);
    loop {
        let change_now = rest.as_ref().unwrap_or(&change);
        let fresh = if std::mem::take(&mut reads) {
            read_again(&core.client, &kind, key, uid).await?
        } else {
            let error = match change_now.send(core, key).await {
                Ok(object) => {
                    write.finish(&change_now.at, version(&object));
                    change_now.watch(core, key, &object);
                    core.wrote(key, &Arc::new(object));
                    return Ok(());
                }
                Err(error) => error,
            };
            let at = (uid, &*change_now.at);
            let fresh = changed_since(&core.client, &kind, key, at, error, &mut tries).await;
            fresh.map_err(explained::<K>)?
        };
        // Another object of the same name has its own status.
        rest = fresh.and_then(|fresh| change.made_to(core, &fresh));
        if rest.is_none() {
            return Ok(());
        }
    }
}

/// A change of the status of an object.
struct Change {
    /// The resource version of the object, and its status at that version.
    at: String,
    old: Value,
    difference: Difference,
    /// The field of the status with the conditions, as the names that lead to it.
    conditions: Vec<String>,
}

impl Change {
    /// The change from the status of `known` to the wanted one; `None` if they are equal.
    fn new<K: Object>(
        core: &Core<K>,
        known: &K,
        wanted: &Wanted<K>,
    ) -> anyhow::Result<Option<Self>> {
        let (old, new) = match &core.conditions {
            Some(accessor) if !wanted.whole => {
                (accessor.status(known)?, accessor.status(&wanted.object)?)
            }
            Some(_) | None => statuses(known, &wanted.object)?,
        };
        let conditions = match &core.conditions {
            Some(accessor) => accessor.path(known)?.to_vec(),
            // Where the conventions of Kubernetes put them.
            None => vec!["conditions".to_owned()],
        };
        let at = version(known).to_owned();
        Ok(
            difference(&old, &new, &[&conditions]).map(|difference| Self {
                at,
                old,
                difference,
                conditions,
            }),
        )
    }

    /// The rest of this change for the object as it is stored; `None` if nothing remains.
    fn made_to<K: Object>(&self, core: &Core<K>, stored: &Value) -> Option<Self> {
        let old = stored.get("status").cloned().unwrap_or_default();
        let seen = seen(core, stored).unwrap_or_else(|| old.clone());
        let mut wanted = seen.clone();
        self.difference.apply(&mut wanted);
        let wanted = carried(&old, &seen, &wanted);
        Some(Self {
            at: meta(stored, "resourceVersion").to_owned(),
            difference: difference(&old, &wanted, &[&self.conditions])?,
            old,
            conditions: self.conditions.clone(),
        })
    }

    /// Tells the storm guard that it was sent.
    fn watch<K: Object>(&self, core: &Core<K>, key: &Key, written: &K) {
        let write = guard::Write {
            kind: K::kind(&()),
            key,
            is_status: true,
            from: Some(&self.at),
            to: version(written),
            sent: guard::hash((&written.meta().uid, self.difference.patch(&self.old))),
            body: None,
        };
        let found = core.guard.wrote(key, &write, |_| {
            let mut new = self.old.clone();
            self.difference.apply(&mut new);
            changed(&json!({"status": self.old}), &json!({"status": new}))
        });
        if let Some(found) = found {
            core.looped(key, &found);
        }
    }

    /// Sends it, on condition that the object has not changed.
    async fn send<K: Object>(&self, core: &Core<K>, key: &Key) -> kube::Result<K> {
        let status = self.difference.patch(&self.old);
        let patch = json!({"metadata": {"resourceVersion": self.at}, "status": status});
        let (api, params) = (api::<K>(core.client.clone(), key), core.patch_params());
        let patch = Patch::Merge(patch);
        let written = api.patch_status(key.name(), &params, &patch).await;
        written.map(|Stripped(object)| object)
    }
}

/// The error of a write to an object that is there. A 404 that is not from an admission webhook means that its kind has no
/// status subresource.
fn explained<K: Object>(error: anyhow::Error) -> anyhow::Error {
    let is_of_kind = |status: &kube::core::Status| {
        let named = status
            .details
            .as_ref()
            .is_some_and(|it| is_not_found(status, &it.name));
        named && !status.message.starts_with("admission webhook")
    };
    match error.downcast_ref() {
        Some(kube::Error::Api(status)) if is_of_kind(status) => anyhow::anyhow!(
            "`{}` has no subresource `status` on the API server\n\
             help: install its CustomResourceDefinition again, with `make install`",
            K::kind(&()),
        ),
        _ => error.context(CANNOT),
    }
}

/// Whether the controller may know only a part of each list. A patch replaces lists as a whole: what it does not know of them
/// would be lost.
///
/// The API server may be newer than the type of a kind of Kubernetes, and the transform of a cache drops what it likes.
fn knows_in_part<K: Object>(core: &Core<K>) -> bool {
    let group = K::group(&());
    !group.contains('.') || group.ends_with(".k8s.io") || core.cache.shape().transforms()
}

/// The status of a stored object as the controller sees it; `None` if it cannot be read.
fn seen<K: Object>(core: &Core<K>, stored: &Value) -> Option<Value> {
    let Stripped(object) = serde_json::from_value(stored.clone()).ok()?;
    match core.cache.shape().transformed(object) {
        Lenient::Object(object) => Some(split::<K>(&object).ok()?.0),
        Lenient::Unreadable(_) => None,
    }
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

impl<K> Core<K> {
    /// The parameters of a patch as this controller's field manager.
    pub(crate) fn patch_params(&self) -> PatchParams {
        PatchParams {
            field_manager: Some(self.field_manager.clone()),
            ..PatchParams::default()
        }
    }
}
