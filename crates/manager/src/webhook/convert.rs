//! Answers conversion reviews: the API server asks for objects in another version.

use std::sync::Arc;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{serve::Webhook, text::items, versions::Conversions};
use crate::{metrics::WebhookMetrics, panics::caught, parse::Error, servers::http::Reply};

/// The API version of the review and of the answer.
const VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

/// The largest answer in bytes: twice the largest review.
const MOST: usize = 24 << 20;

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
pub(crate) fn converting(conversions: Conversions) -> Webhook {
    let conversions = Arc::new(conversions);
    Arc::new(move |call| {
        let conversions = conversions.clone();
        Box::pin(async move {
            let (body, metrics) = (call.body.clone(), call.metrics.clone());
            let convert = move |most| answer(&conversions, &body, most, &metrics);
            match call.turns.parse(call.body.len(), convert).await {
                (Ok(reply), _) => reply,
                (Err(error), _) => failure(&call.body, &error.to_string()),
            }
        })
    })
}

/// The answer to a review, unless an object takes more memory than this.
fn answer(
    conversions: &Conversions,
    body: &[u8],
    most: usize,
    metrics: &WebhookMetrics,
) -> Result<Reply, Error> {
    let question = match read(body) {
        Ok(question) => question,
        Err(problem) => {
            let problem = format!("{problem}\n");
            return Ok(Reply::text(StatusCode::BAD_REQUEST, problem));
        }
    };
    let converted = caught(|| convert(conversions, &question, most, metrics));
    let converted = converted.unwrap_or_else(|panic| {
        metrics.conversion_panicked();
        Ok(Err(format!("panic: {panic}")))
    })?;
    Ok(match converted {
        Ok(answer) => Reply::json(answer),
        Err(error) => failure(body, &error),
    })
}

/// The answer to a review whose objects are not converted.
fn failure(body: &[u8], error: &str) -> Reply {
    let question = read(body);
    let (uid, desired) = question.map_or_else(|_| Default::default(), |it| (it.uid, it.desired));
    tracing::error!(error, desired, "conversion failed");
    let result = json!({ "status": "Failure", "message": error });
    let response = json!({ "uid": uid, "result": result });
    let review = json!({ "apiVersion": VERSION, "kind": KIND, "response": response });
    Reply::json(review.to_string())
}

/// The answer with all objects in the requested version, or why there is none. They are converted one after the other, so
/// that only one is in memory as more than text.
fn convert(
    conversions: &Conversions,
    question: &Question<'_>,
    most: usize,
    metrics: &WebhookMetrics,
) -> Result<Result<String, String>, Error> {
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
        match conversions.convert(object, &question.desired, most, metrics)? {
            Ok(converted) if answer.len() + converted.len() > MOST => {
                let most = MOST >> 20;
                return Ok(Err(format!(
                    "the answer takes more than {most} MiB of memory"
                )));
            }
            Ok(converted) => answer += &converted,
            Err(problem) => return Ok(Err(problem)),
        }
    }
    answer.push_str("]}}");
    Ok(Ok(answer))
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
