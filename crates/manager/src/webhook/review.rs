//! The request and response of an admission review: `admission.k8s.io/v1`.

use std::fmt::Display;

use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize, de::Error as _};
use serde_json::Value;

use crate::{
    cache::object::Object,
    parse::{self, Error},
    servers::access_reviews::User,
};

/// The API version of the response, and of the request.
const VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// An admission review whose object is read as a `T`, and whose stored object as an `O`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<T, O> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<Question<T, O>>,
}

/// The request of a review. Missing fields are empty.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Question<T, O = T> {
    #[serde(default)]
    pub(super) uid: String,
    #[serde(default)]
    pub(super) kind: GroupVersionKind,
    #[serde(default)]
    pub(super) resource: Resource,
    #[serde(default)]
    pub(super) sub_resource: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) operation: String,
    #[serde(default)]
    pub(super) user_info: User,
    #[serde(default)]
    pub(super) dry_run: Option<bool>,
    #[serde(default = "none")]
    pub(super) object: Option<T>,
    #[serde(default = "none")]
    pub(super) old_object: Option<O>,
}

/// The part of a resource that its kind does not say.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Resource {
    /// The plural.
    pub(super) resource: String,
}

fn none<T>() -> Option<T> {
    None
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct GroupVersionKind {
    #[serde(default)]
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

impl GroupVersionKind {
    /// The kind of `K`.
    pub(crate) fn of<K: Object>() -> Self {
        Self {
            group: K::group(&()).into_owned(),
            version: K::version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
        }
    }
}

/// Reads JSON into at most so many bytes, and checks that all of it is UTF-8: invalid bytes in a value that is skipped
/// would go unnoticed.
pub(super) fn from_body<'a, T: Deserialize<'a>>(body: &'a [u8], most: usize) -> Result<T, Error> {
    let text = str::from_utf8(body).map_err(|error| invalid(error.to_string()))?;
    parse::from_str(text, most)
}

fn invalid(problem: impl Display) -> Error {
    Error::Invalid(serde_json::Error::custom(problem))
}

impl<'a, T: Deserialize<'a>, O: Deserialize<'a>> Question<T, O> {
    /// Reads a review into at most so many bytes.
    pub(super) fn read(body: &'a [u8], most: usize) -> Result<Self, Error> {
        let review: Review<T, O> = from_body(body, most)?;
        if (&*review.api_version, &*review.kind) != (VERSION, KIND) {
            return Err(invalid(format!("write {KIND} of {VERSION}")));
        }
        match review.request {
            Some(question) if !question.uid.is_empty() => Ok(question),
            Some(_) => Err(invalid("without `request.uid` it cannot be answered")),
            None => Err(invalid("without `request` it cannot be answered")),
        }
    }
}

impl<T, O> Question<T, O> {
    /// The same request with other objects.
    pub(super) fn about<A, B>(self, object: Option<A>, old_object: Option<B>) -> Question<A, B> {
        Question {
            uid: self.uid,
            kind: self.kind,
            resource: self.resource,
            sub_resource: self.sub_resource,
            name: self.name,
            namespace: self.namespace,
            operation: self.operation,
            user_info: self.user_info,
            dry_run: self.dry_run,
            object,
            old_object,
        }
    }
}

/// The response.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    pub(super) uid: String,
    pub(super) allowed: bool,
    /// The reason of a rejection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Value>,
    /// A JSON patch (RFC 6902), sent in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patch: Option<ByteString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}

impl Answer {
    pub(super) fn allowed(uid: String) -> Self {
        Self {
            uid,
            allowed: true,
            status: None,
            patch: None,
            patch_type: None,
            warnings: Vec::new(),
        }
    }

    pub(super) fn refused(uid: String, status: Value) -> Self {
        Self {
            allowed: false,
            status: Some(status),
            ..Self::allowed(uid)
        }
    }

    /// Adds these changes of the object, if there are any.
    pub(super) fn with_patch(mut self, steps: &str) -> Self {
        if !steps.is_empty() {
            self.patch = Some(ByteString(format!("[{steps}]").into_bytes()));
            self.patch_type = Some("JSONPatch");
        }
        self
    }

    /// The review that contains this response.
    pub(super) fn review(&self) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Review<'a> {
            api_version: &'a str,
            kind: &'a str,
            response: &'a Answer,
        }
        let review = Review {
            api_version: VERSION,
            kind: KIND,
            response: self,
        };
        // All keys are strings, so serializing cannot fail.
        serde_json::to_string(&review).unwrap_or_default()
    }
}
