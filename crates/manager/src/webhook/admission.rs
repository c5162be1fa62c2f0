//! Calls defaulters and validators with the objects of admission reviews.

use std::{fmt::Display, sync::Arc};

use kube::Client;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{
    patch::changes,
    read::{self, Review, Unreadable},
    rejection::{Rejection, guarded},
    reply::{Allowed, reply, unread},
    request::{Operation, Reads, Request},
    review::{GroupVersionKind, Question},
    serve::{Call, Webhook},
    traits::{Defaulter, Validator},
    turn::Turn,
};
use crate::{
    cache::object::Object,
    parse::{self, Error},
    servers::{body::Body, http::Reply},
};

/// A webhook that answers with the changes of `defaulter`.
pub(crate) fn defaulting<K: Object>(defaulter: impl Defaulter<K>, reads: Reads) -> Webhook {
    let defaulter = Arc::new(defaulter);
    Arc::new(move |call| {
        let (defaulter, reads) = (defaulter.clone(), reads.clone());
        Box::pin(async move {
            let (mut review, turn) = match read::<K>(&call).await {
                Ok(read) => read,
                Err(reply) => return reply,
            };
            let verdict = default(&*defaulter, &mut review, &call, reads, turn).await;
            reply(&review.question, verdict, &call.metrics)
        })
    })
}

/// A webhook that answers with the verdict of `validator`.
pub(crate) fn validating<K: Object>(validator: impl Validator<K>, reads: Reads) -> Webhook {
    let validator = Arc::new(validator);
    Arc::new(move |call| {
        let (validator, reads) = (validator.clone(), reads.clone());
        Box::pin(async move {
            let (mut review, _turn) = match read::<K>(&call).await {
                Ok(read) => read,
                Err(reply) => return reply,
            };
            if let Some(Unreadable::Old(problem) | Unreadable::Both(problem)) = &review.unreadable {
                call.metrics.unreadable();
                let (kind, question) = (K::kind(&()), &review.question);
                let (namespace, name) = (&question.namespace, &question.name);
                tracing::warn!(error = problem, %kind, namespace, name, "cannot read a stored object");
            }
            let verdict = validate(&*validator, &mut review, call.client.clone(), reads).await;
            reply(&review.question, verdict, &call.metrics)
        })
    })
}

/// Reads a review in its turn.
async fn read<K: Object>(call: &Call) -> Result<(Review<K>, Turn), Reply> {
    let body = call.body.clone();
    let read = move |most| read::read::<K>(&body, most);
    match call.turns.parse(call.body.len(), read).await {
        (Ok(review), turn) => Ok((review, turn)),
        (Err(error), _) => Err(unread(call, &error)),
    }
}

/// The patch with the changes of `defaulter`.
async fn default<K: Object>(
    defaulter: &impl Defaulter<K>,
    review: &mut Review<K>,
    call: &Call,
    reads: Reads,
    turn: Turn,
) -> Result<Allowed, Rejection> {
    let question = &mut review.question;
    kind_of::<K>(&question.kind)?;
    let cx = Request::new(question, call.client.clone(), reads)?;
    if cx.operation == Operation::Delete {
        return Ok(Allowed::default());
    }
    match &review.unreadable {
        Some(Unreadable::New(problem)) => return Err(cannot_read(problem)),
        Some(Unreadable::Both(problem)) => return Ok(unvalidated(problem)),
        Some(Unreadable::Old(_)) | None => {}
    }
    let object = question.object.take().ok_or_else(no_object)?;
    let length = call.body.len();
    let written = turn.spend(move || (parse::to_string(&object, length), object));
    let (before, mut object) = written.await;
    let before = before.map_err(unwritten)?;
    guarded(defaulter.default(&mut object, &cx)).await?;
    drop(cx);
    let body = call.body.clone();
    let patch = turn.spend(move || {
        let after = parse::to_string(&object, before.len())?;
        // Nothing more is done with it, and it may be large.
        drop(object);
        patch(&body, &before, &after)
    });
    Ok(Allowed::patched(patch.await.map_err(unwritten)?))
}

fn unwritten(error: Error) -> Rejection {
    match error {
        Error::TooLarge(problem) => Rejection::too_large(problem),
        Error::Invalid(error) => error.into(),
    }
}

/// The patch of the object as it was sent.
fn patch(body: &Body, before: &str, after: &str) -> Result<String, Error> {
    let question = Question::<&RawValue, IgnoredAny>::read(body, usize::MAX)?;
    changes(question.object.map_or("{}", RawValue::get), before, after)
}

async fn validate<K: Object>(
    validator: &impl Validator<K>,
    review: &mut Review<K>,
    client: Client,
    reads: Reads,
) -> Result<Allowed, Rejection> {
    let question = &mut review.question;
    kind_of::<K>(&question.kind)?;
    let cx = Request::new(question, client, reads)?;
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
