//! Webhooks that get admission requests as the API server sends them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use kube::Client;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::{
    rejection::{Rejection, guarded},
    reply::{Allowed, reply, unread},
    review::{Question, from_body},
    serve::Webhook,
    turn::LARGE,
};
use crate::{parse::Error, servers::access_reviews::User};

/// An admission request of any resource, subresource and operation, as the API server sends it.
///
/// If its objects take more memory than there is for one request, it is rejected as soon as a method returns them, whatever
/// the function returns.
#[derive(Clone)]
pub struct AdmissionRequest(Arc<Inner>);

struct Inner {
    question: Question<IgnoredAny>,
    /// The whole request, or why it was not parsed.
    json: Result<Value, Error>,
    /// Whether it was asked for, and was not parsed.
    is_missed: AtomicBool,
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
        &self.json()["object"]
    }

    /// The stored object; null on `CREATE` and `CONNECT`.
    #[must_use]
    pub fn old_object(&self) -> &Value {
        &self.json()["oldObject"]
    }

    /// The whole request, with its objects: the field `request` of the `AdmissionReview` of `admission.k8s.io/v1`.
    #[must_use]
    pub fn json(&self) -> &Value {
        self.0.json.as_ref().unwrap_or_else(|_| {
            self.0.is_missed.store(true, Relaxed);
            &Value::Null
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

/// The description of a request, and all of it.
type Read = (Question<IgnoredAny>, Result<Value, Error>);

/// Reads a review into at most so many bytes. One that takes more than the turn of a large one allows is read without its
/// objects, as they may not be asked for.
fn read(body: &[u8], most: usize) -> Result<Read, Error> {
    let question = Question::read(body, most)?;
    match from_body::<Whole>(body, most) {
        Err(error) if error.is_too_large() && most < LARGE => Err(error),
        whole => Ok((question, whole.map(|whole| whole.request))),
    }
}

/// A webhook that answers with the verdict of `review`.
pub(crate) fn reviewing<F, R>(review: F) -> Webhook
where
    F: Fn(AdmissionRequest) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Allowed, Rejection>> + Send + 'static,
{
    let review = Arc::new(review);
    Arc::new(move |call| {
        let review = review.clone();
        Box::pin(async move {
            let body = call.body.clone();
            let read = call.turns.parse(body.len(), move |most| read(&body, most));
            let ((question, json), _turn) = match read.await {
                (Ok(read), turn) => (read, turn),
                (Err(error), _) => return unread(&call, &error),
            };
            let request = AdmissionRequest(Arc::new(Inner {
                question,
                json,
                is_missed: AtomicBool::new(false),
                client: call.client.clone(),
            }));
            let inner = request.0.clone();
            // The call itself is user code, too.
            let verdict = guarded(async { review(request).await }).await;
            match &inner.json {
                Err(error) if inner.is_missed.load(Relaxed) => unread(&call, error),
                _ => reply(&inner.question, verdict, &call.metrics),
            }
        })
    })
}

#[cfg(test)]
mod tests;
