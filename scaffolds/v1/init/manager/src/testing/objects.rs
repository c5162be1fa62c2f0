//! The objects of an API server in memory, and what requests do to them.

use std::collections::BTreeMap;

use hyper::{Method, StatusCode};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::json::{json_patch, merge, selected, without_nulls};

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Path {
    /// `/api/v1` or `/apis/<group>/<version>`
    pub(super) root: String,
    pub(super) plural: String,
    pub(super) namespace: String,
    /// Empty for a collection.
    pub(super) name: String,
    pub(super) subresource: String,
}

impl Path {
    /// Takes the path of a request to pieces.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let roots = if parts.first() == Some(&"api") { 2 } else { 3 };
        if parts.len() <= roots {
            return None;
        }
        let root = format!("/{}", parts[..roots].join("/"));
        parts.drain(..roots);
        let mut namespace = "";
        if parts.len() > 2
            && parts[0] == "namespaces"
            && !["status", "finalize"].contains(&parts[2])
        {
            namespace = parts[1];
            parts.drain(..2);
        }
        let part = |n: usize| parts.get(n).copied().unwrap_or_default().to_owned();
        Some(Self {
            root,
            plural: part(0),
            namespace: namespace.to_owned(),
            name: part(1),
            subresource: part(2),
        })
    }

    /// Whether this collection holds the object at `path`.
    fn holds(&self, path: &Self) -> bool {
        path.root == self.root
            && path.plural == self.plural
            && (self.namespace.is_empty() || path.namespace == self.namespace)
    }

    fn object(&self) -> Self {
        Self {
            subresource: String::new(),
            ..self.clone()
        }
    }
}

/// A request, as far as it matters here.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: Path,
    pub(super) query: BTreeMap<String, String>,
    pub(super) media_type: String,
    pub(super) body: Value,
}

