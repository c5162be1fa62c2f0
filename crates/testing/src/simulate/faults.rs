//! What an API server that does not do what it is asked for answers, and how a leader loses its Lease.

use hyper::{Response, StatusCode, header::RETRY_AFTER};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tower::BoxError;

use crate::server::{Content, response};

/// How a request is refused, or its answer lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Refusal {
    /// Another writer was faster.
    Conflict,
    /// The same, again and again.
    Conflicts,
    #[serde(rename = "429")]
    TooManyRequests,
    #[serde(rename = "500")]
    InternalError,
    #[serde(rename = "503")]
    Unavailable,
    #[serde(rename = "504")]
    Timeout,
    /// The write is stored in spite of the error.
    #[serde(rename = "504-applied")]
    TimeoutApplied,
    /// The connection is cut before the request is sent.
    Unsent,
    /// The write is stored, and then the connection is cut.
    Unanswered,
}

impl Refusal {
    pub(super) const ALL: [Self; 9] = [
        Self::Unanswered,
        Self::Conflict,
        Self::TimeoutApplied,
        Self::Unavailable,
        Self::TooManyRequests,
        Self::Unsent,
        Self::InternalError,
        Self::Timeout,
        Self::Conflicts,
    ];

    /// The answer of a request that is not done; `None` if it is.
    pub(super) fn unapplied(self) -> Option<Result<Response<Content>, BoxError>> {
        let (code, reason) = match self {
            Self::Conflict | Self::Conflicts | Self::TimeoutApplied | Self::Unanswered => {
                return None;
            }
            Self::Unsent => return Some(Err("the connection was closed".into())),
            Self::TooManyRequests => (StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"),
            Self::InternalError => (StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
            Self::Timeout => (StatusCode::GATEWAY_TIMEOUT, "Timeout"),
        };
        let mut answer = error(code, reason);
        if self == Self::TooManyRequests {
            answer.headers_mut().insert(RETRY_AFTER, 1.into());
        }
        Some(Ok(answer))
    }
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

/// What happens to the leader at a write. The other replica leads once the Lease has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Failover {
    /// Its process ends once the write is stored.
    Ended,
    /// The same, but it releases the Lease; and the other replica has filled its caches before, but the connections of its
    /// watches are dead.
    EndedWarm,
    /// Its Lease is not renewed, but it may write.
    Unrenewed,
    /// None of its requests arrives, nor does this write.
    CutOff,
    /// The same, but this write arrives after the other replica has begun to lead.
    LateWrite,
}

impl Failover {
    pub(super) const ALL: [Self; 5] = [
        Self::EndedWarm,
        Self::LateWrite,
        Self::Ended,
        Self::Unrenewed,
        Self::CutOff,
    ];
}
