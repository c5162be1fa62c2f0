//! What the API server asks about an object, and what it is answered: `admission.k8s.io/v1`.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cache::object::Object;

/// The form of an answer, and of what is asked.
const VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Who does it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct User {
    /// The name, such as `system:serviceaccount:default:captains`.
    #[serde(default)]
    pub username: String,
    /// What tells this user from others of that name in the course of time; may be empty.
    #[serde(default)]
    pub uid: String,
    /// The groups that the user is in.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Whatever else the authenticator knows.
    #[serde(default)]
    pub extra: BTreeMap<String, Vec<String>>,
}

/// A question about an object that is read as a `T`; the one that is stored, as an `O`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<T, O> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<Question<T, O>>,
}

/// The question itself. What it does not say is empty.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Question<T, O = T> {
    #[serde(default)]
    pub(super) uid: String,
    #[serde(default)]
    pub(super) kind: GroupVersionKind,
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
    /// That of `K`.
    pub(crate) fn of<K: Object>() -> Self {
        Self {
            group: K::group(&()).into_owned(),
            version: K::version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
        }
    }
}

/// Reads JSON, all of which is text: what is none would go unnoticed in a value that nobody asks for.
///
/// # Errors
/// What is wrong with it.
pub(super) fn from_body<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
    let text = str::from_utf8(body).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl<'a, T: Deserialize<'a>, O: Deserialize<'a>> Question<T, O> {
    /// Reads a review.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, String> {
        let review: Review<T, O> = from_body(body)?;
        if (&*review.api_version, &*review.kind) != (VERSION, KIND) {
            return Err(format!("write {KIND} of {VERSION}"));
        }
        match review.request {
            Some(question) if !question.uid.is_empty() => Ok(question),
            Some(_) => Err("without `request.uid` it cannot be answered".to_owned()),
            None => Err("without `request` it cannot be answered".to_owned()),
        }
    }
}

impl<T, O> Question<T, O> {
    /// The same question about other objects.
    pub(super) fn about<A, B>(self, object: Option<A>, old_object: Option<B>) -> Question<A, B> {
        Question {
            uid: self.uid,
            kind: self.kind,
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

/// The answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    pub(super) uid: String,
    pub(super) allowed: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Value>,
    /// A JSON patch (RFC 6902), which is sent in base64.
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

    /// With these changes of the object; nothing is said of none.
    pub(super) fn with_patch(mut self, steps: &[Value]) -> Self {
        if !steps.is_empty() {
            let patch = Value::from(steps).to_string();
            self.patch = Some(ByteString(patch.into_bytes()));
            self.patch_type = Some("JSONPatch");
        }
        self
    }

    /// The review that it is sent in.
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
        // Its keys are text, so it can be written.
        serde_json::to_string(&review).unwrap_or_default()
    }
}
