//! Replaces a stored object, which is how its last finalizer is removed.
//!
//! The API server deletes an object when its last finalizer goes. After a patch, it deletes whatever has the name by then, which is a
//! new object if a second request of the same kind has just removed the old one. After a replacement, it deletes only the object with
//! the uid in the request (`deleteWithoutFinalizers` in `k8s.io/apiserver/pkg/registry/generic/registry/store.go`).

use kube::api::{PostParams, Request};
use serde_json::Value;

use crate::{
    cache::{object::Object, stripped::Stripped},
    controller::core::Core,
    key::Key,
};

/// Replaces the object if it still has the uid and the resource version in `object`.
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
