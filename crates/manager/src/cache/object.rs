//! What the manager asks of a kind.

use std::fmt::Debug;

use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope, api::core::v1::ObjectReference};
use kube::{Api, Client, Resource, api::ObjectMeta};
use serde::{Serialize, de::DeserializeOwned};

use crate::{cache::stripped::Stripped, key::Key};

/// A kind whose objects can be cached: every type of kube's derive macro and of k8s-openapi, and their metadata.
///
/// Implemented for all that qualify; there is nothing to implement by hand.
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

/// A kind that can be reconciled or applied: one that is [`Cached`] and can be written.
///
/// Implemented for all that qualify; there is nothing to implement by hand.
pub trait Object: Cached + Serialize {}

impl<K: Cached + Serialize> Object for K {}

/// Whether the objects of a kind live in namespaces. Implemented for the two scopes of k8s-openapi.
pub trait Scope: Sized {
    /// `true` for kinds with namespaces.
    const NAMESPACED: bool;

    /// The objects of `K` in `namespace`; in all, if `None` or if the kind has none.
    fn api<K>(client: Client, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = Self>;
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

/// Whether objects of `K` live in namespaces.
pub(crate) fn namespaced<K: Cached>() -> bool {
    <K::Scope as Scope>::NAMESPACED
}

/// The objects of `K` beside the one with this key, read without what nobody reads.
pub(crate) fn api<K: Cached>(client: Client, key: &Key) -> Api<Stripped<K>> {
    <K::Scope as Scope>::api(client, key.namespace())
}

/// The resource version, empty if there is none.
pub(crate) fn version<K: Resource>(object: &K) -> &str {
    object
        .meta()
        .resource_version
        .as_deref()
        .unwrap_or_default()
}

/// Whether resource version `a` is from after `b`.
///
/// Resource versions of one kind may be compared as numbers since Kubernetes 1.35 (KEP-5504), and could in fact
/// before. Of what is not a number nothing is known, so it counts as not later.
pub(crate) fn later(a: &str, b: &str) -> bool {
    match (a.parse::<u128>(), b.parse::<u128>()) {
        (Ok(a), Ok(b)) => a > b,
        _ => false,
    }
}

/// A reference to `object`, as events carry it.
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
