//! Calls defaulters and validators with the objects of admission reviews.

use std::{fmt::Display, sync::Arc};

use hyper::StatusCode;
use kube::Client;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;

use super::{
    panic_handler::guarded,
    patch::changes,
    read::{self, Review, Unreadable},
    rejection::Rejection,
    reply::{Allowed, reply},
    request::{Operation, Request},
    review::{GroupVersionKind, Question},
    serve::Webhook,
    traits::{Defaulter, Validator},
};
use crate::{
    cache::{object::Object, reader::Reader},
    metrics::WebhookMetrics,
    servers::{body::Body, http::Reply},
};

/// A webhook that answers with the changes of `defaulter`.
pub(super) fn defaulting<K: Object>(defaulter: impl Defaulter<K>, reader: Reader) -> Webhook {
    let defaulter = Arc::new(defaulter);
    Arc::new(move |body, client, metrics| {
        let (defaulter, reads) = (defaulter.clone(), (client, reader.clone()));
        Box::pin(async move {
            let body = Arc::new(body);
            let mut review = match read::<K, IgnoredAny>(&body, &metrics) {
                Ok(review) => review,
                Err(reply) => return reply,
            };
            let verdict = default(&*defaulter, &mut review, &body, reads).await;
            reply(&review.question, verdict, &metrics)
        })
    })
}

/// A webhook that answers with the verdict of `validator`.
pub(super) fn validating<K: Object>(validator: impl Validator<K>, reader: Reader) -> Webhook {
    let validator = Arc::new(validator);
    Arc::new(move |body, client, metrics| {
        let (validator, reads) = (validator.clone(), (client, reader.clone()));
        Box::pin(async move {
            let mut review = match read::<K, K>(&body, &metrics) {
                Ok(review) => review,
                Err(reply) => return reply,
            };
            let verdict = validate(&*validator, &mut review, reads).await;
            reply(&review.question, verdict, &metrics)
        })
    })
}

/// Reads a review, and reports a stored object that cannot be read.
fn read<K: Object, O: DeserializeOwned>(
    body: &[u8],
    metrics: &WebhookMetrics,
) -> Result<Review<K, O>, Reply> {
    let review = read::read::<K, O>(body).map_err(|problem| {
        let problem = format!("not a review: {problem}\n");
        Reply::text(StatusCode::BAD_REQUEST, problem)
    })?;
    if let Some(Unreadable::Old(problem) | Unreadable::Both(problem)) = &review.unreadable {
        metrics.unreadable();
        let (kind, question) = (K::kind(&()), &review.question);
        let (namespace, name) = (&question.namespace, &question.name);
        tracing::warn!(error = problem, %kind, namespace, name, "cannot read a stored object");
    }
    Ok(review)
}

/// The patch with the changes of `defaulter`.
async fn default<K: Object>(
    defaulter: &impl Defaulter<K>,
    review: &mut Review<K, IgnoredAny>,
    body: &Arc<Body>,
    reads: (Client, Reader),
) -> Result<Allowed, Rejection> {
    let question = &mut review.question;
    kind_of::<K>(&question.kind)?;
    let stored = body.clone();
    let old = move || Question::<IgnoredAny, K>::read(&stored).ok()?.old_object;
    let cx = Request::new(question, reads, old)?;
    if cx.operation == Operation::Delete {
        return Ok(Allowed::patched(Vec::new()));
    }
    match &review.unreadable {
        Some(Unreadable::New(problem)) => return Err(cannot_read(problem)),
        Some(Unreadable::Both(problem)) => return Ok(unvalidated(problem)),
        Some(Unreadable::Old(_)) | None => {}
    }
    let mut object = question.object.take().ok_or_else(no_object)?;
    let before = serde_json::to_string(&object)?;
    guarded(defaulter.default(&mut object, &cx)).await?;
    let after = serde_json::to_string(&object)?;
    // Nothing more is done with it, and it may be large.
    drop(object);
    // The object as it was sent, because the patch must apply to that.
    let raw = Question::<&RawValue, IgnoredAny>::read(body).map_err(cannot_read)?;
    let raw = raw.object.map_or("{}", RawValue::get);
    let steps = changes(raw, &before, &after).map_err(cannot_read)?;
    Ok(Allowed::patched(steps))
}

async fn validate<K: Object>(
    validator: &impl Validator<K>,
    review: &mut Review<K, K>,
    reads: (Client, Reader),
) -> Result<Allowed, Rejection> {
    let question = &mut review.question;
    kind_of::<K>(&question.kind)?;
    let old = question.old_object.take();
    let cx = Request::new(question, reads, || old)?;
    let object = question.object.take();
    let unreadable = match &review.unreadable {
        Some(Unreadable::New(problem)) => return Err(cannot_read(problem)),
        Some(Unreadable::Both(problem)) => return Ok(unvalidated(problem)),
        Some(Unreadable::Old(problem)) => Some(problem),
        None => None,
    };
    guarded(async {
        match (cx.operation, &object, cx.old(), unreadable) {
            (Operation::Create, Some(object), ..) => validator.validate_create(object, &cx).await,
            (Operation::Update, Some(object), Some(old), _) => {
                validator.validate_update(old, object, &cx).await
            }
            (Operation::Update, Some(object), None, Some(problem)) => {
                let mut warnings = validator.validate_create(object, &cx).await?;
                let what = "so this one was validated as if it were new";
                warnings.push(format!(
                    "the stored object cannot be read, {what}: {problem}"
                ));
                Ok(warnings)
            }
            (Operation::Delete, _, Some(old), _) => validator.validate_delete(old, &cx).await,
            (Operation::Delete, _, None, Some(problem)) => {
                let what = "so its deletion was not validated";
                Ok(vec![format!(
                    "the stored object cannot be read, {what}: {problem}"
                )])
            }
            _ => Err(no_object()),
        }
    })
    .await
    .map(Allowed::warning)
}

/// The answer for an update that changes only the metadata of an unreadable object.
fn unvalidated(problem: &str) -> Allowed {
    Allowed::warning(vec![format!(
        "the object cannot be read, so it was not validated: {problem}"
    )])
}

/// Checks that objects of this kind are a `K`.
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
