//! Admission reviews, and what comes of the answers.

use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::server::json_patch;

/// The result of an admission request.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// Whether every webhook allowed it.
    pub allowed: bool,
    /// The object as it would be stored, with the changes of the defaulters; `null` if it is deleted.
    pub object: Value,
    /// The warnings for the user.
    pub warnings: Vec<String>,
    /// The reason of the rejection, as `kubectl` prints it; empty if the request is allowed.
    pub message: String,
    /// The fields that caused the rejection, each with its message.
    pub causes: Vec<(String, String)>,
}

impl Admitted {
    /// The object as it would be stored.
    ///
    /// # Panics
    /// If it is not of this kind.
    #[must_use]
    pub fn object<K: DeserializeOwned>(&self) -> K {
        serde_json::from_value(self.object.clone()).expect("the object is of this kind")
    }
}

/// The request that the API server sends when an object is created (`old` is `None`), updated, or deleted (`new` is
/// `None`): an `AdmissionReview` of `admission.k8s.io/v1`, from a user without special groups.
///
/// # Panics
/// If both are `None`.
#[must_use]
pub fn review<K: Resource<DynamicType = ()> + Serialize>(
    old: Option<&K>,
    new: Option<&K>,
) -> Value {
    let operation = match (old, new) {
        (None, _) => "CREATE",
        (Some(_), Some(_)) => "UPDATE",
        (Some(_), None) => "DELETE",
    };
    let meta = new.or(old).expect("there is an object").meta();
    let question = Question {
        operation,
        kind: [&K::group(&()), &K::version(&()), &K::kind(&())],
        plural: &K::plural(&()),
        subresource: "",
        namespace: meta.namespace.as_deref().unwrap_or_default(),
        name: meta.name.as_deref().unwrap_or_default(),
        user: "somebody",
        requested: &K::version(&()),
        options: Value::Null,
        object: new.map_or(Value::Null, typed),
        old_object: old.map_or(Value::Null, typed),
    };
    question.review()
}

/// The request of a review.
pub struct Question<'a> {
    pub operation: &'a str,
    /// Group, version and kind.
    pub kind: [&'a str; 3],
    pub plural: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub user: &'a str,
    /// The version in which the object was written.
    pub requested: &'a str,
    /// The fields of the options that are set.
    pub options: Value,
    pub object: Value,
    pub old_object: Value,
}

impl Question<'_> {
    /// An `AdmissionReview` of `admission.k8s.io/v1`.
    #[must_use]
    pub fn review(self) -> Value {
        let mut options = json!({
            "apiVersion": "meta.k8s.io/v1",
            "kind": match self.operation {
                "CREATE" => "CreateOptions",
                "DELETE" => "DeleteOptions",
                _ => "UpdateOptions",
            },
        });
        for (field, value) in self.options.as_object().into_iter().flatten() {
            options[field] = value.clone();
        }
        let [group, version, kind] = self.kind;
        let kind = |version| json!({ "group": group, "version": version, "kind": kind });
        let resource =
            |version| json!({ "group": group, "version": version, "resource": self.plural });
        let mut request = json!({
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind(version),
            "resource": resource(version),
            "requestKind": kind(self.requested),
            "requestResource": resource(self.requested),
            "namespace": self.namespace,
            "operation": self.operation,
            "userInfo": { "username": self.user, "groups": ["system:authenticated"] },
            "object": self.object,
            "oldObject": self.old_object,
            "dryRun": options["dryRun"] == json!(["All"]),
            "options": options,
        });
        // Otherwise, it is yet to be generated.
        if !self.name.is_empty() {
            request["name"] = json!(self.name);
        }
        if !self.subresource.is_empty() {
            request["subResource"] = json!(self.subresource);
            request["requestSubResource"] = json!(self.subresource);
        }
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request })
    }
}

/// An object as the API server sends it.
fn typed<K: Resource<DynamicType = ()> + Serialize>(object: &K) -> Value {
    let mut value = serde_json::to_value(object).expect("an object is JSON");
    value["apiVersion"] = K::api_version(&()).into_owned().into();
    value["kind"] = K::kind(&()).into_owned().into();
    value
}

impl Admitted {
    /// A request that no webhook has answered yet.
    #[must_use]
    pub fn of(review: &Value) -> Self {
        Self {
            allowed: true,
            object: review["request"]["object"].clone(),
            warnings: Vec::new(),
            message: String::new(),
            causes: Vec::new(),
        }
    }

    /// Takes the answer of a webhook.
    ///
    /// # Errors
    /// Why its patch does not apply.
    ///
    /// # Panics
    /// If the patch is not a JSON patch in base64.
    pub fn take(&mut self, mut answer: Value) -> Result<(), String> {
        let texts: Vec<String> =
            serde_json::from_value(answer["warnings"].take()).unwrap_or_default();
        self.warnings.extend(texts);
        self.allowed = answer["allowed"] == true;
        let status = &answer["status"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.message = text(&status["message"]);
        let causes = status["details"]["causes"].as_array();
        self.causes = causes
            .into_iter()
            .flatten()
            .map(|cause| (text(&cause["field"]), text(&cause["message"])))
            .collect();
        let patch = answer.get("patch").filter(|_| self.allowed);
        let Some(patch) = patch else {
            return Ok(());
        };
        assert_eq!(answer["patchType"], json!("JSONPatch"));
        let bytes: k8s_openapi::ByteString =
            serde_json::from_value(patch.clone()).expect("a patch is in base64");
        let steps: Value = serde_json::from_slice(&bytes.0).expect("a patch is JSON");
        if self.object.is_null() && steps != json!([]) {
            return Err(
                "attempted to modify the object, which is not supported for this operation"
                    .to_owned(),
            );
        }
        json_patch(&mut self.object, &steps)
    }
}
