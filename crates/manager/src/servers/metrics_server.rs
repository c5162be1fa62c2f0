//! Serves `/metrics` to clients that are authorized in the cluster.

use std::sync::Arc;

use hyper::{Method, StatusCode, header::AUTHORIZATION};

use crate::{
    metrics::{MEDIA_TYPE, Metrics},
    servers::{
        access_reviews::Reviews,
        http::{Handler, Reply, Request},
    },
};

/// Serves the metrics. With `reviews`, only to clients that may `get` the path.
pub(crate) fn handler(metrics: Metrics, reviews: Option<Reviews>) -> Handler {
    let reviews = reviews.map(Arc::new);
    Arc::new(move |request| {
        let (metrics, reviews) = (metrics.clone(), reviews.clone());
        Box::pin(async move { answer(&request, &metrics, reviews.as_deref()).await })
    })
}

async fn answer(request: &Request, metrics: &Metrics, reviews: Option<&Reviews>) -> Reply {
    // No review is needed for a path that does not exist.
    if request.uri().path() != "/metrics" {
        return Reply::status(StatusCode::NOT_FOUND);
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Reply::status(StatusCode::METHOD_NOT_ALLOWED);
    }
    if let Some(reviews) = reviews {
        let status = match token(request) {
            Some(token) => reviews.ask(token, request.method(), "/metrics").await,
            None => StatusCode::UNAUTHORIZED,
        };
        if status != StatusCode::OK {
            return Reply::status(status);
        }
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

/// The bearer token of a request.
fn token(request: &Request) -> Option<&str> {
    let header = request.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeApi;

    async fn status(
        reviews: Option<&Reviews>,
        method: &str,
        path: &str,
        token: Option<&str>,
    ) -> u16 {
        let mut request = hyper::Request::builder().method(method).uri(path);
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, token);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let reply = answer(&parts.into(), &Metrics::new(), reviews).await;
        reply.status.as_u16()
    }

    #[tokio::test]
    async fn without_access_reviews_anyone_can_read_metrics_and_nothing_else() {
        assert_eq!(status(None, "GET", "/metrics", None).await, 200);
        assert_eq!(status(None, "POST", "/metrics", None).await, 405);
        assert_eq!(status(None, "GET", "/", None).await, 404);
    }

    #[tokio::test]
    async fn requests_without_a_valid_token_are_rejected() {
        let api = FakeApi::new();
        let reviews = Reviews::new(api.client()).unwrap();
        for token in [None, Some("Basic eDp5"), Some("Bearer"), Some("Bearer ")] {
            let status = status(Some(&reviews), "GET", "/metrics", token).await;
            assert_eq!(status, 401);
        }
        assert_eq!(api.requests(), [""; 0]);
        let token = Some("bearer unknown");
        assert_eq!(status(Some(&reviews), "GET", "/metrics", token).await, 401);
        let asked = ["POST /apis/authentication.k8s.io/v1/tokenreviews"];
        assert_eq!(api.requests(), asked);
    }
}
