//! `/metrics`, for those whom the cluster allows to read it.

use std::sync::Arc;

use hyper::{Method, StatusCode, header::AUTHORIZATION};
use kube::Client;
use serde_json::{Value, json};

use crate::{
    error::chain,
    metrics::{MEDIA_TYPE, Metrics},
    request,
    server::{Handler, Reply, Request},
};

/// Serves the metrics; with a client, to those only who may `get` the path, which it asks the API server.
pub(crate) fn handler(metrics: Metrics, guard: Option<Client>) -> Handler {
    Arc::new(move |request| {
        let (metrics, guard) = (metrics.clone(), guard.clone());
        Box::pin(async move { answer(&request, &metrics, guard).await })
    })
}

async fn answer(request: &Request, metrics: &Metrics, guard: Option<Client>) -> Reply {
    if let Some(client) = guard {
        match allowed(&client, request).await {
            Ok(StatusCode::OK) => {}
            Ok(status) => return Reply::status(status),
            Err(error) => {
                tracing::warn!(error = chain(&error), "cannot ask who may read the metrics");
                return Reply::status(StatusCode::INTERNAL_SERVER_ERROR);
            }
        }
    }
    if request.uri().path() != "/metrics" {
        return Reply::status(StatusCode::NOT_FOUND);
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Reply::status(StatusCode::METHOD_NOT_ALLOWED);
    }
    match metrics.text() {
        Ok(body) => Reply {
            status: StatusCode::OK,
            media_type: MEDIA_TYPE,
            body,
        },
        Err(_) => Reply::status(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Whether the caller may: 200, 401 without a token that the cluster knows, or 403.
async fn allowed(client: &Client, request: &Request) -> kube::Result<StatusCode> {
    let token = request
        .headers
        .get(AUTHORIZATION)
        .and_then(|header| header.to_str().ok());
    let Some(token) = token.and_then(|header| header.strip_prefix("Bearer ")) else {
        return Ok(StatusCode::UNAUTHORIZED);
    };
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token},
    });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let who = request::post(client, path, &review).await?;
    if who["status"]["authenticated"] != Value::Bool(true) {
        return Ok(StatusCode::UNAUTHORIZED);
    }
    let user = &who["status"]["user"];
    let verb = request.method().as_str().to_lowercase();
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "nonResourceAttributes": {"path": request.uri().path(), "verb": verb},
            "user": user["username"], "uid": user["uid"],
            "groups": user["groups"], "extra": user["extra"],
        },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let may = request::post(client, path, &review).await?;
    let allowed = may["status"]["allowed"] == Value::Bool(true);
    Ok(if allowed {
        StatusCode::OK
    } else {
        StatusCode::FORBIDDEN
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeApi;

    async fn status(guard: Option<Client>, method: &str, path: &str, token: Option<&str>) -> u16 {
        let mut request = hyper::Request::builder().method(method).uri(path);
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, token);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let reply = answer(&parts.into(), &Metrics::new(), guard).await;
        reply.status.as_u16()
    }

    #[tokio::test]
    async fn without_a_guard_everybody_may_read_the_metrics_and_nothing_else() {
        assert_eq!(status(None, "GET", "/metrics", None).await, 200);
        assert_eq!(status(None, "POST", "/metrics", None).await, 405);
        assert_eq!(status(None, "GET", "/", None).await, 404);
    }

    #[tokio::test]
    async fn without_a_token_that_the_cluster_knows_nobody_may() {
        let api = FakeApi::new();
        for token in [None, Some("Basic eDp5"), Some("Bearer unknown")] {
            assert_eq!(
                status(Some(api.client()), "GET", "/metrics", token).await,
                401
            );
        }
        // Only the last was worth a question.
        assert_eq!(
            api.requests(),
            ["POST /apis/authentication.k8s.io/v1/tokenreviews"]
        );
    }
}
