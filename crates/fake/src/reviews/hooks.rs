//! The webhooks that a server asks.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use hyper::StatusCode;
use serde_json::Value;

/// A webhook.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Its path: `/validate-pods`.
    pub path: String,
    /// Whether it sets defaults, or else validates; `None` if only its configuration says that.
    pub defaults: Option<bool>,
    /// Group, version and kind of its objects; `None` if it serves several kinds.
    pub kind: Option<[String; 3]>,
}

/// The status and body of a webhook's answer; `None` without an answer.
pub type HookAnswer = Option<(StatusCode, String)>;

type Ask = dyn Fn(String, Value) -> BoxFuture<'static, HookAnswer> + Send + Sync;

/// Webhooks, and how they are asked: without TLS, within the process.
#[derive(Clone)]
pub struct Hooks {
    pub(super) all: Vec<Hook>,
    pub(super) ask: Arc<Ask>,
}

impl Hooks {
    /// These webhooks. `ask` gets the path of one and an `AdmissionReview` of `admission.k8s.io/v1`.
    pub fn new(
        all: Vec<Hook>,
        ask: impl Fn(String, Value) -> BoxFuture<'static, HookAnswer> + Send + Sync + 'static,
    ) -> Self {
        let ask = Arc::new(ask);
        Self { all, ask }
    }
}
