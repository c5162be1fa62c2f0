//! The answers of an API server that does not do what it is asked for, and the other writers that it prefers.

use hyper::{Response, StatusCode};
use serde_json::json;
use tower::BoxError;

use super::{plan::Refusal, replica::Replica, state::TOUCHED, trace::Happened};
use crate::{
    content::{Content, response},
    server::Path,
};

/// For how many writes someone else is faster. The library gives up earlier.
const CONFLICTS: usize = 6;

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

impl Replica {
    /// From now on, someone else changes an object before each write.
    pub(super) fn contend(&self, path: &Path) {
        self.wire.lock().contended = Some((path.object(), CONFLICTS));
    }

    /// Changes an object if someone else does so before each write.
    pub(super) fn interfere(&self, path: &Path) {
        let is_contended = match &mut self.wire.lock().contended {
            Some((contended, left)) if *contended == path.object() && *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        };
        if is_contended {
            self.touch(path);
        }
    }

    /// Changes an object as another writer does, so that the operator's version is out of date.
    pub(super) fn touch(&self, path: &Path) {
        let object = path.object();
        let changed = self.wire.0.api.change(|objects| {
            let mut found = objects.get(&object)?.clone();
            found["metadata"]["annotations"][TOUCHED] = json!(objects.version().to_string());
            objects.put(&object, found);
            Some(())
        });
        if changed.is_some() {
            let what = format!("someone else annotates {object}");
            self.wire.tell(Happened::Fault(what));
        }
    }
}
