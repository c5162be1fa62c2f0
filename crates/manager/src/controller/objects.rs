//! The objects that a reconcile writes.

use std::sync::Arc;

use crate::{
    cache::object::Object,
    controller::context::Context,
    writes::{
        apply::{apply, apply_unowned},
        create::create,
        delete::delete,
        update::update,
    },
};

impl<K: Object> Context<K> {
    /// Creates or changes a child object by server-side apply, and returns the whole child.
    ///
    /// The fields that `child` sets are taken over, by force, for the field manager `<manager id>/<controller>`. All
    /// other fields are left to other writers. Only a child of the object is changed, or one created: the request has the
    /// condition that what the controller knows about it still holds. The child gets an owner reference to the object, and the object's
    /// namespace if it names none. No request is sent if the same was applied before and the child has not changed
    /// since, which the controller knows for kinds that it `owns`.
    ///
    /// A child that this call creates or changes triggers another reconcile of the object, like any change of a kind
    /// that the controller `owns`. That reconcile finds nothing to do, provided that `child` depends only on the object
    /// and on what was read: put no timestamp and no random value into it.
    ///
    /// Derive the name from the purpose of the child, such as the name of the object or the time for which a Job is
    /// scheduled. A reconcile that runs again then finds the same child instead of creating another. For names that the
    /// API server generates, use [`create`](Self::create).
    ///
    /// Needs the verbs `get`, `create` and `patch` on the kind of the child.
    ///
    /// # Errors
    /// When the API server rejects it; when the child cannot be owned by the object (another namespace, or a
    /// cluster-scoped child of a namespaced object); when the controller caches the kind, and
    /// [`Manager::cache`](crate::Manager::cache) does not select its labels; when an object of that name exists and is not a child of this one. If that object is a child of an
    /// earlier object of the same name, the garbage collector is about to remove it, and the retry succeeds.
    /// A [`WriteError`](crate::WriteError) tells the last three apart.
    pub async fn apply<C: Object>(&self, child: &C) -> anyhow::Result<Arc<C>> {
        apply(&self.core, &*self.object, child).await
    }

