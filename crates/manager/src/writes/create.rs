//! Creates a child object, under a name that the API server may generate, and replaces a stored object.

use std::sync::Arc;

use anyhow::Context as _;
use kube::api::{PostParams, Request};
use serde_json::Value;

use crate::{
    cache::{object::Object, stripped::Stripped},
    key::Key,
    writes::{child::prepare, core::Core, kind::KindData, known::ensure_selected},
};

/// Creates `child` as a child of `owner`; see `Context::create`.
pub(crate) async fn create<K: Object, C: Object>(
    core: &Core<K>,
    owner: &K,
    child: &C,
) -> anyhow::Result<Arc<C>> {
    let kind = C::kind(&());
    let (key, serialized) = prepare(owner, &KindData::of::<C>(), child)?;
    anyhow::ensure!(
        !key.name().is_empty(),
        "a {kind} without a name cannot be created\n\
         help: set `metadata.name` or `metadata.generateName`"
    );
    ensure_selected(core, child, &key)?;
    let params = PostParams {
        field_manager: Some(core.field_manager.clone()),
        ..PostParams::default()
    };
    let request = Request::new(C::url_path(&(), key.namespace()));
    let request = request.create(&params, serialized.body()?.to_string().into_bytes())?;
    let created = core.client.request(request).await;
    let Stripped(object) = created.with_context(|| format!("cannot create {kind} `{key}`"))?;
    let object = Arc::new(object);
    core.wrote(&Key::of(&*object), &object);
    core.guard.progress(&Key::of(owner));
    Ok(object)
}

/// Replaces the object if it still has the uid and the resource version in `object`, which is how its last finalizer is removed.
///
/// The API server deletes an object when its last finalizer goes. After a patch, it deletes whatever has the name by then, which is a
/// new object if a second request of the same kind has just removed the old one. After a replacement, it deletes only the object with
/// the uid in the request (`deleteWithoutFinalizers` in `k8s.io/apiserver/pkg/registry/generic/registry/store.go`).
pub(crate) async fn replace<K: Object, C: Object>(
    core: &Core<K>,
    key: &Key,
    object: &Value,
) -> kube::Result<C> {
    let request = Request::new(C::url_path(&(), key.namespace()));
    let params = PostParams {
        field_manager: Some(core.field_manager.clone()),
        ..PostParams::default()
    };
    let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
    let put = request.replace(key.name(), &params, body);
    let put = put.map_err(kube::Error::BuildRequest)?;
    let Stripped(replaced) = core.client.request(put).await?;
    Ok(replaced)
}
