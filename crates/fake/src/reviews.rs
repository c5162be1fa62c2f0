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
    server::{Call, ErrorResponse, Objects, Path},
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
            self.admitted(call, &call.path, &webhooks, &mut warnings)
                .await
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
            self.admitted(&one, &call.path, webhooks, warnings).await?;
        }
        Ok(list)
    }

    /// The answer to a write or a deletion, which webhooks see at this path, once they have admitted it.
    async fn admitted(
        &self,
        call: &Call,
        shown_as: &Path,
        webhooks: &Webhooks,
        warnings: &mut Vec<String>,
    ) -> Result<Response<Content>, Rejection> {
        let stored = || self.change_quietly(|objects| objects.whole(&call.path));
        if !call.is_write() {
            let deletion = self.change_quietly(|objects| objects.review_deletion(call, shown_as));
            let mut deletion = deletion.map_err(|error| error.body())?;
            webhooks
                .set_defaults(OPERATOR, &mut deletion, self, warnings)
                .await?;
            webhooks
                .validate(OPERATOR, &deletion, self, warnings)
                .await?;
            return Ok(self.answer(call));
        }
        loop {
            let old = stored();
            let (mut pending, mut first) = self.quietly(|objects| {
                let pending = objects.prepare(call)?;
                let reviewed = objects.review_pending(call, &pending);
                Ok((pending, reviewed))
            })?;
            let before = first.new.clone();
            webhooks
                .set_defaults(OPERATOR, &mut first, self, warnings)
                .await?;
            if let Some(changed) = first.new.filter(|new| Some(new) != before.as_ref()) {
                pending.change(changed);
            }
            let (checked, second) = self.quietly(|objects| {
                let checked = objects.check(call, &pending)?;
                let reviewed = objects.review_checked(call, &checked);
                Ok((checked, reviewed))
            })?;
            webhooks.validate(OPERATOR, &second, self, warnings).await?;
            // Meanwhile, someone may have written: the API server begins again.
            if stored() == old {
                let answer = self.change(|objects| objects.commit(call, checked));
                return Ok(response(answer.unwrap_or_else(|error| error.body())));
            }
        }
    }

    /// Reads what is stored.
    fn quietly<R>(
        &self,
        read: impl FnOnce(&Objects) -> Result<R, ErrorResponse>,
    ) -> Result<R, Rejection> {
        let read = self.change_quietly(|objects| read(objects));
        read.map_err(|error| error.body())
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
