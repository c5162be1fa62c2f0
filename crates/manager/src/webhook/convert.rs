//! Answers conversion reviews: the API server asks for objects in another version.

use std::sync::Arc;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    serve::{Call, Webhook},
    text::items,
    versions::Conversions,
};
use crate::{
    metrics::WebhookMetrics,
    panics::caught,
    servers::{budget::Budget, http::Reply},
};

/// The API version of the review and of the answer.
const VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(borrow)]
    request: Option<Question<'a>>,
}

#[derive(Deserialize)]
struct Question<'a> {
    #[serde(default)]
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired: String,
    /// A list, as text: its objects are read one at a time.
    #[serde(borrow)]
    objects: Option<&'a RawValue>,
}

/// A webhook that returns all objects of a review, in order and in the requested version, or none.
pub(super) fn converting(conversions: Conversions) -> Webhook {
    let conversions = Arc::new(conversions);
    Arc::new(move |call| {
        let (conversions, budget) = (conversions.clone(), call.budget.clone());
        Box::pin(async move { budget.spend(move || answer(&conversions, &call)).await })
    })
}

fn answer(conversions: &Conversions, call: &Call) -> Reply {
    let (budget, metrics) = (&call.budget, &call.metrics);
    let question = match read(&call.body) {
        Ok(question) => question,
        Err(problem) => return Reply::text(StatusCode::BAD_REQUEST, format!("{problem}\n")),
    };
    let converted = caught(|| convert(conversions, &question, budget, metrics));
    let converted = converted.unwrap_or_else(|panic| {
        metrics.conversion_panicked();
        Err(format!("panic: {panic}"))
    });
    let answer = converted.unwrap_or_else(|error| {
        if !budget.exceeded() {
            tracing::error!(error, desired = question.desired, "conversion failed");
        }
        let result = json!({ "status": "Failure", "message": error });
        let response = json!({ "uid": question.uid, "result": result });
        json!({ "apiVersion": VERSION, "kind": KIND, "response": response }).to_string()
    });
    Reply::json(answer)
}

/// The answer with all objects in the requested version, each converted after the other, so that only one is in memory
/// as more than text.
fn convert(
    conversions: &Conversions,
    question: &Question<'_>,
    budget: &Budget,
    metrics: &WebhookMetrics,
) -> Result<String, String> {
    let objects = question.objects.map_or("[]", RawValue::get);
    let mut answer = String::with_capacity(objects.len());
    let response = json!({ "uid": question.uid, "result": { "status": "Success" } });
    let review = json!({ "apiVersion": VERSION, "kind": KIND, "response": response }).to_string();
    // The objects go to the end of the response.
    answer.push_str(review.strip_suffix("}}").unwrap_or(&review));
    answer.push_str(",\"convertedObjects\":[");
    for (at, object) in items(objects).enumerate() {
        if at > 0 {
            answer.push(',');
        }
        let converted = conversions.convert(object, &question.desired, budget, metrics)?;
        grow(&mut answer, converted.len(), budget)?;
        answer += &converted;
    }
    answer.push_str("]}}");
    Ok(answer)
}

/// Makes room for this many more bytes of an answer. The room of its body has counted as many as that has.
fn grow(answer: &mut String, bytes: usize, budget: &Budget) -> Result<(), String> {
    if answer.len() + bytes <= answer.capacity() {
        return Ok(());
    }
    let more = bytes.max(answer.capacity() / 4);
    if !budget.charge(more) {
        return Err(Budget::problem());
    }
    answer.reserve_exact(more);
    Ok(())
}

fn read(body: &[u8]) -> Result<Question<'_>, String> {
    let text = str::from_utf8(body).map_err(|error| format!("not a review: {error}"))?;
    let review: Review<'_> =
        serde_json::from_str(text).map_err(|error| format!("not a review: {error}"))?;
    if (&*review.api_version, &*review.kind) != (VERSION, KIND) {
        return Err(format!("not a review: write {KIND} of {VERSION}"));
    }
    match review.request {
        Some(question)
            if question
                .objects
                .is_some_and(|it| !it.get().starts_with('[')) =>
        {
            Err("`request.objects` is not a list".to_owned())
        }
        Some(question) if !question.uid.is_empty() => Ok(question),
        Some(_) => Err("a review without `request.uid` cannot be answered".to_owned()),
        None => Err("a review without `request` cannot be answered".to_owned()),
    }
}
