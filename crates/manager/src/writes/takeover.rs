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
use serde_json::{Value, json};

use crate::{
    cache::stripped::Stripped,
    key::Key,
    writes::{
        gone::{found, is_doubtful},
        takeover::entries::taken_over,
        tries::Tries,
    },
};

/// How many objects are remembered. Once there are more, all are looked at again.
const MOST: usize = 100_000;

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
    /// With another `uid`, the object is left alone. Replicas that `applied` does not set keep their value: without one, an
    /// autoscaler would begin with the default.
    pub(crate) async fn take_over<C>(
        &self,
        api: &Api<Stripped<C>>,
        key: &Key,
        uid: Option<&str>,
        applied: &Value,
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
        let (mut tries, kept) = (Tries::new(), entries::kept(applied));
        loop {
            let there = found(api.get_metadata(key.name()).await, key.name())?;
            let meta = there.map(|there| there.metadata);
            let meta = meta.filter(|meta| uid.is_none_or(|uid| meta.uid.as_deref() == Some(uid)));
            let Some(change) = meta.and_then(|meta| change(&meta, &names, ours, kept)) else {
                break;
            };
            match api.patch_metadata(key.name(), params, &change).await {
                Ok(_) => {
                    tracing::info!(%key, url = api.resource_url(), from = names.join(", "), "took over fields");
                    break;
                }
                Err(error) if !is_doubtful(&error) || !tries.again().await => return Err(error),
                Err(_) => {}
            }
        }
        self.0.remember(id);
        Ok(())
    }
}

impl State {
    fn remember(&self, id: u64) {
        let mut seen = lock(&self.seen);
        if seen.len() >= MOST {
            seen.clear();
        }
        seen.insert(id);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The patch, on condition that the object has not changed; `None` if nothing is to be taken over.
fn change(
    meta: &ObjectMeta,
    names: &[String],
    ours: &str,
    kept: &[[&str; 2]],
) -> Option<Patch<Value>> {
    let entries = meta.managed_fields.as_deref().unwrap_or_default();
    let entries = taken_over(entries, names, ours, kept)?;
    let change = json!({"resourceVersion": meta.resource_version, "managedFields": entries});
    Some(Patch::Merge(json!({"metadata": change})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limited_number_of_objects_is_remembered() {
        let state = State::default();
        (0..3 * MOST as u64).for_each(|id| state.remember(id));
        assert!(lock(&state.seen).len() <= MOST);
        assert!(lock(&state.seen).contains(&(3 * MOST as u64 - 1)));
    }
}
