//! The part of an admission request beside the object.

use std::fmt;

use k8s_openapi::jiff::Timestamp;
use kube::Client;

use crate::{
    cache::{object::Object, reader::Reader},
    servers::access_reviews::User,
    timer::Timer,
};

use super::{rejection::Rejection, review::Question};

/// The operation on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// The object is created.
    Create,
    /// The object is updated.
    Update,
    /// The object is deleted.
    Delete,
}

/// The request that a webhook answers.
pub struct Request<K> {
    pub(super) operation: Operation,
    pub(super) user: User,
    pub(super) dry_run: bool,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) sub_resource: String,
    pub(super) old: Option<K>,
    pub(super) client: Client,
    pub(super) reads: Reads,
}

/// The caches and the clock of the manager.
pub(crate) type Reads = (Reader, Timer);

impl<K: fmt::Debug> fmt::Debug for Request<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation)
            .field("user", &self.user)
            .field("dry_run", &self.dry_run)
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("sub_resource", &self.sub_resource)
            .field("old", &self.old)
            .finish_non_exhaustive()
    }
}

impl<K: Object> Request<K> {
    /// The name; empty if the API server is yet to generate it from `generateName`. If an object is deleted with its collection, the
    /// API server sends no name, and this is that of the object.
    #[must_use]
    pub fn name(&self) -> &str {
        if self.name.is_empty() && self.operation == Operation::Delete {
            let name = self.old().and_then(|old| old.meta().name.as_deref());
            return name.unwrap_or_default();
        }
        &self.name
    }
}

impl<K> Request<K> {
    /// Takes the request's metadata and the stored object from `question`.
    pub(super) fn new(
        question: &mut Question<K>,
        client: Client,
        reads: Reads,
    ) -> Result<Self, Rejection> {
        let operation = match &*question.operation {
            "CREATE" => Operation::Create,
            "UPDATE" => Operation::Update,
            "DELETE" => Operation::Delete,
            other => {
                let message = format!("this webhook does not know the operation `{other}`");
                return Err(Rejection::bad_request(message));
            }
        };
        Ok(Self {
            operation,
            user: std::mem::take(&mut question.user_info),
            dry_run: question.dry_run.unwrap_or_default(),
            namespace: question.namespace.clone(),
            name: question.name.clone(),
            sub_resource: question.sub_resource.clone(),
            old: question.old_object.take(),
            client,
            reads,
        })
    }

    /// The current time; in a simulation, that of the history, as [`Context::now`](crate::Context::now) has it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.reads.1.timestamp()
    }

    /// The operation on the object.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The user who sent the request.
    #[must_use]
    pub fn user(&self) -> &User {
        &self.user
    }

    /// Whether this is a dry run: nothing is stored, so the webhook must have no side effects.
    #[must_use]
    pub fn dry_run(&self) -> bool {
        self.dry_run
    }

    /// The namespace; `None` for a cluster-scoped kind.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        Some(&*self.namespace).filter(|namespace| !namespace.is_empty())
    }

    /// The subresource, such as `status`; `None` for the object itself.
    #[must_use]
    pub fn sub_resource(&self) -> Option<&str> {
        Some(&*self.sub_resource).filter(|name| !name.is_empty())
    }

    /// The stored object; `None` on create, and if `K` cannot read it.
    #[must_use]
    pub fn old(&self) -> Option<&K> {
        self.old.as_ref()
    }

    /// The caches of the kinds that were declared with [`Manager::reads`](crate::Manager::reads): reading them sends no
    /// request.
    ///
    /// Waits until all objects of these kinds have been listed, which takes a moment after the start of this replica:
    /// before that, an object that is not in its cache may exist. If the API server does not wait that long, the
    /// `failurePolicy` of the webhook decides.
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// # use kube::ResourceExt;
    /// # use manager::{Key, Manager, kind, webhook::{Rejection, Request, Validator, Warnings}};
    /// struct DeploymentWebhook;
    ///
    /// impl Validator<Deployment> for DeploymentWebhook {
    ///     async fn validate_create(
    ///         &self,
    ///         deployment: &Deployment,
    ///         cx: &Request<Deployment>,
    ///     ) -> Result<Warnings, Rejection> {
    ///         let Some(name) = deployment.annotations().get("example.com/settings") else {
    ///             return Ok(Warnings::new());
    ///         };
    ///         let settings = Key::new(cx.namespace(), name);
    ///         if cx.cached().await.get::<ConfigMap>(settings)?.is_none() {
    ///             return Err(Rejection::forbidden(format!("there are no settings `{name}`")));
    ///         }
    ///         Ok(Warnings::new())
    ///     }
    /// }
    ///
    /// // +kbr:rbac:groups=core,resources=configmaps,verbs=list;watch
    /// fn register(manager: &mut Manager) {
    ///     manager.reads(kind::<ConfigMap>());
    ///     manager.validator::<Deployment>(DeploymentWebhook);
    /// }
    /// ```
    pub async fn cached(&self) -> Reader {
        self.reads.0.synced().await;
        self.reads.0.clone()
    }

    /// A client of the API server. Its requests take time, and the API server waits for the webhook meanwhile.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }
}
