//! Webhooks that get admission requests as the API server sends them.

use std::sync::{Arc, OnceLock};

use hyper::StatusCode;
use kube::Client;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::{
    panic_handler::guarded,
    rejection::Rejection,
    reply::{Allowed, reply, too_large},
    review::{Question, from_body},
    serve::{Call, Webhook},
};
use crate::{
    servers::{body::Body, budget::Budget, http::Reply},
    user::User,
};

/// An admission request of any resource, subresource and operation, as the API server sends it.
///
/// Its objects are parsed when a method first returns them. If they take more memory than there is for one request, the
/// request is rejected, whatever the function returns.
#[derive(Clone)]
pub struct AdmissionRequest(Arc<Inner>);

struct Inner {
    question: Question<IgnoredAny>,
    object: OnceLock<Value>,
    old_object: OnceLock<Value>,
    json: OnceLock<Value>,
    /// Why a value could not be parsed, which is null then.
    problem: OnceLock<String>,
    body: Arc<Body>,
    budget: Arc<Budget>,
    client: Client,
}

impl std::fmt::Debug for AdmissionRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AdmissionRequest")
            .field(self.json())
            .finish()
    }
}

impl AdmissionRequest {
    fn read(call: &Call) -> Result<Self, String> {
        Ok(Self(Arc::new(Inner {
            question: Question::read(&call.body, &call.budget)?,
            object: OnceLock::new(),
            old_object: OnceLock::new(),
            json: OnceLock::new(),
            problem: OnceLock::new(),
            body: call.body.clone(),
            budget: call.budget.clone(),
            client: call.client.clone(),
        })))
    }

    /// The operation: `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    #[must_use]
    pub fn operation(&self) -> &str {
        &self.0.question.operation
    }

    /// The plural of the resource, such as `pods`.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.0.question.resource.resource
    }

    /// The subresource, such as `exec`; `None` for the object itself.
    #[must_use]
    pub fn sub_resource(&self) -> Option<&str> {
        Some(&*self.0.question.sub_resource).filter(|name| !name.is_empty())
    }

    /// The namespace; `None` for a cluster-scoped resource.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        Some(&*self.0.question.namespace).filter(|namespace| !namespace.is_empty())
    }

    /// The name; empty if the API server is yet to generate it from `generateName`. If an object is deleted with its collection, the
    /// API server sends no name, and this is that of the object.
    #[must_use]
    pub fn name(&self) -> &str {
        let name = &self.0.question.name;
        if name.is_empty() && self.operation() == "DELETE" {
            let name = self.old_object()["metadata"]["name"].as_str();
            return name.unwrap_or_default();
        }
        name
    }

    /// The user who sent the request.
    #[must_use]
    pub fn user(&self) -> &User {
        &self.0.question.user_info
    }

    /// Whether this is a dry run: nothing is stored, so the webhook must have no side effects.
    #[must_use]
    pub fn dry_run(&self) -> bool {
        self.0.question.dry_run.unwrap_or_default()
    }

    /// The object in the request; null on `DELETE`. It need not be of the kind of the resource: for `pods/exec` it is
    /// a `PodExecOptions`, for `deployments/scale` a `Scale`.
    #[must_use]
    pub fn object(&self) -> &Value {
        self.0.value(&self.0.object, |body, budget| {
            let question = Question::<_, IgnoredAny>::read(body, budget)?;
            Ok(question.object.unwrap_or_default())
        })
    }

    /// The stored object; null on `CREATE` and `CONNECT`.
    #[must_use]
    pub fn old_object(&self) -> &Value {
        self.0.value(&self.0.old_object, |body, budget| {
            let question = Question::<IgnoredAny, _>::read(body, budget)?;
            Ok(question.old_object.unwrap_or_default())
        })
    }

    /// The whole request: the field `request` of the `AdmissionReview` of `admission.k8s.io/v1`. It contains the objects
    /// once more.
    #[must_use]
    pub fn json(&self) -> &Value {
        self.0.value(&self.0.json, |body, budget| {
            let review: Whole = from_body(body, budget)?;
            Ok(review.request)
        })
    }

    /// A client of the API server. Its requests take time, and the API server waits for the webhook meanwhile.
    #[must_use]
    pub fn client(&self) -> Client {
        self.0.client.clone()
    }
}

/// A review as it is.
#[derive(Deserialize)]
struct Whole {
    request: Value,
}

impl Inner {
    /// A part of the request, which is read when it is first asked for.
    fn value<'a>(
        &'a self,
        place: &'a OnceLock<Value>,
        read: fn(&[u8], &Budget) -> Result<Value, String>,
    ) -> &'a Value {
        place.get_or_init(|| {
            let (body, budget) = (self.body.clone(), self.budget.clone());
            let value = self.budget.spend_now(move || read(&body, &budget));
            value.unwrap_or_else(|problem| {
                self.problem.get_or_init(|| problem);
                Value::Null
            })
        })
    }
}

/// A webhook that answers with the verdict of `review`.
pub(super) fn reviewing<F, R>(review: F) -> Webhook
where
    F: Fn(AdmissionRequest) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Allowed, Rejection>> + Send + 'static,
{
    let review = Arc::new(review);
    Arc::new(move |call| {
        let review = review.clone();
        Box::pin(async move {
            let request = match AdmissionRequest::read(&call) {
                Ok(request) => request,
                Err(problem) => return unread(&call, &problem),
            };
            let inner = request.0.clone();
            // The call itself is user code, too.
            let verdict = guarded(async { review(request).await }).await;
            match inner.problem.get() {
                Some(problem) => unread(&call, problem),
                None => reply(&inner.question, verdict, &call.metrics),
            }
        })
    })
}

/// The answer to a request that cannot be read, or takes too much memory.
fn unread(call: &Call, problem: &str) -> Reply {
    if call.budget.exceeded() {
        return too_large(call, problem);
    }
    Reply::text(
        StatusCode::BAD_REQUEST,
        format!("not a review: {problem}\n"),
    )
}

#[cfg(test)]
mod tests;
