//! Creates a child object, under a name that the API server may generate.

use std::sync::Arc;

use anyhow::Context as _;
use kube::api::{PostParams, Request};

use crate::{
    cache::{object::Object, stripped::Stripped},
    controller::core::Core,
    key::Key,
    writes::{child::prepare, kind::KindData, selected::ensure_selected},
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
    Ok(object)
}
