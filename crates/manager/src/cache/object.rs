//! The traits that a kind must implement.

use std::fmt::Debug;

use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope, api::core::v1::ObjectReference};
use kube::{Api, Client, Resource, api::ObjectMeta};
use serde::{Serialize, de::DeserializeOwned};

use crate::{cache::stripped::Stripped, key::Key};

/// A kind whose objects can be cached: every type of kube's derive macro and of k8s-openapi, and their metadata.
///
/// Implemented for every type that qualifies; never implement it by hand.
pub trait Cached:
    Resource<DynamicType = (), Scope: Scope> + DeserializeOwned + Clone + Debug + Send + Sync + 'static
{
}

impl<K> Cached for K where
    K: Resource<DynamicType = (), Scope: Scope>
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static
{
}

/// A kind that can be reconciled or applied: it is [`Cached`] and can be written.
///
/// Implemented for every type that qualifies; never implement it by hand.
pub trait Object: Cached + Serialize {}

impl<K: Cached + Serialize> Object for K {}

/// Whether a kind is namespaced. Implemented for the two scopes of k8s-openapi, and sealed.
pub trait Scope: sealed::Scope + Sized + 'static {
    /// `true` for namespaced kinds.
    const NAMESPACED: bool;

    /// The objects of `K` in `namespace`; in all namespaces, if it is `None` or the kind is cluster-scoped.
    fn api<K>(client: Client, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = Self>;
}

mod sealed {
    pub trait Scope {}
    impl Scope for super::NamespaceResourceScope {}
    impl Scope for super::ClusterResourceScope {}
}

impl Scope for NamespaceResourceScope {
    const NAMESPACED: bool = true;

    fn api<K>(client: Client, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = Self>,
    {
        match namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        }
    }
}

impl Scope for ClusterResourceScope {
    const NAMESPACED: bool = false;

    fn api<K>(client: Client, _: Option<&str>) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = Self>,
    {
        Api::all(client)
    }
}

/// Whether `K` is namespaced.
pub(crate) fn namespaced<K: Cached>() -> bool {
    <K::Scope as Scope>::NAMESPACED
}

/// The objects of `K` in the namespace of this key, read without the fields that no operator uses.
pub(crate) fn api<K: Cached>(client: Client, key: &Key) -> Api<Stripped<K>> {
    <K::Scope as Scope>::api(client, key.namespace())
}

/// The resource version; empty if the object has none.
pub(crate) fn version<K: Resource>(object: &K) -> &str {
    object
        .meta()
        .resource_version
        .as_deref()
        .unwrap_or_default()
}

/// Whether resource version `a` is newer than `b`.
///
/// Resource versions of one kind may be compared as numbers since Kubernetes 1.35 (KEP-5504); in practice that worked
/// before, too. Nothing is known about a version that is not a number, so it counts as not newer.
pub(crate) fn later(a: &str, b: &str) -> bool {
    number(a).zip(number(b)).is_some_and(|(a, b)| a > b)
}

/// A resource version as a number, if it is one.
pub(crate) fn number(version: &str) -> Option<u128> {
    version.parse().ok()
}

/// A reference to `object`, as used in events.
pub(crate) fn reference<K: Cached>(object: &K) -> ObjectReference {
    reference_to::<K>(object.meta())
}

/// A reference to the object of `K` with this metadata.
pub(crate) fn reference_to<K: Cached>(meta: &ObjectMeta) -> ObjectReference {
    ObjectReference {
        api_version: Some(K::api_version(&()).into_owned()),
        kind: Some(K::kind(&()).into_owned()),
        name: meta.name.clone(),
        namespace: meta.namespace.clone(),
        uid: meta.uid.clone(),
        resource_version: meta.resource_version.clone(),
        field_path: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_versions_are_compared_as_numbers() {
        assert!(later("10", "9"));
        assert!(!later("9", "10"));
        assert!(!later("9", "9"));
        assert!(!later("x", "9"));
    }
}
