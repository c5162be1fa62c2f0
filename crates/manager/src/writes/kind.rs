//! The kind of an object to write, as data: that of a Rust type, or one that is known only at run time.

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    core::discovery::Scope,
};

use crate::{
    cache::{
        object::{Cached, namespaced},
        stripped::Stripped,
    },
    key::Key,
};

/// The names of a kind, and whether it is namespaced.
pub(crate) struct KindData {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
}

impl KindData {
    pub(crate) fn of<C: Cached>() -> Self {
        Self {
            resource: ApiResource::erase::<C>(&()),
            namespaced: namespaced::<C>(),
        }
    }

    /// The kind of `object`, which fails if the object itself names another.
    pub(crate) fn new(
        resource: &ApiResource,
        scope: &Scope,
        object: &DynamicObject,
    ) -> anyhow::Result<Self> {
        if let Some(types) = &object.types {
            anyhow::ensure!(
                types.kind == resource.kind && types.api_version == resource.api_version,
                "an object of the kind {} of {} is written as a {} of {}",
                types.kind,
                types.api_version,
                resource.kind,
                resource.api_version,
            );
        }
        Ok(Self {
            resource: resource.clone(),
            namespaced: *scope == Scope::Namespaced,
        })
    }

    /// The name, such as `Deployment`.
    pub(crate) fn name(&self) -> &str {
        &self.resource.kind
    }

    /// The objects in the namespace of this key, read without the fields that no operator uses.
    pub(crate) fn api(&self, client: Client, key: &Key) -> Api<Stripped<DynamicObject>> {
        match key.namespace() {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.resource),
            None => Api::all_with(client, &self.resource),
        }
    }
}
