//! Where webhooks are asked: before an object is stored, they may change and reject it.
//!
//! Source: `k8s.io/apiserver/pkg/endpoints/handlers/{create,patch,update}.go`. Defaulters see an object with the defaults of
//! its schema, which need not be valid yet; validators see what would be stored. No manager owns what defaulters set.

use serde_json::Value;

#[cfg(feature = "simulate")]
use super::{Call, answer::ErrorResponse, path::Path, store::Objects};
use super::{kinds::Kind, patch::tidy, schema};

/// What webhooks have said about a write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admission {
    /// Whether they have yet to be asked, so that the object need not be valid.
    pub(super) is_pending: bool,
    /// What they have made of the object; `None` if they have not changed it.
    pub(super) object: Option<Value>,
}

impl Admission {
    /// The object as webhooks have left it, if they have changed it: once more with defaults, and without unknown fields.
    pub(super) fn changed(
        &self,
        kind: &Kind,
        stored: impl FnOnce(Value) -> Value,
    ) -> Option<Value> {
        let mut object = self.object.clone()?;
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.remove("managedFields");
        }
        let mut object = tidy(object, kind);
        if let Some(schema) = &kind.schema {
            schema::complete(&mut object, schema);
        }
        Some(stored(object))
    }
}

/// A write about which webhooks are asked.
#[cfg(feature = "simulate")]
#[derive(Clone, Debug)]
pub(crate) struct Reviewed {
    pub(crate) operation: &'static str,
    /// The path of the object, or of its subresource.
    pub(crate) path: Path,
    pub(crate) old: Option<Value>,
    pub(crate) new: Option<Value>,
}

#[cfg(feature = "simulate")]
impl Call {
    /// The same request before webhooks are asked.
    pub(crate) fn unasked(&self) -> Self {
        let mut call = self.clone();
        call.admission.is_pending = true;
        call
    }

    /// The same request with what webhooks have made of its object.
    pub(crate) fn with_object(&self, object: Option<Value>) -> Self {
        let mut call = self.clone();
        call.admission.object = object;
        call
    }
}

#[cfg(feature = "simulate")]
impl Objects {
    /// What a write of one object would do. Nothing is stored.
    pub(crate) fn review(&self, call: &Call) -> Result<Reviewed, ErrorResponse> {
        let mut call = call.clone();
        call.accept = String::new();
        let is_deletion = call.method == hyper::Method::DELETE;
        let (_, new) = self.without_history().handle(&call)?;
        let mut path = call.path;
        if let Some(name) = new["metadata"]["name"]
            .as_str()
            .filter(|_| path.name.is_empty())
        {
            name.clone_into(&mut path.name);
        }
        Ok(self.reviewed(path, (!is_deletion).then_some(new)))
    }

    /// What it would do to store an object as it is, or to delete it. `None` if only the status changes.
    pub(crate) fn review_put(&self, path: &Path, object: Option<Value>) -> Option<Reviewed> {
        let kind = self.kinds.of(path)?;
        let Some(object) = object else {
            return Some(self.reviewed(path.clone(), None));
        };
        let mut object = tidy(object, &kind);
        if let Some(schema) = &kind.schema {
            schema::complete(&mut object, schema);
        }
        let counted = |object: &Value| {
            let mut object = object.clone();
            object["status"] = Value::Null;
            for field in ["managedFields", "generation", "resourceVersion"] {
                object["metadata"][field] = Value::Null;
            }
            tidy(object, &kind)
        };
        let reviewed = self.reviewed(path.clone(), Some(object.clone()));
        let old = reviewed.old.as_ref();
        let is_same = old.is_some_and(|old| counted(old) == counted(&object));
        (!is_same).then_some(reviewed)
    }

    /// An object as it is sent.
    pub(crate) fn whole(&self, path: &Path) -> Option<Value> {
        let path = path.object();
        let stored = self.stored.get(&self.stored_path(&path))?;
        // What cannot be converted is an error of the write itself.
        self.shown_at(&stored.whole(), &path).ok()
    }

    fn reviewed(&self, path: Path, new: Option<Value>) -> Reviewed {
        let old = self.whole(&path);
        let operation = match (&old, &new) {
            (_, None) => "DELETE",
            (None, _) => "CREATE",
            (Some(_), Some(_)) => "UPDATE",
        };
        Reviewed {
            operation,
            path,
            old,
            new,
        }
    }
}
