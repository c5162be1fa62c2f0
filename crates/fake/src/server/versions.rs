//! Versions of a kind: an object is stored in one of them, and read and written in each of them.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/conversion`. A write works on the object in the version of the
//! request, and converts the result; a read converts what is stored. The field names that managers own are not converted.

use serde_json::Value;

use super::{
    Call,
    answer::{Answer, ErrorResponse},
    path::Path,
    store::Objects,
};
use crate::conversion::Conversions;

impl Objects {
    /// From now on, objects are converted by this operator.
    pub fn set_conversions(&mut self, conversions: Option<Conversions>) {
        self.conversions = conversions;
    }

    /// The path under which the object at this path is stored, if that is in another version, and this server can convert it.
    pub(super) fn converted_path(&self, path: &Path) -> Option<Path> {
        let (version, by_webhook) = self.kinds.stored_version(path)?;
        if by_webhook && self.conversions.is_none() {
            return None;
        }
        let root = format!("/apis/{}/{version}", path.group());
        (root != path.root).then(|| Path {
            root,
            ..path.clone()
        })
    }

    /// The path under which the object at this path is stored.
    #[must_use]
    pub fn stored_path(&self, path: &Path) -> Path {
        self.converted_path(path).unwrap_or_else(|| path.clone())
    }

    /// This path in the other versions of its kind, if this server can convert to them.
    #[must_use]
    pub fn other_versions(&self, path: &Path) -> Vec<Path> {
        let versions = self.kinds.served_versions(path).into_iter();
        let paths = versions.map(|version| Path {
            root: format!("/apis/{}/{version}", path.group()),
            ..path.clone()
        });
        let stored_at = self.stored_path(path);
        let others = paths.filter(|other| other != path && self.stored_path(other) == stored_at);
        others.collect()
    }

    /// The stored object in the version of this path.
    ///
    /// # Errors
    /// If it cannot be converted.
    pub fn read(&self, path: &Path) -> Result<Option<Value>, ErrorResponse> {
        let found = self.get(&self.stored_path(path));
        found.map(|object| self.shown_at(object, path)).transpose()
    }

    /// An object in the version of this path.
    ///
    /// # Errors
    /// If it cannot be converted.
    pub fn shown_at(&self, object: &Value, path: &Path) -> Result<Value, ErrorResponse> {
        let mut one = self.converted(std::slice::from_ref(object), path)?;
        Ok(one.pop().unwrap_or_default())
    }

    /// An object in the version of this path, without the defaults of that version: as webhooks see it.
    ///
    /// # Errors
    /// If it cannot be converted.
    pub fn reviewed_at(&self, object: &Value, path: &Path) -> Result<Value, ErrorResponse> {
        if object["apiVersion"] == path.api_version() {
            return Ok(object.clone());
        }
        let mut one = self.converted_by(std::slice::from_ref(object), path)?;
        Ok(one.pop().unwrap_or_default())
    }

    /// An object with the defaults of the version of this path.
    pub fn with_defaults(&self, object: &mut Value, path: &Path) {
        if let Some(schema) = self.kinds.of(path).and_then(|kind| kind.schema) {
            apiserver_rules::set_defaults(object, &schema);
        }
    }

    /// An object of the user in the version that is stored, with the defaults of its own version if that is another one.
    ///
    /// # Errors
    /// If it cannot be converted.
    pub fn completed_at(
        &self,
        mut object: Value,
        path: &Path,
        stored_at: &Path,
    ) -> Result<Value, ErrorResponse> {
        if path == stored_at {
            return Ok(object);
        }
        let kind = self.kinds.of(path);
        if let Some(schema) = kind.as_ref().and_then(|kind| kind.schema.as_ref()) {
            apiserver_rules::complete(&mut object, schema);
        }
        self.shown_at(&object, stored_at)
    }

    /// Objects in the version of this path.
    fn converted(&self, objects: &[Value], path: &Path) -> Result<Vec<Value>, ErrorResponse> {
        let version = path.api_version();
        let from = objects.iter().map(|object| &object["apiVersion"]);
        if from.clone().all(|from| from == version) {
            return Ok(objects.to_vec());
        }
        let mut converted = self.converted_by(objects, path)?;
        // Each version has its own fields and defaults.
        if let Some(schema) = self.kinds.of(path).and_then(|kind| kind.schema) {
            let all = converted.iter_mut();
            all.for_each(|object| apiserver_rules::complete(object, &schema));
        }
        Ok(converted)
    }

    /// Objects as the operator converts them, or with another `apiVersion` and nothing else.
    fn converted_by(&self, objects: &[Value], path: &Path) -> Result<Vec<Value>, ErrorResponse> {
        let version = path.api_version();
        let (_, by_webhook) = self.kinds.stored_version(path).unwrap_or_default();
        let Some(conversions) = self.conversions.as_ref().filter(|_| by_webhook) else {
            let renamed = |object: &Value| {
                let mut object = object.clone();
                object["apiVersion"] = version.into();
                object
            };
            return Ok(objects.iter().map(renamed).collect());
        };
        let mut converted = conversions.convert(objects, version).map_err(|why| {
            let object = &objects[0];
            let (from, kind) = (&object["apiVersion"], &object["kind"]);
            let [from, kind] = [from, kind].map(|it| it.as_str().unwrap_or_default());
            let why = format!("conversion webhook for {from}, Kind={kind} failed: {why}");
            ErrorResponse::internal(path, &why)
        })?;
        for (object, before) in converted.iter_mut().zip(objects) {
            restore(&mut object["metadata"], &before["metadata"]);
        }
        Ok(converted)
    }

    /// Handles a request in a version in which its objects are not stored; `stored_at` is its path in the one in which they are.
    pub(super) fn handle_converted(&mut self, call: &Call, stored_at: Path) -> Answer {
        self.known(call)?;
        let as_stored = Call {
            path: stored_at,
            ..call.clone()
        };
        let (status, mut body) = self.handle_stored(&as_stored)?;
        let is_other = |value: &Value| value["apiVersion"] == as_stored.path.api_version();
        if body["items"].is_array() && is_other(&body) {
            let items: Vec<Value> =
                serde_json::from_value(body["items"].take()).unwrap_or_default();
            body["items"] = self.converted(&items, &call.path)?.into();
            body["apiVersion"] = call.path.api_version().into();
        } else if is_other(&body) {
            body = self.shown_at(&body, &call.path)?;
        }
        Ok((status, body))
    }
}

/// Of the metadata, a conversion can only change labels and annotations.
fn restore(meta: &mut Value, before: &Value) {
    let mut kept = before.clone();
    for field in ["labels", "annotations"] {
        let now = meta[field].take();
        match kept.as_object_mut() {
            Some(kept) if now.is_null() => drop(kept.remove(field)),
            _ => kept[field] = now,
        }
    }
    *meta = kept;
}
