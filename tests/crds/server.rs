//! The API server: which objects it accepts under a CRD.

use std::time::{Duration, Instant};

use kbr_envtest::crds::remove_conversion;
use serde_json::{Value, json};

use super::collection::Entry;
use super::proxy::Proxy;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// How long the API server may take to serve a CRD, or to remove one.
const LIMIT: Duration = Duration::from_secs(60);

/// How often to take out what the API server rejects of an object.
const REPAIRS: usize = 12;

/// A running API server.
pub struct Server(Proxy);

impl Server {
    /// Starts one.
    pub fn start() -> Self {
        Self(Proxy::start(&super::kbr()))
    }

    /// Installs a CRD, whose objects nothing converts.
    ///
    /// # Errors
    /// The API server rejects it.
    pub fn install(&self, entry: &Entry) -> Result<(), String> {
        let mut crds = [entry.crd.clone()];
        remove_conversion(&mut crds);
        // Some files have only a version that is not the stored one.
        if !entry
            .definition
            .versions
            .iter()
            .any(|version| version.storage)
        {
            crds[0]["spec"]["versions"][0]["storage"] = json!(true);
        }
        let (status, answer) = self.0.json("POST", DEFINITIONS, Some(&crds[0]));
        if status != 201 {
            return Err(message(&answer));
        }
        for version in entry
            .definition
            .versions
            .iter()
            .filter(|version| version.served)
        {
            let path = path(entry, &version.name);
            until(|| self.0.json("GET", &path, None).0 == 200);
        }
        Ok(())
    }

    /// Removes a CRD.
    ///
    /// # Panics
    /// It does not vanish.
    pub fn remove(&self, entry: &Entry) {
        let name = entry.crd["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{DEFINITIONS}/{name}");
        self.0.json("DELETE", &path, None);
        until(|| self.0.json("GET", &path, None).0 == 404);
    }

    /// The object as the API server would store it.
    ///
    /// # Errors
    /// It rejects the object.
    pub fn stored(&self, entry: &Entry, version: &str, object: &Value) -> Result<Value, Value> {
        let path = format!("{}?dryRun=All&fieldValidation=Strict", path(entry, version));
        let (status, mut answer) = self.0.json("POST", &path, Some(object));
        if status != 201 {
            return Err(answer);
        }
        if let Some(metadata) = answer["metadata"].as_object_mut() {
            for key in ["creationTimestamp", "generation", "managedFields", "uid"] {
                metadata.remove(key);
            }
        }
        Ok(answer)
    }

    /// The object, without what the API server rejects of it, and as it would be stored.
    ///
    /// # Errors
    /// Nothing is left to take out; then it is the message.
    pub fn accepted(
        &self,
        entry: &Entry,
        version: &str,
        mut object: Value,
    ) -> Result<(Value, Value), String> {
        let mut rejected = Value::Null;
        for _ in 0..REPAIRS {
            match self.stored(entry, version, &object) {
                Ok(stored) => return Ok((object, stored)),
                Err(answer) => rejected = answer,
            }
            let causes = rejected["details"]["causes"]
                .as_array()
                .into_iter()
                .flatten();
            let taken = causes
                .filter(|cause| take(&mut object, cause) || thin(&mut object, cause))
                .count();
            if taken == 0 {
                break;
            }
        }
        Err(message(&rejected))
    }
}

fn until(mut is_done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_done() {
        assert!(began.elapsed() < LIMIT, "the API server does not follow");
    }
}

fn message(answer: &Value) -> String {
    answer["message"]
        .as_str()
        .unwrap_or_default()
        .chars()
        .take(600)
        .collect()
}

fn path(entry: &Entry, version: &str) -> String {
    let (group, plural) = (&entry.definition.group, &entry.definition.plural);
    let namespace = if entry.definition.namespaced {
        "/namespaces/default"
    } else {
        ""
    };
    format!("/apis/{group}/{version}{namespace}/{plural}")
}

/// Removes the field that a cause names; if it is missing, the object that lacks it.
fn take(object: &mut Value, cause: &Value) -> bool {
    let mut steps = steps(cause["field"].as_str().unwrap_or_default());
    if cause["reason"] == json!("FieldValueRequired") {
        steps.pop();
    }
    let Some((last, parents)) = steps
        .split_last()
        .filter(|(_, parents)| !parents.is_empty())
    else {
        return false;
    };
    let pointer = pointer(parents);
    match object.pointer_mut(&pointer) {
        Some(Value::Object(fields)) => fields.remove(*last).is_some(),
        Some(Value::Array(items)) => {
            let at = last.parse().ok().filter(|at| *at < items.len());
            at.map(|at: usize| items.remove(at)).is_some()
        }
        _ => false,
    }
}

/// The fields and items of a path.
fn steps(path: &str) -> Vec<&str> {
    path.split(['.', '[', ']'])
        .filter(|step| !step.is_empty())
        .collect()
}

/// A JSON pointer to what these steps lead to.
fn pointer(steps: &[&str]) -> String {
    let root = std::iter::once("");
    root.chain(steps.iter().copied())
        .collect::<Vec<_>>()
        .join("/")
}

/// Removes any field of the object that a cause names, which breaks a rule.
fn thin(object: &mut Value, cause: &Value) -> bool {
    let any = object.to_string().len();
    let field = cause["field"].as_str().unwrap_or_default();
    // `oneOf` and its like are reported at the root, with the path in the message.
    let message = cause["message"].as_str().unwrap_or_default();
    let path = message
        .split('"')
        .find(|part| part.starts_with("spec."))
        .filter(|_| field == "<nil>");
    let pointer = pointer(&steps(path.unwrap_or(field)));
    let Some(Value::Object(fields)) = object.pointer_mut(&pointer) else {
        return false;
    };
    let key = fields.keys().nth(any % fields.len().max(1)).cloned();
    key.is_some_and(|key| fields.remove(&key).is_some())
}
