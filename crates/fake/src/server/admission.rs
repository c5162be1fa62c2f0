//! Where webhooks are asked: before an object is stored, they may change and reject it.
//!
//! Source: `k8s.io/apiserver/pkg/endpoints/handlers/{create,patch,update}.go`. Defaulters see an object with the defaults of
//! its schema, which need not be valid yet; validators see what would be stored. No manager owns what defaulters set.

use hyper::Method;
use serde_json::{Value, json};

use super::{Call, answer::ErrorResponse, kinds::Kind, patch::tidy, path::Path, store::Objects};

/// What webhooks have said about a write.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    pub(super) stage: Stage,
    /// What they have made of the object; `None` if they have not changed it.
    pub(super) object: Option<Value>,
}

/// How far the review of a write has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// Those that set defaults see the object as the client has written it, which need not be possible.
    Defaulting,
    /// Those that validate see what would be stored, with the unknown fields that defaulters have set.
    Validating,
    #[default]
    Done,
}

impl Admission {
    /// The object as webhooks have left it, if they have changed it: once more with defaults.
    pub(super) fn changed(&self, kind: &Kind) -> Option<Value> {
        let mut object = self.object.clone()?;
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove("managedFields");
        }
        let mut object = tidy(object, kind);
        if let Some(schema) = &kind.schema {
            apiserver_rules::set_defaults(&mut object, schema);
        }
        Some(object)
    }

    /// Whether the object is what is stored.
    pub(super) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Whether the object is what those see that set defaults.
    pub(super) fn is_first(&self) -> bool {
        self.stage == Stage::Defaulting
    }
}

/// A write about which webhooks are asked.
#[derive(Clone, Debug)]
pub struct Reviewed {
    pub operation: &'static str,
    /// The path of the object, or of its subresource. The name is empty if it is yet to be generated.
    pub path: Path,
    /// The options of the request that are set.
    pub options: Value,
    pub old: Option<Value>,
    pub new: Option<Value>,
}

impl Call {
    /// The same request before webhooks are asked.
    #[must_use]
    pub fn unasked(&self) -> Self {
        let mut call = self.clone();
        call.admission.stage = Stage::Defaulting;
        call
    }

    /// The same request after webhooks that set defaults are asked, with what they have made of its object.
    #[must_use]
    pub fn defaulted(&self, object: Option<Value>) -> Self {
        let mut call = self.clone();
        call.admission.stage = Stage::Validating;
        call.admission.object = object;
        call
    }

    /// The same request after all webhooks are asked.
    #[must_use]
    pub fn validated(&self) -> Self {
        let mut call = self.clone();
        call.admission.stage = Stage::Done;
        call
    }

    /// The options that webhooks see.
    fn options(&self) -> Value {
        if self.method == Method::DELETE && self.body.is_object() {
            return self.body.clone();
        }
        let mut options = json!({});
        if let Some(manager) = self.query.get("fieldManager") {
            options["fieldManager"] = json!(manager);
        }
        if self.query.contains_key("dryRun") {
            options["dryRun"] = json!(["All"]);
        }
        options
    }
}

impl Objects {
    /// What a write of one object would do, which webhooks see at this path. Nothing is stored.
    pub fn review(&self, call: &Call, shown_as: &Path) -> Result<Reviewed, ErrorResponse> {
        let mut call = call.clone();
        call.accept = String::new();
        let options = call.options();
        let is_deletion = call.method == Method::DELETE;
        let mut tried = self.without_history();
        let mut path = call.path.clone();
        let given = call.body["metadata"]["name"].as_str();
        if call.method == Method::POST {
            given.unwrap_or_default().clone_into(&mut path.name);
            // That an object of this name exists is an error of the write itself.
            tried.stored.remove(&tried.stored_path(&path));
        }
        let (_, new) = tried.handle(&call)?;
        if let Some(name) = new["metadata"]["name"].as_str() {
            name.clone_into(&mut path.name);
        }
        let old = self.whole(&path).filter(|_| call.method != Method::POST);
        if is_deletion {
            path = shown_as.clone();
        }
        let mut reviewed = Reviewed::of(path, old, (!is_deletion).then_some(new));
        reviewed.options = options;
        if reviewed.operation == "CREATE" {
            // It is not stored yet.
            let meta = reviewed
                .new
                .as_mut()
                .and_then(|new| new["metadata"].as_object_mut());
            meta.map(|meta| meta.remove("resourceVersion"));
        }
        Ok(reviewed)
    }

    /// What it would do to store an object as it is, or to delete it. `None` if only the status changes.
    #[must_use]
    pub fn review_put(&self, path: &Path, object: Option<Value>) -> Option<Reviewed> {
        let kind = self.kinds.of(path)?;
        let Some(object) = object else {
            return Some(Reviewed::of(path.clone(), self.whole(path), None));
        };
        let mut object = tidy(object, &kind);
        if let Some(schema) = &kind.schema {
            apiserver_rules::complete(&mut object, schema);
        }
        let counted = |object: &Value| {
            let mut object = object.clone();
            object["status"] = Value::Null;
            for field in ["managedFields", "generation", "resourceVersion"] {
                object["metadata"][field] = Value::Null;
            }
            tidy(object, &kind)
        };
        let old = self.whole(path);
        let is_same = old
            .as_ref()
            .is_some_and(|old| counted(old) == counted(&object));
        (!is_same).then(|| Reviewed::of(path.clone(), old, Some(object)))
    }

    /// An object as it is sent.
    #[must_use]
    pub fn whole(&self, path: &Path) -> Option<Value> {
        let path = path.object();
        let stored = self.stored.get(&self.stored_path(&path))?;
        // What cannot be converted is an error of the write itself.
        self.shown_at(&stored.whole(), &path).ok()
    }
}

impl Reviewed {
    fn of(path: Path, old: Option<Value>, new: Option<Value>) -> Self {
        let operation = match (&old, &new) {
            (_, None) => "DELETE",
            (None, _) => "CREATE",
            (Some(_), Some(_)) => "UPDATE",
        };
        Self {
            operation,
            path,
            options: json!({}),
            old,
            new,
        }
    }
}
