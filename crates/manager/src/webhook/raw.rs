//! Webhooks that get admission requests as the API server sends them.

use std::sync::Arc;

use hyper::StatusCode;
use kube::Client;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{
    panic_handler::guarded,
    rejection::Rejection,
    reply::{Allowed, reply},
    review::{Question, from_body},
    serve::Webhook,
};
use crate::{metrics::WebhookMetrics, servers::http::Reply, user::User};

/// The memory in bytes that parsing a request may take: all of it is in a Pod at once.
const MOST: usize = 64 << 20;

/// An admission request of any resource, subresource and operation, as the API server sends it.
#[derive(Clone)]
pub struct AdmissionRequest {
    question: Arc<Question<IgnoredAny>>,
    json: Arc<Value>,
    client: Client,
}

impl std::fmt::Debug for AdmissionRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AdmissionRequest").field(&self.json).finish()
    }
}

impl AdmissionRequest {
    fn read(body: &[u8], client: Client) -> Result<Self, String> {
        let question = Question::read(body)?;
        let mut review: Value = from_body(body)?;
        Ok(Self {
            question: Arc::new(question),
            json: Arc::new(review["request"].take()),
            client,
        })
    }

    /// The operation: `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    #[must_use]
    pub fn operation(&self) -> &str {
        &self.question.operation
    }

    /// The plural of the resource, such as `pods`.
    #[must_use]
    pub fn resource(&self) -> &str {
        self.json["resource"]["resource"]
            .as_str()
            .unwrap_or_default()
    }

    /// The subresource, such as `exec`; `None` for the object itself.
    #[must_use]
    pub fn sub_resource(&self) -> Option<&str> {
        Some(&*self.question.sub_resource).filter(|name| !name.is_empty())
    }

    /// The namespace; `None` for a cluster-scoped resource.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        Some(&*self.question.namespace).filter(|namespace| !namespace.is_empty())
    }

    /// The name; empty if the API server is yet to generate it from `generateName`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.question.name
    }

    /// The user who sent the request.
    #[must_use]
    pub fn user(&self) -> &User {
        &self.question.user_info
    }

    /// Whether this is a dry run: nothing is stored, so the webhook must have no side effects.
    #[must_use]
    pub fn dry_run(&self) -> bool {
        self.question.dry_run.unwrap_or_default()
    }

    /// The object in the request; null on `DELETE`. It need not be of the kind of the resource: for `pods/exec` it is
    /// a `PodExecOptions`, for `deployments/scale` a `Scale`.
    #[must_use]
    pub fn object(&self) -> &Value {
        &self.json["object"]
    }

    /// The stored object; null on `CREATE` and `CONNECT`.
    #[must_use]
    pub fn old_object(&self) -> &Value {
        &self.json["oldObject"]
    }

    /// The whole request: the field `request` of the `AdmissionReview` of `admission.k8s.io/v1`.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// A client of the API server. Its requests take time, and the API server waits for the webhook meanwhile.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }
}

/// A webhook that answers with the verdict of `review`.
pub(super) fn reviewing<F, R>(review: F) -> Webhook
where
    F: Fn(AdmissionRequest) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Allowed, Rejection>> + Send + 'static,
{
    let review = Arc::new(review);
    Arc::new(move |body, client, metrics| {
        let review = review.clone();
        Box::pin(async move {
            let cost = body.cost(0);
            if cost > MOST {
                return too_large(&body, cost, &metrics);
            }
            let request = match AdmissionRequest::read(&body, client) {
                Ok(request) => request,
                Err(problem) => return not_a_review(&problem),
            };
            drop(body);
            let question = request.question.clone();
            // The call itself is user code, too.
            let verdict = guarded(async { review(request).await }).await;
            reply(&question, verdict, &metrics)
        })
    })
}

fn not_a_review(problem: &str) -> Reply {
    let problem = format!("not a review: {problem}\n");
    Reply::text(StatusCode::BAD_REQUEST, problem)
}

/// Rejects a request that would take too much memory.
fn too_large(body: &[u8], cost: usize, metrics: &WebhookMetrics) -> Reply {
    let rejection = Rejection::bad_request(format!(
        "the request would take about {} MiB of memory, and at most {} are used for one",
        cost >> 20,
        MOST >> 20
    ));
    match Question::<IgnoredAny>::read(body) {
        Ok(question) => reply(&question, Err(rejection), metrics),
        Err(problem) => not_a_review(&problem),
    }
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
        let message =
            "the request would take about 73 MiB of memory, and at most 64 are used for one";
        check_rejected(&admit(&request).await, message);
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
