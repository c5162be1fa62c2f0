//! The errors of writes that an author may want to tell apart.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::key::Key;

/// Why a method of [`Context`](crate::Context) did not write an object, although the API server would have. Find it in the
/// error with `downcast_ref`. What the API server rejects is a [`kube::Error`], found in the same way.
///
/// ```
/// # use std::sync::Arc;
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use manager::{Action, Context, WriteError, waiting};
/// # fn child(_: &ConfigMap) -> ConfigMap { ConfigMap::default() }
/// async fn reconcile(map: Arc<ConfigMap>, cx: Context<ConfigMap>) -> anyhow::Result<Action> {
///     if let Err(error) = cx.apply(&child(&map)).await {
///         if let Some(WriteError::NotChild { key, .. }) = error.downcast_ref() {
///             return Err(waiting("NameTaken", format!("`{key}` is not mine")));
///         }
///         return Err(error);
///     }
///     Ok(Action::await_change())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// An object of this name exists, and is not a child of the object that is reconciled.
    #[error("{kind} `{key}` exists and {}; {hint}", owned_by(owner.as_ref()))]
    #[non_exhaustive]
    NotChild {
        /// The kind of the object, such as `ConfigMap`.
        kind: String,
        /// Its namespace and name.
        key: Key,
        /// Its controller owner, or another one if it has none.
        owner: Option<OwnerReference>,
        /// What was not done, and what to do.
        hint: &'static str,
    },
    /// An object of this name exists, and is a child of a deleted object with the name of the one that is reconciled. The
    /// garbage collector is about to remove it, and a retry succeeds then.
    #[error("{kind} `{key}` is a child of an earlier {} `{}`, which was deleted; {done}\n{WAIT}", owner.kind, owner.name)]
    #[non_exhaustive]
    ChildOfEarlier {
        /// The kind of the object, such as `ConfigMap`.
        kind: String,
        /// Its namespace and name.
        key: Key,
        /// Its owner.
        owner: OwnerReference,
        /// What was not done.
        done: &'static str,
    },
    /// The labels of the object keep it out of the cache of its kind, so the controller would not see its changes.
    #[error(
        "{kind} `{key}` would not be in the cache, which holds only those with the labels `{selector}`: \
         it could not be read there, and its changes would be missed; it was not written\n\
         help: give it these labels, or let `manager.cache::<{code}>()` select more"
    )]
    #[non_exhaustive]
    NotSelected {
        /// The kind of the object, such as `ConfigMap`.
        kind: String,
        /// Its namespace and name.
        key: Key,
        /// The labels that the cache selects.
        selector: String,
        /// The kind as code names it, such as `PartialObjectMeta<ConfigMap>`.
        code: String,
    },
}

/// The advice about a child of an earlier owner.
const WAIT: &str =
    "help: wait until the garbage collector has removed it; the reconcile is retried";

fn owned_by(owner: Option<&OwnerReference>) -> String {
    match owner {
        Some(owner) => format!("is a child of {} `{}`", owner.kind, owner.name),
        None => "has no owner".to_owned(),
    }
}
