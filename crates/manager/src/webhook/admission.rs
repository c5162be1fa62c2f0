//! Calls defaulters and validators with the objects of admission reviews.

use std::{fmt::Display, sync::Arc};

use hyper::StatusCode;
use kube::Client;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, value::RawValue};

use super::{
    changes::changes,
    charged,
    panic_handler::guarded,
    read::{self, Review, Unreadable},
    rejection::Rejection,
    reply::{Allowed, reply, too_large},
    request::{Operation, Request},
    review::{GroupVersionKind, Question},
    serve::{Call, Webhook},
    traits::{Defaulter, Validator},
};
use crate::{
    cache::{object::Object, reader::Reader},
    servers::{budget::Budget, http::Reply},
};

/// A webhook that answers with the changes of `defaulter`.
pub(super) fn defaulting<K: Object>(defaulter: impl Defaulter<K>, reader: Reader) -> Webhook {
    let defaulter = Arc::new(defaulter);
    Arc::new(move |call| {
        let (defaulter, reader) = (defaulter.clone(), reader.clone());
        Box::pin(async move {
            let call = Arc::new(call);
            let mut review = match read::<K, IgnoredAny>(&call).await {
                Ok(review) => review,
                Err(reply) => return reply,
            };
            let verdict = default(&*defaulter, &mut review, &call, reader).await;
            if call.budget.exceeded() {
                return too_large(&call, &Budget::problem());
            }
            reply(&review.question, verdict, &call.metrics)
        })
    })
}

/// A webhook that answers with the verdict of `validator`.
pub(super) fn validating<K: Object>(validator: impl Validator<K>, reader: Reader) -> Webhook {
    let validator = Arc::new(validator);
    Arc::new(move |call| {
        let (validator, reads) = (validator.clone(), (call.client.clone(), reader.clone()));
        Box::pin(async move {
            let call = Arc::new(call);
            let mut review = match read::<K, K>(&call).await {
                Ok(review) => review,
                Err(reply) => return reply,
            };
            let verdict = validate(&*validator, &mut review, reads).await;
            reply(&review.question, verdict, &call.metrics)
        })
    })
}

/// Reads a review, and reports a stored object that cannot be read.
async fn read<K: Object, O: DeserializeOwned + Send + 'static>(
    call: &Arc<Call>,
) -> Result<Review<K, O>, Reply> {
    let Call { body, budget, .. } = call.as_ref();
    let (text, most) = (body.clone(), budget.clone());
    let review = budget.spend(move || read::read::<K, O>(&text, &most)).await;
    let review = review.map_err(|problem| {
        if call.budget.exceeded() {
            return too_large(call, &problem);
        }
        let problem = format!("not a review: {problem}\n");
        Reply::text(StatusCode::BAD_REQUEST, problem)
    })?;
    if let Some(Unreadable::Old(problem) | Unreadable::Both(problem)) = &review.unreadable {
        call.metrics.unreadable();
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
    call: &Arc<Call>,
    reader: Reader,
) -> Result<Allowed, Rejection> {
    let question = &mut review.question;
    kind_of::<K>(&question.kind)?;
    let (body, budget) = (call.body.clone(), call.budget.clone());
    let old = move || {
        let most = budget.clone();
        let read = move || Question::<IgnoredAny, K>::read(&body, &most);
        budget.spend_now(read).ok()?.old_object
    };
    let cx = Request::new(question, (call.client.clone(), reader), old)?;
    if cx.operation == Operation::Delete {
        return Ok(Allowed::patched(Vec::new()));
    }
    match &review.unreadable {
        Some(Unreadable::New(problem)) => return Err(cannot_read(problem)),
        Some(Unreadable::Both(problem)) => return Ok(unvalidated(problem)),
        Some(Unreadable::Old(_)) | None => {}
    }
    let object = question.object.take().ok_or_else(no_object)?;
    let read = call.budget.used();
    let most = call.clone();
    let before = move || {
        (
            charged::to_string(&object, most.body.len(), &most.budget),
            object,
        )
    };
    let (before, mut object) = call.budget.spend(before).await;
    let before = before?;
    guarded(defaulter.default(&mut object, &cx)).await?;
    let most = call.clone();
    let steps = call.budget.spend(move || {
        let after = charged::to_string(&object, before.len(), &most.budget)?;
        // Nothing more is done with it, and it may be large.
        drop(object);
        most.budget.free(read);
        steps(&most, &before, &after)
    });
    Ok(Allowed::patched(steps.await?))
}

/// The changes of an object, as the steps of a patch of the object as it was sent.
fn steps(call: &Call, before: &str, after: &str) -> Result<Vec<Value>, Rejection> {
    let question = Question::<&RawValue, IgnoredAny>::read(&call.body, &call.budget);
    let raw = question.map_err(cannot_read)?.object;
    let raw = raw.map_or("{}", RawValue::get);
    changes(raw, before, after, &call.budget).map_err(cannot_read)
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
