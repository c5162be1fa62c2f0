//! Where the webhooks of an operator are asked about the writes of clients.

mod conditions;
mod configured;
mod hooks;
mod webhooks;

use std::collections::BTreeMap;

use hyper::{
    Method, Response,
    header::{HeaderValue, WARNING},
};
use serde_json::{Value, json};

use self::webhooks::Rejection;
pub use self::webhooks::{OPERATOR, USER};
pub use self::{
    configured::Configured,
    hooks::{Hook, HookAnswer, Hooks},
    webhooks::Webhooks,
};
use crate::{
    ApiServer,
    content::{Content, response},
    server::{Call, Path},
};

/// Who reviews writes.
#[derive(Clone)]
pub enum Reviewers {
    /// Webhooks whose configurations are known.
    Configured(Webhooks),
    /// Webhooks whose configurations are among the stored objects.
    Registered(Hooks),
}

impl std::fmt::Debug for Reviewers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reviewers")
    }
}

impl ApiServer {
    /// The webhooks that are asked about writes at this path, if there are any.
    #[must_use]
    pub fn webhooks(&self, path: &Path) -> Option<Webhooks> {
        let webhooks = match self.reviewers()? {
            Reviewers::Configured(webhooks) => webhooks,
            Reviewers::Registered(hooks) => {
                let are_configurations =
                    |path: &Path| path.plural.ends_with("webhookconfigurations");
                let stored = self.change_quietly(|objects| objects.all(are_configurations));
                Webhooks::new(hooks, &Configured::all(&stored)).0
            }
        };
        let others = self.change_quietly(|objects| objects.other_versions(path));
        webhooks.concern(path, &others).then_some(webhooks)
    }

    /// Answers a request that is not a watch, after webhooks have reviewed it if it is a write.
    pub async fn answer_reviewed(&self, call: &Call) -> Response<Content> {
        let webhooks = self.webhooks(&call.path);
        let Some(webhooks) = webhooks.filter(|_| call.method != Method::GET) else {
            return self.answer(call);
        };
        let mut warnings = Vec::new();
        let answer = if call.method == Method::DELETE && call.path.name.is_empty() {
            self.delete_reviewed(call, &webhooks, &mut warnings).await
        } else {
            let admitted = self.admitted(call, &call.path, &webhooks, &mut warnings);
            admitted.await.map(|call| self.answer(&call))
        };
        with_warnings(answer.unwrap_or_else(response), &warnings)
    }

    /// Deletes the objects that a request selects, until webhooks reject one of them.
    async fn delete_reviewed(
        &self,
        call: &Call,
        webhooks: &Webhooks,
        warnings: &mut Vec<String>,
    ) -> Result<Response<Content>, Rejection> {
        let list = self.answer(&Call {
            method: Method::GET,
            ..call.clone()
        });
        let selected = self.change_quietly(|objects| objects.paths_of(call));
        for path in selected.map_err(|error| error.body())? {
            let one = Call {
                path,
                query: BTreeMap::new(),
                ..call.clone()
            };
            // In these reviews, the object has no name.
            let admitted = self.admitted(&one, &call.path, webhooks, warnings);
            drop(self.answer(&admitted.await?));
        }
        Ok(list)
    }

    /// A request as webhooks have left it, which see this path.
    async fn admitted(
        &self,
        call: &Call,
        shown_as: &Path,
        webhooks: &Webhooks,
        warnings: &mut Vec<String>,
    ) -> Result<Call, Rejection> {
        let review = |call: &Call| {
            let reviewed = self.change_quietly(|objects| objects.review(call, shown_as));
            reviewed.map_err(|error| error.body())
        };
        let stored = || self.change_quietly(|objects| objects.whole(&call.path));
        loop {
            let mut first = review(&call.unasked())?;
            let (old, before) = (stored(), first.new.clone());
            webhooks
                .set_defaults(OPERATOR, &mut first, self, warnings)
                .await?;
            let changed = first.new.filter(|new| Some(new) != before.as_ref());
            let call = call.defaulted(changed);
            let second = review(&call)?;
            webhooks.validate(OPERATOR, &second, self, warnings).await?;
            // Meanwhile, someone may have written: the API server begins again.
            if stored() == old {
                return Ok(call.validated());
            }
        }
    }

    /// The labels of a namespace, which need not exist.
    fn labels_of_namespace(&self, name: &str) -> Value {
        let path = Path::parse(&format!("/api/v1/namespaces/{name}"));
        let found =
            path.and_then(|path| self.change_quietly(|objects| objects.get(&path).cloned()));
        let mut labels = found.unwrap_or_default()["metadata"]["labels"].take();
        labels["kubernetes.io/metadata.name"] = json!(name);
        labels
    }
}

/// Source: `k8s.io/apiserver/pkg/endpoints/filters/warning.go`.
fn with_warnings(mut response: Response<Content>, warnings: &[String]) -> Response<Content> {
    for warning in warnings {
        let text = format!("299 - {warning:?}");
        if let Ok(value) = HeaderValue::from_str(&text) {
            response.headers_mut().append(WARNING, value);
        }
    }
    response
}
