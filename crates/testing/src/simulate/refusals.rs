//! The answers of an API server that does not do what it is asked for.

use hyper::{Response, StatusCode};
use serde_json::json;
use tower::BoxError;

use super::plan::Refusal;
use crate::server::{Content, response};

/// The answer of a request that is not done; `None` if it is.
pub(super) fn unapplied(refusal: Refusal) -> Option<Result<Response<Content>, BoxError>> {
    let (code, reason) = match refusal {
        Refusal::Conflict | Refusal::Conflicts | Refusal::TimeoutApplied | Refusal::Unanswered => {
            return None;
        }
        Refusal::Unsent => return Some(Err("the connection was closed".into())),
        Refusal::TooManyRequests => (StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"),
        Refusal::InternalError => (StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
        Refusal::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
        Refusal::Timeout => (StatusCode::GATEWAY_TIMEOUT, "Timeout"),
    };
    let mut answer = error(code, reason);
    if refusal == Refusal::TooManyRequests {
        answer
            .headers_mut()
            .insert(hyper::header::RETRY_AFTER, 1.into());
    }
    Some(Ok(answer))
}

pub(super) fn error(code: StatusCode, reason: &str) -> Response<Content> {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "metadata": {},
        "code": code.as_u16(), "reason": reason, "message": "a fault of the simulation",
    });
    response((code, status))
}

pub(super) fn status(response: &Response<Content>) -> String {
    response.status().to_string()
}
