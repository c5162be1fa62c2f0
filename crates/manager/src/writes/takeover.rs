//! Takes over the fields of an object that an earlier operator owns, before they are applied for the first time.
//!
//! client-go's `Update` makes the caller the owner of what it changes. An apply of the same fields makes the new operator
//! a second owner, and a field that it later no longer sets would stay, because the first one still owns it. So the entry
//! of the earlier operator becomes one of the new operator's applies. Source: `k8s.io/client-go/util/csaupgrade`.

mod entries;

use std::{
    collections::HashSet,
    fmt::Debug,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Resource,
    api::{Patch, PatchParams},
};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::{
    cache::stripped::Stripped,
    key::Key,
    writes::{
        gone::{found, is_doubtful},
        takeover::entries::taken_over,
    },
};

/// How often a write is attempted while others write at the same time.
const TRIES: usize = 3;

/// The field managers of an earlier operator, and the objects that were looked at since the start of this process.
#[derive(Clone, Default)]
pub(crate) struct Predecessors(Arc<State>);

#[derive(Default)]
struct State {
    names: Mutex<Vec<String>>,
    /// Hashes of field managers, kinds and keys.
    seen: Mutex<HashSet<u64>>,
    hasher: RandomState,
}

impl Predecessors {
    pub(crate) fn add(&self, name: &str) {
        lock(&self.0.names).push(name.to_owned());
    }

    /// Makes the fields of an object that the earlier operator owns those of `params`' field manager, which is about to
    /// apply it. Writes nothing if there are none; looks at each object once.
    ///
    /// With another `uid`, the object is left alone.
    pub(crate) async fn take_over<C>(
        &self,
        api: &Api<Stripped<C>>,
        key: &Key,
        uid: Option<&str>,
        params: &PatchParams,
    ) -> kube::Result<()>
    where
        C: Resource + Clone + Debug + DeserializeOwned,
    {
        let names = lock(&self.0.names).clone();
        if names.is_empty() {
            return Ok(());
        }
        let ours = params.field_manager.as_deref().unwrap_or_default();
        let id = self.0.hasher.hash_one((ours, api.resource_url(), key));
        if lock(&self.0.seen).contains(&id) {
            return Ok(());
        }
        for tries in 1.. {
            let there = found(api.get_metadata(key.name()).await, key.name())?;
            let meta = there.map(|there| there.metadata);
            let meta = meta.filter(|meta| uid.is_none_or(|uid| meta.uid.as_deref() == Some(uid)));
            let Some(change) = meta.and_then(|meta| change(&meta, &names, ours)) else {
                break;
            };
            match api.patch_metadata(key.name(), params, &change).await {
                Ok(_) => {
                    tracing::info!(%key, url = api.resource_url(), from = names.join(", "), "took over fields");
                    break;
                }
                Err(error) if tries == TRIES || !is_doubtful(&error) => return Err(error),
                Err(_) => {}
            }
        }
        lock(&self.0.seen).insert(id);
        Ok(())
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The patch, on condition that the object has not changed; `None` if nothing is to be taken over.
fn change(meta: &ObjectMeta, names: &[String], ours: &str) -> Option<Patch<serde_json::Value>> {
    let entries = meta.managed_fields.as_deref().unwrap_or_default();
    let entries = taken_over(entries, names, ours)?;
    let change = json!({"resourceVersion": meta.resource_version, "managedFields": entries});
    Some(Patch::Merge(json!({"metadata": change})))
}
