//! Answers conversion reviews: the API server asks for objects in another version.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{panic_handler::message, review::from_body, serve::Webhook, versions::Conversions};
use crate::{metrics::WebhookMetrics, servers::http::Reply};

/// The API version of the review and of the answer.
const VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<Question>,
}

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired: String,
    #[serde(default)]
    objects: Vec<Value>,
}

/// A webhook that returns all objects of a review, in order and in the requested version, or none.
pub(super) fn converting(conversions: Conversions) -> Webhook {
    let conversions = Arc::new(conversions);
    Arc::new(move |body, _, metrics| {
        let conversions = conversions.clone();
        Box::pin(async move {
            // A review may hold thousands of objects, and converting them never awaits: do not block other requests.
            let answer = tokio::task::spawn_blocking(move || answer(&conversions, &body, &metrics));
            answer
                .await
                .unwrap_or_else(|_| Reply::status(StatusCode::INTERNAL_SERVER_ERROR))
        })
    })
}

fn answer(conversions: &Conversions, body: &[u8], metrics: &WebhookMetrics) -> Reply {
    let question = match read(body) {
        Ok(question) => question,
        Err(problem) => return Reply::text(StatusCode::BAD_REQUEST, format!("{problem}\n")),
    };
    let (objects, desired) = (question.objects, question.desired);
    let converted = catch_unwind(AssertUnwindSafe(|| {
        let convert = |object| conversions.convert(object, &desired, metrics);
        objects
            .into_iter()
            .map(convert)
            .collect::<Result<Vec<_>, _>>()
    }));
    let converted = converted.unwrap_or_else(|payload| {
        metrics.conversion_panicked();
        Err(format!("panic: {}", message(&*payload)))
    });
    let mut response = json!({ "uid": question.uid });
    match converted {
        Ok(objects) => {
            response["result"] = json!({ "status": "Success" });
            response["convertedObjects"] = Value::Array(objects);
        }
        Err(error) => {
            tracing::error!(error, desired, "conversion failed");
            response["result"] = json!({ "status": "Failure", "message": error });
        }
    }
    let review = json!({ "apiVersion": VERSION, "kind": KIND, "response": response });
    Reply::json(review.to_string())
}

fn read(body: &[u8]) -> Result<Question, String> {
    let review: Review = from_body(body).map_err(|error| format!("not a review: {error}"))?;
    if (&*review.api_version, &*review.kind) != (VERSION, KIND) {
        return Err(format!("not a review: write {KIND} of {VERSION}"));
    }
    match review.request {
        Some(question) if !question.uid.is_empty() => Ok(question),
        Some(_) => Err("a review without `request.uid` cannot be answered".to_owned()),
        None => Err("a review without `request` cannot be answered".to_owned()),
    }
}
