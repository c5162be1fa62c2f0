//! Changes an object that other writers change, too.

use std::sync::Arc;

use anyhow::Context as _;
use kube::api::Patch;
use serde_json::{Value, json};

use crate::{
    cache::{
        object::{Object, api, version},
        stripped::Stripped,
    },
    guard::{self, fields::changed},
    key::Key,
    writes::{
        carried::carried,
        core::Core,
        create::replace,
        difference::{Difference, difference},
        gone::{changed_since, read_again},
        kind::KindData,
        tries::Tries,
    },
};

/// Lists and maps of the metadata, which are not stored if they are empty.
const METADATA: [&str; 4] = ["annotations", "finalizers", "labels", "ownerReferences"];

/// Makes `change` to `object`; `None` if that is gone. See `Context::update`.
pub(crate) async fn update<K: Object, C: Object>(
    core: &Core<K>,
    reconciled: &Key,
    object: &C,
    change: impl Fn(&mut C),
) -> anyhow::Result<Option<Arc<C>>> {
    let (key, kind) = (Key::of(object), KindData::of::<C>());
    let uid = object.meta().uid.as_deref();
    let cannot = || format!("cannot update {} `{key}`", kind.name());
    core.look_for_writer(reconciled, &kind, &key).await;
    let mut tries = Tries::new();
    let mut edit = Edit::new(object.clone(), None, &change)?;
    loop {
        let Some(difference) = &edit.difference else {
            return Ok(Some(Arc::new(edit.known)));
        };
        let stored = if !edit.is_stored && difference.has_lists(&edit.old) {
            // Lists are sent whole, and the caller may know less of them than what is stored.
            read_again(&core.client, &kind, &key, uid).await
        } else {
            let error = match edit.send(core, &key, difference).await {
                Ok(changed) => {
                    let changed = Arc::new(changed);
                    core.wrote(&key, &changed);
                    edit.watch(core, reconciled, &*changed);
                    edit.ensure_status(&*changed)?;
                    return Ok(Some(changed));
                }
                Err(error) => error,
            };
            let at = (uid, version(&edit.known));
            changed_since(&core.client, &kind, &key, at, error, &mut tries).await
        };
        let Some(stored) = stored.with_context(cannot)? else {
            return Ok(None);
        };
        let Stripped(known) = serde_json::from_value(stored.clone()).with_context(cannot)?;
        edit = Edit::new(known, Some(stored), &change)?;
    }
}

/// A change of an object.
struct Edit<C> {
    /// The object without the change, and with it.
    known: C,
    wanted: C,
    /// The same as JSON: what is stored, or what is known of it.
    old: Value,
    new: Value,
    is_stored: bool,
    /// `None` if nothing changes.
    difference: Option<Difference>,
}

impl<C: Object> Edit<C> {
    fn new(known: C, stored: Option<Value>, change: impl Fn(&mut C)) -> serde_json::Result<Self> {
        let mut wanted = known.clone();
        change(&mut wanted);
        let (seen, mut new) = (tidied(&known)?, tidied(&wanted)?);
        let is_stored = stored.is_some();
        if let Some(stored) = &stored {
            new = carried(stored, &seen, &new);
        }
        let old = stored.unwrap_or(seen);
        Ok(Self {
            difference: difference(&old, &new, &[]),
            known,
            wanted,
            old,
            new,
            is_stored,
        })
    }

    /// Tells the storm guard that it was sent.
    fn watch<K: Object>(&self, core: &Core<K>, reconciled: &Key, written: &C) {
        let Some(difference) = &self.difference else {
            return;
        };
        let write = guard::Write {
            kind: C::kind(&()),
            key: &Key::of(written),
            is_status: false,
            from: Some(version(&self.known)),
            to: version(written),
            sent: guard::hash((&written.meta().uid, difference.patch(&self.old))),
            body: None,
        };
        let found = core
            .guard
            .wrote(reconciled, &write, |_| changed(&self.old, &self.new));
        if let Some(found) = found {
            core.looped(reconciled, &found);
        }
    }

    /// Sends it, on condition that the object has not changed.
    async fn send<K: Object>(
        &self,
        core: &Core<K>,
        key: &Key,
        difference: &Difference,
    ) -> kube::Result<C> {
        if is_released(&self.known, &self.wanted) {
            return replace(core, key, &self.new).await;
        }
        let mut patch = difference.patch(&self.old);
        patch["metadata"]["resourceVersion"] = json!(version(&self.known));
        let (api, patch) = (api::<C>(core.client.clone(), key), Patch::Merge(patch));
        let patched = api.patch(key.name(), &core.patch_params(), &patch).await;
        patched.map(|Stripped(changed)| changed)
    }

    /// Fails if the status was to change, and has not.
    fn ensure_status(&self, changed: &C) -> anyhow::Result<()> {
        let of = |object: &C| Ok(serde_json::to_value(object)?["status"].take());
        let before: serde_json::Result<Value> = of(&self.known);
        let before = before?;
        anyhow::ensure!(
            before == of(&self.wanted)? || before != of(changed)?,
            "the status of {} `{}` is a subresource, which `cx.update` does not write; the rest of the change is written\n\
             help: set the status of the object that is reconciled by `cx.status`, that of another one by kube's \
             `patch_status` with `cx.client()`",
            C::kind(&()),
            Key::of(changed),
        );
        Ok(())
    }
}

/// An object as JSON, without what is not stored of its metadata because it is empty.
fn tidied<C: Object>(object: &C) -> serde_json::Result<Value> {
    let mut object = serde_json::to_value(object)?;
    if let Some(meta) = object["metadata"].as_object_mut() {
        let is_empty = |value: &Value| *value == json!([]) || *value == json!({});
        meta.retain(|name, value| !METADATA.contains(&name.as_str()) || !is_empty(value));
    }
    Ok(object)
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