    /// Like [`apply`](Self::apply), for an object that is not a child: in another namespace, cluster-scoped, shared
    /// by several objects, or with other owners. Its owner references are those that `object` has.
    ///
    /// Nothing deletes it with the object being reconciled, so delete it in a [finalizer](crate::Controller::finalizer).
    /// An existing object of that name is not rejected: the fields that `object` sets are taken over from their
    /// field managers. It triggers a reconcile if a [`watches`](crate::Controller::watches) maps it to the object.
    /// If the controller watches or reads the kind, nothing is sent for an object that is up to date; otherwise, and once
    /// after each start, a request is sent that then changes nothing.
    ///
    /// Needs the verbs `get`, `create` and `patch` on the kind.
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, rbac::v1::ClusterRole};
    /// # use manager::{Action, Cleanup};
    /// # use std::sync::Arc;
    /// # fn role(deployment: &Deployment) -> ClusterRole { ClusterRole::default() }
    /// # async fn reconcile(deployment: Arc<Deployment>, cx: manager::Context<Deployment>) -> anyhow::Result<()> {
    /// // With a name that contains the namespace and the name of the Deployment.
    /// cx.apply_unowned(&role(&deployment)).await?;
    /// # Ok(())
    /// # }
    ///
    /// async fn cleanup(deployment: Arc<Deployment>, cx: manager::Context<Deployment>) -> anyhow::Result<Cleanup> {
    ///     let name = role(&deployment).metadata.name.unwrap_or_default();
    ///     if let Some(role) = cx.get_live::<ClusterRole>(&*name).await? {
    ///         cx.delete(&*role).await?;
    ///     }
    ///     Ok(Cleanup::Done)
    /// }
    /// ```
    ///
    /// # Errors
    /// When the API server rejects it; when it has no name, or no namespace although it needs one.
    pub async fn apply_unowned<C: Object>(&self, object: &C) -> anyhow::Result<Arc<C>> {
        apply_unowned(&self.core, &*self.object, object).await
    }

    /// Creates a child object and returns it. The child has the name in its metadata, or one that the API server
    /// generates from `metadata.generateName`.
    ///
    /// The child gets an owner reference to the object, and the object's namespace if it names none. It triggers
    /// another reconcile of the object.
    ///
    /// Each call creates another child, so look at [`children`](Self::children) first, which include those that were
    /// just created. But a reconcile that was cancelled, or whose process ended, may have created a child without
    /// knowing it. So prefer [`apply`](Self::apply) with a derived name, which cannot create a child twice.
    ///
    /// Needs the verb `create` on the kind of the child.
    ///
    /// # Errors
    /// When the API server rejects it, for example because an object of that name exists; when the child cannot be
    /// owned by the object; when the controller caches the kind, and [`Manager::cache`](crate::Manager::cache) does not
    /// select its labels.
    pub async fn create<C: Object>(&self, child: &C) -> anyhow::Result<Arc<C>> {
        create(&self.core, &*self.object, child).await
    }

    /// Deletes an object, and its dependents in the background. An object that is gone or being deleted is not an
    /// error; if the API server answers with 404, it is read again, to know that it is gone.
    ///
    /// Only the object with the uid of `object` is deleted, never a later one of the same name. If `object` has no uid,
    /// like an object to apply, it stands for the child of that name, by default in the namespace of the object being
    /// reconciled.
    ///
    /// The removal of a child triggers another reconcile of the object, and so does its deletion timestamp if it has
    /// finalizers.
    ///
    /// Needs the verbs `get` and `delete` on the kind of the object.
    ///
    /// # Errors
    /// When the API server rejects it; when `object` has no uid, and the object of that name is not a child of the
    /// object being reconciled.
    pub async fn delete<C: Object>(&self, object: &C) -> anyhow::Result<()> {
        delete(&self.core, &*self.object, object).await
    }

    /// Changes an object that other writers change, too, and returns the updated object; `None` if `object` is gone, also if
    /// another one has its name by now.
    ///
    /// `change` is made to `object` as it was read, from a cache or otherwise. Only the difference is sent, on
    /// condition that the object has not changed since. On a conflict, the object is read again and `change` is made to
    /// that, up to five times with growing pauses, like client-go's `retry.RetryOnConflict`. If nothing differs,
    /// nothing is sent, and `object` is returned.
    ///
    /// A changed list is sent whole. So the object is read before, and what others have stored in the list stays: elements that
    /// the [transform](crate::CacheConfig::transform) of the cache drops, and fields that the type does not know.
    ///
    /// The update triggers reconciles like the change of any other writer: of the object itself, of the owner of a
    /// child, of the objects to which a watched object is mapped.
    ///
    /// For children prefer [`apply`](Self::apply). For the status use [`status`](Self::status): to change a status that is a
    /// subresource by this method is an error.
    ///
    /// Needs the verbs `get` and `patch` on the kind of the object, and `update` to remove the last finalizer of an
    /// object that is being deleted: a patch might delete a new object of the same name.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use kube::ResourceExt;
    /// # async fn reconcile(map: std::sync::Arc<ConfigMap>, cx: manager::Context<ConfigMap>) -> anyhow::Result<()> {
    /// let mark = |map: &mut ConfigMap| {
    ///     map.labels_mut().insert("example.com/seen".to_owned(), "true".to_owned());
    /// };
    /// cx.update(&*map, mark).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the API server rejects it, after five conflicts, or if it does not change the status as wanted.
    pub async fn update<C: Object>(
        &self,
        object: &C,
        change: impl Fn(&mut C) + Send + Sync,
    ) -> anyhow::Result<Option<Arc<C>>> {
        update(&self.core, self.key(), object, change).await
    }
}