type Answer = Result<(StatusCode, Value), (StatusCode, &'static str)>;

/// All objects, and how they came to be.
#[derive(Debug, Default)]
pub(super) struct Objects {
    stored: BTreeMap<Path, Value>,
    version: u64,
    /// Each change, with the resource version that it made.
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    version: u64,
    path: Path,
    event: Value,
}

impl Objects {
    pub(super) fn get(&self, path: &Path) -> Option<&Value> {
        self.stored.get(path)
    }

    pub(super) fn all(&self, plural: &str) -> Vec<Value> {
        let found = self.stored.iter().filter(|(path, _)| path.plural == plural);
        found.map(|(_, object)| object.clone()).collect()
    }

    /// Stores an object as it is, as if it had been there before.
    pub(super) fn put(&mut self, path: Path, mut object: Value) {
        if let Some(stored) = self.stored.get(&path) {
            let generation = stored["metadata"]["generation"]
                .as_i64()
                .unwrap_or_default();
            let changed = without_nulls(object["spec"].clone()) != stored["spec"];
            for (field, value) in [
                ("uid", stored["metadata"]["uid"].clone()),
                (
                    "creationTimestamp",
                    stored["metadata"]["creationTimestamp"].clone(),
                ),
                ("generation", json!(generation + i64::from(changed))),
            ] {
                set_if_missing(&mut object["metadata"], field, value);
            }
        }
        self.store(path, object);
    }

    pub(super) fn delete(&mut self, path: &Path) -> Answer {
        let mut object = self.stored.get(path).cloned().ok_or(NOT_FOUND)?;
        if held(&object) {
            let meta = &mut object["metadata"];
            if meta.get("deletionTimestamp").is_none_or(Value::is_null) {
                meta["deletionTimestamp"] = json!(now());
            }
            return Ok((StatusCode::OK, self.store(path.clone(), object)));
        }
        Ok((StatusCode::OK, self.remove(path, object)))
    }

    /// The changes of a collection after a resource version, as a watch tells them; and the version after them.
    pub(super) fn changes(&self, collection: &Path, after: u64) -> (Vec<Value>, u64) {
        let new = self.changes.iter().filter(|change| change.version > after);
        let here = new.filter(|change| collection.holds(&change.path));
        (
            here.map(|change| change.event.clone()).collect(),
            self.version,
        )
    }

    /// Does what a request asks for.
    pub(super) fn handle(&mut self, call: Call) -> Answer {
        let path = call.path.object();
        let stored = self.stored.get(&path).cloned();
        match call.method {
            Method::GET if path.name.is_empty() => Ok((StatusCode::OK, self.list(&call))),
            Method::GET => stored
                .map(|stored| (StatusCode::OK, stored))
                .ok_or(NOT_FOUND),
            // A question, such as a TokenReview; nobody is known here, so there is no answer in it.
            Method::POST if path.plural.ends_with("reviews") => {
                Ok((StatusCode::CREATED, call.body))
            }
            Method::POST if call.path.name.is_empty() => self.create(path, call.body),
            Method::PUT => {
                let stored = stored.ok_or(NOT_FOUND)?;
                self.change(&call.path, stored, call.body)
            }
            Method::PATCH if call.media_type.contains("apply-patch") => match stored {
                Some(stored) => self.merge(&call.path, stored, call.body),
                None if call.path.subresource.is_empty() => self.create(path, call.body),
                None => Err(NOT_FOUND),
            },
            Method::PATCH if call.media_type.contains("json-patch") => {
                let stored = stored.ok_or(NOT_FOUND)?;
                let mut changed = stored.clone();
                json_patch(&mut changed, &call.body).ok_or(INVALID)?;
                self.change(&call.path, stored, changed)
            }
            Method::PATCH => {
                let stored = stored.ok_or(NOT_FOUND)?;
                self.merge(&call.path, stored, call.body)
            }
            Method::DELETE => {
                let wanted = call.body["preconditions"]["uid"].as_str();
                let uid = stored.as_ref().map(|stored| &stored["metadata"]["uid"]);
                if uid.is_some_and(|uid| wanted.is_some_and(|wanted| uid != wanted)) {
                    return Err((StatusCode::CONFLICT, "Conflict"));
                }
                self.delete(&path)
            }
            _ => Err((StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed")),
        }
    }

    fn list(&self, call: &Call) -> Value {
        let selector = call.query.get("labelSelector").map_or("", String::as_str);
        let items: Vec<_> = self
            .stored
            .iter()
            .filter(|(path, object)| call.path.holds(path) && selected(object, selector))
            .map(|(_, object)| object)
            .collect();
        let api_version = call
            .path
            .root
            .trim_start_matches("/apis/")
            .trim_start_matches("/api/");
        let version = self.version.to_string();
        json!({
            "apiVersion": api_version, "kind": "List",
            "metadata": {"resourceVersion": version}, "items": items,
        })
    }

    fn create(&mut self, mut path: Path, mut object: Value) -> Answer {
        if !object.is_object() {
            return Err(INVALID);
        }
        if path.name.is_empty() {
            let name = object["metadata"]["name"].as_str().map(str::to_owned);
            let prefix = object["metadata"]["generateName"].as_str();
            let made = prefix.map(|prefix| format!("{prefix}{:05}", self.version));
            path.name = name.or(made).ok_or(INVALID)?;
        }
        if self.stored.contains_key(&path) {
            return Err((StatusCode::CONFLICT, "AlreadyExists"));
        }
        object.as_object_mut().map(|object| object.remove("status"));
        Ok((StatusCode::CREATED, self.store(path, object)))
    }

    fn merge(&mut self, path: &Path, stored: Value, body: Value) -> Answer {
        let mut changed = stored.clone();
        merge(&mut changed, body);
        self.change(path, stored, changed)
    }

    /// Stores `changed`, of which only the status counts at `/status`, and all but the status elsewhere.
    fn change(&mut self, path: &Path, stored: Value, mut changed: Value) -> Answer {
        let version = changed["metadata"]["resourceVersion"].as_str();
        if version.is_some_and(|version| stored["metadata"]["resourceVersion"] != version) {
            return Err((StatusCode::CONFLICT, "Conflict"));
        }
        let object = if path.subresource == "status" {
            let mut object = stored.clone();
            object["status"] = changed["status"].take();
            object
        } else {
            changed["status"] = stored["status"].clone();
            changed
        };
        let mut object = without_nulls(object);
        if object == stored {
            return Ok((StatusCode::OK, stored));
        }
        if object["spec"] != stored["spec"] {
            let generation = stored["metadata"]["generation"]
                .as_i64()
                .unwrap_or_default()
                + 1;
            object["metadata"]["generation"] = json!(generation);
        }
        let deleted = object["metadata"]["deletionTimestamp"].is_string() && !held(&object);
        let path = path.object();
        let object = if deleted {
            self.remove(&path, object)
        } else {
            self.store(path, object)
        };
        Ok((StatusCode::OK, object))
    }

    fn remove(&mut self, path: &Path, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.stored.remove(path);
        self.changed("DELETED", path.clone(), &object);
        object
    }

    fn changed(&mut self, kind: &str, path: Path, object: &Value) {
        self.changes.push(Change {
            version: self.version,
            path,
            event: json!({"type": kind, "object": object}),
        });
    }

    /// Stores an object, with the fields that the API server sets.
    fn store(&mut self, path: Path, mut object: Value) -> Value {
        self.version += 1;
        let meta = &mut object["metadata"];
        meta["resourceVersion"] = json!(self.version.to_string());
        meta["name"] = json!(path.name);
        if !path.namespace.is_empty() {
            meta["namespace"] = json!(path.namespace);
        }
        for (field, value) in [
            ("uid", json!(format!("uid-{}", self.version))),
            ("generation", json!(1)),
            ("creationTimestamp", json!(now())),
        ] {
            set_if_missing(meta, field, value);
        }
        let object = without_nulls(object);
        let known = self.stored.insert(path.clone(), object.clone()).is_some();
        self.changed(if known { "MODIFIED" } else { "ADDED" }, path, &object);
        object
    }
}

const NOT_FOUND: (StatusCode, &str) = (StatusCode::NOT_FOUND, "NotFound");
const INVALID: (StatusCode, &str) = (StatusCode::UNPROCESSABLE_ENTITY, "Invalid");

fn set_if_missing(meta: &mut Value, field: &str, value: Value) {
    if meta.get(field).is_none_or(Value::is_null) {
        meta[field] = value;
    }
}

fn now() -> String {
    format!("{:.0}", Timestamp::now())
}

/// Whether finalizers keep an object from being deleted.
fn held(object: &Value) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_to_pieces() {
        let path = |text| {
            let path = Path::parse(text).unwrap();
            [
                path.root,
                path.namespace,
                path.plural,
                path.name,
                path.subresource,
            ]
            .join(" ")
        };
        assert_eq!(path("/api/v1/pods"), "/api/v1  pods  ");
        assert_eq!(
            path("/api/v1/namespaces/a/pods/b/status"),
            "/api/v1 a pods b status"
        );
        assert_eq!(path("/api/v1/namespaces/a"), "/api/v1  namespaces a ");
        assert_eq!(
            path("/api/v1/namespaces/a/status"),
            "/api/v1  namespaces a status"
        );
        assert_eq!(
            path("/apis/g/v1/namespaces/a/things"),
            "/apis/g/v1 a things  "
        );
        assert_eq!(Path::parse("/version").map(|path| path.plural), None);
    }
}
