//! Conversion between the versions of a kind: one of them is the hub, and every other one, a spoke, is converted to it
//! and from it.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    copy::{carry_over, metadata},
    panic_handler::message,
    review::from_body,
    serve::Webhook,
};
use crate::{cache::object::Object, metrics::WebhookMetrics, servers::http::Reply};

/// The form of what is asked and answered.
const VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

/// Turns an object of one version into one of another.
type Convert = fn(Value) -> Result<Value, String>;

/// A group and a kind.
type GroupKind = (String, String);

/// Every conversion there is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversions(HashMap<GroupKind, Versions>);

/// The versions of a kind.
#[derive(Clone, Debug)]
struct Versions {
    hub: String,
    crd: String,
    /// To the hub and from it, by the spoke's `apiVersion`.
    spokes: BTreeMap<String, (Convert, Convert)>,
}

impl Conversions {
    /// Adds a spoke; the error is a mistake of the caller's.
    pub(crate) fn add<H, S>(&mut self) -> Result<(), String>
    where
        H: Object + TryFrom<S, Error: Display>,
        S: Object + TryFrom<H, Error: Display>,
    {
        let (hub, spoke) = (H::api_version(&()), S::api_version(&()));
        let (group, kind) = (H::group(&()), H::kind(&()));
        if (&S::group(&()), &S::kind(&())) != (&group, &kind) || hub == spoke {
            return Err(format!(
                "`{}` of `{spoke}` is no other version of `{kind}` of `{hub}`",
                S::kind(&())
            ));
        }
        let versions = self.0.entry((group.into_owned(), kind.to_string()));
        let versions = versions.or_insert_with(|| Versions {
            hub: hub.to_string(),
            crd: format!("{}.{}", H::plural(&()), H::group(&())),
            spokes: BTreeMap::new(),
        });
        if versions.hub != hub {
            let first = &versions.hub;
            return Err(format!("`{kind}` has two hubs, `{first}` and `{hub}`"));
        }
        let both: (Convert, Convert) = (convert::<S, H>, convert::<H, S>);
        match versions.spokes.insert(spoke.to_string(), both) {
            None => Ok(()),
            Some(_) => Err(format!("`{kind}` has the spoke `{spoke}` twice")),
        }
    }

    /// The names of the CRDs whose kinds have conversions.
    pub(crate) fn crds(&self) -> Vec<String> {
        let mut names: Vec<_> = self
            .0
            .values()
            .map(|versions| versions.crd.clone())
            .collect();
        names.sort();
        names
    }

    /// `object` in the version `wanted`.
    fn convert(&self, object: Value, wanted: &str) -> Result<Value, String> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        let group = |version: &str| version.rsplit_once('/').map(|(group, _)| group.to_owned());
        let unknown =
            || format!("there is no conversion of `{kind}` from `{version}` to `{wanted}`");
        if group(version) != group(wanted) {
            return Err(unknown());
        }
        let key = (group(version).unwrap_or_default(), kind.to_owned());
        let versions = self.0.get(&key).ok_or_else(unknown)?;
        let known =
            |version: &str| version == versions.hub || versions.spokes.contains_key(version);
        if !known(version) || !known(wanted) {
            return Err(unknown());
        }
        if version == wanted {
            return Ok(object);
        }
        let up = versions.spokes.get(version).map(|(up, _)| *up);
        let down = versions.spokes.get(wanted).map(|(_, down)| *down);
        let steps = up.into_iter().chain(down);
        let name = object["metadata"]["name"].clone();
        steps
            .into_iter()
            .try_fold(object, |object, step| step(object))
            .map_err(|error| format!("cannot convert {name} to `{wanted}`: {error}"))
    }
}

/// Converts an object. Its metadata stays as it was sent, but for labels and annotations; and so do fields that `From`
/// does not know.
fn convert<From, To>(raw: Value) -> Result<Value, String>
where
    From: Object,
    To: Object + TryFrom<From, Error: Display>,
{
    let write = |error| format!("cannot write it: {error}");
    let source = From::deserialize(&raw).map_err(|error| format!("cannot read it: {error}"))?;
    let known = serde_json::to_value(&source).map_err(write)?;
    let target = To::try_from(source).map_err(|error| error.to_string())?;
    let mut converted = serde_json::to_value(&target).map_err(write)?;
    converted["apiVersion"] = To::api_version(&()).into();
    converted["kind"] = To::kind(&()).into();
    let Value::Object(mut raw) = raw else {
        return Err("it is no object".to_owned());
    };
    converted["metadata"] = metadata(
        raw.remove("metadata").unwrap_or_default(),
        &known["metadata"],
        &converted["metadata"],
    );
    carry_over(&Value::Object(raw), &known, &mut converted);
    Ok(converted)
}

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

/// Answers with the objects of a review in the version that it asks for: all of them, in their order, or none.
pub(super) fn converting(conversions: Conversions) -> Webhook {
    let conversions = Arc::new(conversions);
    Arc::new(move |body, _, metrics| {
        let conversions = conversions.clone();
        Box::pin(async move {
            // There may be thousands, and they wait for nothing: other requests must not wait for them.
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
        let convert = |object| conversions.convert(object, &desired);
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
