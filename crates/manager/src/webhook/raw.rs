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

    /// The name; empty if the API server is yet to generate it from `generateName`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.question.name
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
mod tests {
    use k8s_openapi::ByteString;
    use kbr_testing::FakeApi;
    use serde_json::json;

    use super::*;
    use crate::harness;

    async fn review(request: AdmissionRequest) -> Result<Allowed, Rejection> {
        let object = request.object();
        assert!(object["command"] != "panic", "as requested");
        if request.dry_run() || object["command"] == "sh" {
            return Err(Rejection::forbidden(request.user().username.clone()));
        }
        let asked = (
            request.operation(),
            request.resource(),
            request.sub_resource(),
        );
        let (place, name) = (request.namespace(), request.name());
        let patch = json!({"op": "add", "path": "/stdin", "value": false});
        let allowed = Allowed::default().with_warning(format!("{asked:?} {place:?} {name}"));
        Ok(allowed.with_patch([patch]))
    }

    fn exec(command: &str, dry_run: bool) -> Value {
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "u", "operation": "CONNECT", "subResource": "exec", "dryRun": dry_run,
                "kind": {"group": "", "version": "v1", "kind": "PodExecOptions"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "namespace": "shop", "name": "web", "userInfo": {"username": "ada"},
                "object": {"command": command}, "oldObject": null,
            },
        })
    }

    /// The response to a review.
    async fn admit(review_of: &Value) -> Value {
        let mut manager = harness::on(&FakeApi::new());
        manager.admission_at("/exec", review);
        let answer = harness::answer(&manager, "/exec", review_of).await;
        let (_, body) = answer.unwrap();
        serde_json::from_str::<Value>(&body).unwrap()["response"].take()
    }

    #[track_caller]
    fn check_rejected(response: &Value, message: &str) {
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["message"], message);
    }

    #[tokio::test]
    async fn a_connection_is_reviewed_as_the_api_server_sends_it() {
        let response = admit(&exec("ls", false)).await;
        assert_eq!(response["allowed"], true);
        let warning = r#"("CONNECT", "pods", Some("exec")) Some("shop") web"#;
        assert_eq!(response["warnings"], json!([warning]));
        let patch: ByteString = serde_json::from_value(response["patch"].clone()).unwrap();
        let patch: Value = serde_json::from_slice(&patch.0).unwrap();
        let step = json!({"op": "add", "path": "/stdin", "value": false});
        assert_eq!(patch, json!([step]));
    }

    #[tokio::test]
    async fn a_connection_is_rejected_with_the_message_of_the_webhook() {
        for (request, message) in [
            (exec("sh", false), "ada"),
            (exec("ls", true), "ada"),
            (exec("panic", false), "panic: as requested"),
        ] {
            check_rejected(&admit(&request).await, message);
        }
    }

    #[tokio::test]
    async fn a_request_that_would_take_too_much_memory_is_rejected() {
        let mut request = exec("ls", false);
        request["request"]["object"]["many"] = vec![json!({}); 100_000].into();
        let response = admit(&request).await;
        let status = &response["status"];
        let message = status["message"].as_str().unwrap();
        let expected = "cannot review the object: request.object.many[";
        assert!(message.starts_with(expected), "{message}");
        let expected = "]: the limit of 60 MiB of memory for a review is exceeded";
        assert!(message.ends_with(expected), "{message}");
        assert_eq!(
            (&response["allowed"], &status["code"]),
            (&json!(false), &json!(413))
        );
        assert_eq!(status["reason"], "RequestEntityTooLarge");
    }

    #[tokio::test]
    async fn a_request_with_an_object_that_cannot_be_parsed_is_not_admitted() {
        let text = exec("ls", false).to_string().replace("\"ls\"", "1e999");
        let call = Call {
            body: Arc::new(text.into_bytes().into()),
            budget: Arc::new(Budget::all()),
            client: FakeApi::new().client(),
            metrics: crate::metrics::Metrics::new().webhook("/exec"),
        };
        let reply = reviewing(review)(call).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        let expected = "not a review: number out of range";
        assert!(reply.body.starts_with(expected), "{}", reply.body);
    }

    #[tokio::test]
    async fn two_webhooks_at_one_path_are_an_error() {
        let mut manager = harness::on(&FakeApi::new());
        manager.admission_at("/exec", review);
        manager.admission_at("/exec", review);
        let all = manager.mistakes.join("\n");
        assert!(
            all.contains("two webhooks are registered at `/exec`"),
            "{all}"
        );
    }
}
