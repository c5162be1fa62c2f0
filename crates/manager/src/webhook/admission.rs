//! Asks defaulters and validators what the API server asks.

use std::{fmt::Display, sync::Arc};

use hyper::StatusCode;
use kube::Client;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{
    panic_handler::guarded,
    patch::{Fields, changes, lines},
    rejection::Rejection,
    request::{Operation, Request},
    review::{Answer, GroupVersionKind, Question},
    serve::Webhook,
    traits::{Defaulter, Validator, Warnings},
};
use crate::{cache::object::Object, metrics::WebhookMetrics, servers::http::Reply};

/// Answers with what `defaulter` changes.
pub(super) fn defaulting<K: Object>(defaulter: impl Defaulter<K>) -> Webhook {
    let defaulter = Arc::new(defaulter);
    Arc::new(move |body, client, metrics| {
        let defaulter = defaulter.clone();
        Box::pin(async move {
            let mut question = match read::<K>(&body, &metrics) {
                Ok(question) => question,
                Err(reply) => return reply,
            };
            let steps = default(&*defaulter, &mut question, &body, client).await;
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
            let mut question = match read::<K>(&body, &metrics) {
                Ok(question) => question,
                Err(reply) => return reply,
            };
            let warnings = validate(&*validator, &mut question, client).await;
            let answer = |uid, warnings| Answer {
                warnings,
                ..Answer::allowed(uid)
            };
            reply::<K, _, _>(question, warnings, answer, &metrics)
        })
    })
}

/// Reads a review in one go; in two only if that fails, to say what is wrong with the object.
fn read<K: Object>(body: &[u8], metrics: &WebhookMetrics) -> Result<Question<K>, Reply> {
    Question::<K>::read(body).map_err(|problem| {
        let Ok(question) = Question::<IgnoredAny>::read(body) else {
            let problem = format!("not a review: {problem}\n");
            return Reply::text(StatusCode::BAD_REQUEST, problem);
        };
        let rejection = kind_of::<K>(&question.kind).err();
        let rejection = rejection.unwrap_or_else(|| cannot_read(&problem));
        reply::<K, _, _>(
            question,
            Err(rejection),
            |uid, ()| Answer::allowed(uid),
            metrics,
        )
    })
}

/// The steps of the patch that makes the changes of `defaulter`.
async fn default<K: Object>(
    defaulter: &impl Defaulter<K>,
    question: &mut Question<K>,
    body: &[u8],
    client: Client,
) -> Result<Vec<Value>, Rejection> {
    kind_of::<K>(&question.kind)?;
    let mut cx = Request::new(question, client)?;
    if cx.operation == Operation::Delete {
        return Ok(Vec::new());
    }
    let mut object = question.object.take().ok_or_else(no_object)?;
    cx.old = question.old_object.take();
    let before = lines(&object)?;
    guarded(defaulter.default(&mut object, &cx)).await?;
    let after = lines(&object)?;
    if before == after {
        return Ok(Vec::new());
    }
    // Read once more as it was sent, which the patch must fit.
    let raw = Question::<Fields<'_>>::read(body).map_err(cannot_read)?;
    let raw = raw.object.unwrap_or_default();
    changes(&raw, &before, &after).map_err(cannot_read)
}

async fn validate<K: Object>(
    validator: &impl Validator<K>,
    question: &mut Question<K>,
    client: Client,
) -> Result<Warnings, Rejection> {
    kind_of::<K>(&question.kind)?;
    let mut cx = Request::new(question, client)?;
    let object = question.object.take();
    cx.old = question.old_object.take();
    guarded(async {
        match (cx.operation, &object, &cx.old) {
            (Operation::Create, Some(object), _) => validator.validate_create(object, &cx).await,
            (Operation::Update, Some(object), Some(old)) => {
                validator.validate_update(old, object, &cx).await
            }
            (Operation::Delete, _, Some(old)) => validator.validate_delete(old, &cx).await,
            _ => Err(no_object()),
        }
    })
    .await
}

/// Whether objects of this kind are a `K`.
fn kind_of<K: Object>(kind: &GroupVersionKind) -> Result<(), Rejection> {
    let own = GroupVersionKind::of::<K>();
    if own == *kind {
        return Ok(());
    }
    let text = |kind: &GroupVersionKind| {
        let slash = if kind.group.is_empty() { "" } else { "/" };
        format!("`{}` of `{}{slash}{}`", kind.kind, kind.group, kind.version)
    };
    Err(Rejection::bad_request(format!(
        "this webhook is for {}, not for {}",
        text(&own),
        text(kind)
    )))
}

fn no_object() -> Rejection {
    Rejection::bad_request("the review holds no object")
}

fn cannot_read(problem: impl Display) -> Rejection {
    Rejection::bad_request(format!("cannot read the object: {problem}"))
}

/// The answer to `question`: the one that `allowed` makes of the verdict, or a rejection.
fn reply<K: Object, T, V>(
    question: Question<T>,
    verdict: Result<V, Rejection>,
    allowed: impl FnOnce(String, V) -> Answer,
    metrics: &WebhookMetrics,
) -> Reply {
    let answer = match verdict {
        Ok(verdict) => allowed(question.uid, verdict),
        Err(rejection) => {
            let name = &question.name;
            if let Some(failure) = rejection.failure() {
                let (kind, namespace) = (K::kind(&()), &question.namespace);
                tracing::error!(error = failure, %kind, namespace, name, "webhook failed");
            }
            if rejection.is_panic() {
                metrics.panicked();
            }
            let status = rejection.status(&K::group(&()), &K::kind(&()), name);
            Answer::refused(question.uid, status)
        }
    };
    Reply::json(answer.review())
}
