//! Where webhooks are asked: before an object is stored, they may change and reject it.
//!
//! Source: `k8s.io/apiserver/pkg/endpoints/handlers/{create,patch,update}.go`. Defaulters see an object with the defaults of
//! its schema, which need not be valid yet; validators see what would be stored. No manager owns what defaulters set.

use hyper::Method;
use serde_json::{Value, json};

use super::{
    Call, answer::ErrorResponse, commit::Checked, patch::tidy, path::Path, store::Objects,
    write::Pending,
};

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
    /// A write as webhooks see it that set defaults.
    pub fn review_pending(&self, call: &Call, pending: &Pending) -> Reviewed {
        self.reviewed(call, pending.shown())
    }

    /// A write as webhooks see it that validate.
    pub fn review_checked(&self, call: &Call, checked: &Checked) -> Reviewed {
        self.reviewed(call, self.shown(checked))
    }

    fn reviewed(&self, call: &Call, new: Value) -> Reviewed {
        let mut path = call.path.clone();
        if let Some(name) = new["metadata"]["name"].as_str() {
            name.clone_into(&mut path.name);
        }
        let old = self.whole(&path).filter(|_| call.method != Method::POST);
        let mut reviewed = Reviewed::of(path, old, Some(new));
        reviewed.options = call.options();
        reviewed
    }

    /// A deletion, which webhooks see at this path.
    pub fn review_deletion(&self, call: &Call, shown_as: &Path) -> Result<Reviewed, ErrorResponse> {
        self.check_deletion(call)?;
        let mut reviewed = Reviewed::of(shown_as.clone(), self.whole(&call.path), None);
        reviewed.options = call.options();
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
