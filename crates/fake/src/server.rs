//! The request handling of [`ApiServer`](super::ApiServer).

mod admission;
mod answer;
mod check;
mod commit;
mod delete;
mod fields;
mod kinds;
mod lag;
mod merge;
mod owners;
mod patch;
mod path;
mod read;
pub mod schema;
mod select;
mod shape;
mod store;
mod versions;
mod write;
mod written;

use std::collections::BTreeMap;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use self::kinds::Kind;
pub use self::kinds::Kinds;
pub(crate) use self::select::Selection;
pub use self::{
    admission::Reviewed,
    answer::{Answer, ErrorResponse},
    patch::json_patch,
    path::Path,
    read::Watch,
    store::{Change, Objects},
};

/// The relevant parts of a request.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    pub path: Path,
    pub query: BTreeMap<String, String>,
    pub media_type: String,
    pub accept: String,
    /// The user agent.
    pub agent: String,
    pub body: Value,
}

impl Call {
    /// Whether it is a watch.
    #[must_use]
    pub fn watches(&self) -> bool {
        let watch = self.query.get("watch");
        watch.is_some_and(|watch| ["true", "1"].contains(&watch.as_str()))
    }

    /// Whether nothing is to be stored.
    fn is_dry(&self) -> bool {
        let asked = self.query.get("dryRun");
        asked.is_some_and(|dry| dry == "All") || self.body["dryRun"] == json!(["All"])
    }

    /// An object or a list in the form that the request asks for: whole, or only metadata.
    fn shown(&self, value: Value) -> Value {
        if !self.accept.contains("as=PartialObjectMetadata") {
            return value;
        }
        let meta = |value: &Value, kind: &str| {
            json!({
                "apiVersion": "meta.k8s.io/v1", "kind": kind, "metadata": value["metadata"],
            })
        };
        let Some(items) = value["items"].as_array() else {
            return meta(&value, "PartialObjectMetadata");
        };
        let mut list = meta(&value, "PartialObjectMetadataList");
        list["items"] = items
            .iter()
            .map(|item| meta(item, "PartialObjectMetadata"))
            .collect();
        list
    }
}

impl Objects {
    /// Handles a request.
    pub fn handle(&mut self, call: &Call) -> Answer {
        // A review such as a TokenReview. This server has no users, so the answer is empty.
        if call.method == Method::POST && call.path.plural.ends_with("reviews") {
            return Ok((StatusCode::CREATED, call.body.clone()));
        }
        let home = self.converted_path(&call.path);
        if home.is_none() {
            self.only_version(&call.path)?;
        }
        if call.is_write() {
            let pending = self.prepare(call)?;
            let checked = self.check(call, &pending)?;
            return self.commit(call, checked);
        }
        if call.is_dry() {
            // Nothing of this is kept.
            return self.clone().handle_in(call, home);
        }
        self.handle_in(call, home)
    }

    /// Handles a request other than a write: in the version `home`, if its objects are stored in another one than that of the request.
    fn handle_in(&mut self, call: &Call, home: Option<Path>) -> Answer {
        match home {
            Some(home) => self.handle_converted(call, home),
            None => self.handle_stored(call),
        }
    }

    /// Handles a request in the version in which its objects are stored.
    fn handle_stored(&mut self, call: &Call) -> Answer {
        let kind = self.known(call)?;
        let (path, one) = (&call.path, !call.path.name.is_empty());
        match call.method {
            Method::GET if one => match self.object_at(self.seen_by(call), &path.object()) {
                Some(found) => Ok((StatusCode::OK, call.shown(found))),
                None => Err(ErrorResponse::not_found(path)),
            },
            Method::GET => self.list(call, &kind),
            Method::DELETE if one && path.subresource.is_empty() => self.delete_by(call, &kind),
            Method::DELETE if !one => self.delete_collection(call, &kind),
            _ => Err(ErrorResponse::method_not_allowed(path)),
        }
    }

    /// The kind that a request is about, if this server supports the request.
    fn known(&self, call: &Call) -> Result<Kind, ErrorResponse> {
        let path = &call.path;
        let kind = self
            .kinds
            .of(path)
            .ok_or_else(|| ErrorResponse::no_such_path(path))?;
        let in_namespace = !path.namespace.is_empty();
        let needs_one = !path.name.is_empty() || call.method == Method::POST;
        match kind.namespaced {
            Some(false) if in_namespace => return Err(ErrorResponse::no_such_path(path)),
            Some(true) if !in_namespace && needs_one => {
                return Err(ErrorResponse::no_such_path(path));
            }
            _ => {}
        }
        match path.subresource.as_str() {
            "" => {}
            "status" if kind.status => {}
            "status" if kind.built_in => return Err(ErrorResponse::no_such_path(path)),
            "status" => return Err(ErrorResponse::not_found(path)),
            other => return Err(ErrorResponse::beyond(path, &format!("serve `/{other}`"))),
        }
        if call.accept.contains("as=Table") {
            return Err(ErrorResponse::beyond(path, "print tables"));
        }
        Ok(kind)
    }

    /// Refuses a request if objects of its kind are stored in another version, and this server cannot convert them.
    fn only_version(&self, path: &Path) -> Result<(), ErrorResponse> {
        let mut others = self.stored.keys();
        match others.find(|other| other.same_kind(path) && other.root != path.root) {
            Some(other) => {
                let what = format!(
                    "convert {} from {} to {}",
                    path.plural,
                    other.version(),
                    path.version()
                );
                Err(ErrorResponse::beyond(path, &what))
            }
            None => Ok(()),
        }
    }
}
