//! The objects of any kind that a reconcile writes, such as those that a template renders.

use kube::{
    api::{ApiResource, DynamicObject},
    core::discovery::Scope,
};

use crate::{
    cache::object::Object,
    controller::context::Context,
    writes::{
        apply::{apply_object, apply_object_unowned},
        delete::delete_object,
        kind::KindData,
    },
};

impl<K: Object> Context<K> {
    /// Like [`apply`](Self::apply), for a child of a kind that is known only by its names: whatever a template or a
    /// user's object contains. `resource` and `scope` come from kube's `discovery`, for example.
    ///
    /// No cache is used, so each call is two requests, and the child triggers no reconcile unless the controller
    /// `owns` its kind. For a kind that the code can name, prefer [`Dynamic`](crate::Dynamic), which has neither
    /// limit.
    ///
    /// Needs the verbs `get`, `create` and `patch` on the kind of the child.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use kube::{api::{DynamicObject, GroupVersionKind}, discovery};
    /// # use manager::Context;
    /// /// Applies what a template rendered as JSON.
    /// async fn apply(cx: &Context<ConfigMap>, rendered: &str) -> anyhow::Result<()> {
    ///     for object in serde_json::from_str::<Vec<DynamicObject>>(rendered)? {
    ///         let kind = GroupVersionKind::try_from(&object.types.clone().unwrap_or_default())?;
    ///         // A request: keep the answers of kinds that are used often.
    ///         let (resource, kind) = discovery::pinned_kind(&cx.client(), &kind).await?;
    ///         cx.apply_object(&resource, &kind.scope, &object).await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// When the API server rejects it; when `child` has another kind than `resource`; when it cannot be owned by the
    /// object (another namespace, or a cluster-scoped child of a namespaced object); when an object of that name exists
    /// and is not a child of this one.
    pub async fn apply_object(
        &self,
        resource: &ApiResource,
        scope: &Scope,
        child: &DynamicObject,
    ) -> anyhow::Result<DynamicObject> {
        let kind = KindData::new(resource, scope, child)?;
        apply_object(&self.core, &*self.object, &kind, child).await
    }

    /// Like [`apply_object`](Self::apply_object), for an object that is not a child, and in all else like
    /// [`apply_unowned`](Self::apply_unowned).
    ///
    /// Needs the verbs `create` and `patch` on the kind.
    ///
    /// # Errors
    /// When the API server rejects it; when it has another kind than `resource`, no name, or no namespace although it
    /// needs one.
    pub async fn apply_object_unowned(
        &self,
        resource: &ApiResource,
        scope: &Scope,
        object: &DynamicObject,
    ) -> anyhow::Result<DynamicObject> {
        let kind = KindData::new(resource, scope, object)?;
        apply_object_unowned(&self.core, &*self.object, &kind, object).await
    }

    /// Like [`delete`](Self::delete), for an object of a kind that is known only by its names. The caches show the
    /// deletion when their watches deliver it.
    ///
    /// Needs the verbs `get` and `delete` on the kind of the object.
    ///
    /// # Errors
    /// When the API server rejects it; when `object` has another kind than `resource`; when it has no uid, and the
    /// object of that name is not a child of the object being reconciled.
    pub async fn delete_object(
        &self,
        resource: &ApiResource,
        scope: &Scope,
        object: &DynamicObject,
    ) -> anyhow::Result<()> {
        let kind = KindData::new(resource, scope, object)?;
        delete_object(&self.core, &*self.object, &kind, object).await
    }
}
