//! Asks defaulters and validators what the API server asks.

use std::sync::Arc;

use hyper::StatusCode;
use kube::Client;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::{
    Defaulter, Validator, Warnings,
    guard::guarded,
    patch::patch,
    refusal::Refusal,
    request::{Operation, Request},
    review::{Answer, GroupVersionKind, Question},
    serve::Webhook,
};
use crate::{metrics::WebhookMetrics, object::Object, server::Reply};

/// Answers with what `defaulter` changes.
pub(super) fn defaulting<K: Object>(defaulter: impl Defaulter<K>) -> Webhook {
    let defaulter = Arc::new(defaulter);
    Arc::new(move |body, client, metrics| {
        let defaulter = defaulter.clone();
        Box::pin(async move {
            // As it was sent: the patch must fit that.
            let mut question = match Question::<Value>::read(&body) {
                Ok(question) => question,
                Err(problem) => return not_a_review(&problem),
            };
            let steps = default(defaulter, &mut question, client).await;
            let answer = |uid, steps: Vec<Value>| Answer::allowed(uid).with_patch(&steps);
            reply::<K, _, _>(question, steps, answer, &metrics)
        })
    })
}

/// Answers with what `validator` says.
pub(super) fn validating<K: Object>(validator: impl Validator<K>) -> Webhook {
    let validator = Arc::new(validator);
    Arc::new(move |body, client, metrics| {
        let validator = validator.clone();
        Box::pin(async move {
            let answer = |uid, warnings| Answer {
                warnings,
                ..Answer::allowed(uid)
            };
            // In one go; in two only if that fails, to say what was wrong with the object.
            let problem = match Question::<K>::read(&body) {
                Ok(mut question) => {
                    let warnings = validate(validator, &mut question, client).await;
                    return reply::<K, _, _>(question, warnings, answer, &metrics);
                }
                Err(problem) => problem,
            };
            let Ok(question) = Question::<IgnoredAny>::read(&body) else {
                return not_a_review(&problem);
            };
            let refusal = kind_of::<K>(&question.kind).err();
            let refusal = refusal.unwrap_or_else(|| Refusal::bad_request(problem));
            reply::<K, _, _>(question, Err(refusal), answer, &metrics)
        })
    })
}

/// The steps of the patch that makes the changes of `defaulter`.
async fn default<K: Object>(
    defaulter: Arc<impl Defaulter<K>>,
    question: &mut Question<Value>,
    client: Client,
) -> Result<Vec<Value>, Refusal> {
    kind_of::<K>(&question.kind)?;
    let mut cx = Request::new(question, client)?;
    if cx.operation == Operation::Delete {
        return Ok(Vec::new());
    }
    let raw = question.object.take().unwrap_or_default();
    let mut object: K = read(&raw)?;
    cx.old = question.old_object.as_ref().map(read).transpose()?;
    let before = serde_json::to_value(&object)?;
    let object = guarded(async move {
        defaulter.default(&mut object, &cx).await?;
        Ok(object)
    });
    let after = serde_json::to_value(&object.await?)?;
    Ok(patch(&raw, &before, &after))
}

async fn validate<K: Object>(
    validator: Arc<impl Validator<K>>,
    question: &mut Question<K>,
    client: Client,
) -> Result<Warnings, Refusal> {
    kind_of::<K>(&question.kind)?;
    let mut cx = Request::new(question, client)?;
    let object = question.object.take();
    cx.old = question.old_object.take();
    guarded(async move {
        match (cx.operation, &object, &cx.old) {
            (Operation::Create, Some(object), _) => validator.validate_create(object, &cx).await,
            (Operation::Update, Some(object), Some(old)) => {
                validator.validate_update(old, object, &cx).await
            }
            (Operation::Delete, _, Some(old)) => validator.validate_delete(old, &cx).await,
            _ => Err(Refusal::bad_request("the review holds no object")),
        }
    })
    .await
}

/// Whether objects of this kind are a `K`.
fn kind_of<K: Object>(kind: &GroupVersionKind) -> Result<(), Refusal> {
    let own = GroupVersionKind::of::<K>();
    if own == *kind {
        return Ok(());
    }
    let text = |kind: &GroupVersionKind| {
        let slash = if kind.group.is_empty() { "" } else { "/" };
        format!("`{}` of `{}{slash}{}`", kind.kind, kind.group, kind.version)
    };
    Err(Refusal::bad_request(format!(
        "this webhook is for {}, not for {}",
        text(&own),
        text(kind)
    )))
}

fn read<'a, K: Deserialize<'a>>(value: &'a Value) -> Result<K, Refusal> {
    K::deserialize(value)
        .map_err(|error| Refusal::bad_request(format!("cannot read the object: {error}")))
}

fn not_a_review(problem: &str) -> Reply {
    Reply::text(StatusCode::BAD_REQUEST, format!("{problem}\n"))
}

/// The answer to `question`: the one that `allowed` makes of the verdict, or a refusal.
fn reply<K: Object, T, V>(
    question: Question<T>,
    verdict: Result<V, Refusal>,
    allowed: impl FnOnce(String, V) -> Answer,
    metrics: &WebhookMetrics,
) -> Reply {
    let answer = match verdict {
        Ok(verdict) => allowed(question.uid, verdict),
        Err(refusal) => {
            let name = &question.name;
            if let Some(failure) = refusal.failure() {
                let (kind, namespace) = (K::kind(&()), &question.namespace);
                tracing::error!(error = failure, %kind, namespace, name, "webhook failed");
            }
            if refusal.is_panic() {
                metrics.panicked();
            }
            let status = refusal.status(&K::group(&()), &K::kind(&()), name);
            Answer::refused(question.uid, status)
        }
    };
    Reply::json(answer.review())
}
