//! An object that may be written, as JSON text.
//!
//! A reconcile that finds nothing to do still has to find out that it would send the same as before. A tree of JSON values would cost
//! more than everything else that such a reconcile does, so it is built only when the text has changed.

use std::hash::Hash;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::writes::kind::KindData;

/// An object as its type serializes it, and what is sent instead of its type and metadata.
pub(crate) struct Serialized {
    api_version: String,
    kind: String,
    meta: String,
    object: String,
}

impl Serialized {
    /// An object of this kind, to be sent with this metadata, except what the API server sets in it.
    pub(crate) fn new(
        kind: &KindData,
        object: &impl Serialize,
        meta: ObjectMeta,
    ) -> serde_json::Result<Self> {
        let meta = ObjectMeta {
            creation_timestamp: None,
            generation: None,
            managed_fields: None,
            resource_version: None,
            self_link: None,
            uid: None,
            ..meta
        };
        Ok(Self {
            api_version: kind.resource.api_version.clone(),
            kind: kind.name().to_owned(),
            meta: serde_json::to_string(&meta)?,
            object: serde_json::to_string(object)?,
        })
    }

    /// The text. It may differ between equal objects: the order of a `HashMap` is random.
    pub(crate) fn text(&self) -> impl Hash {
        (&self.meta, &self.object)
    }

    /// What is sent: the object without its status.
    ///
    /// # Errors
    /// If the object is not a JSON object, or is nested too deeply to be read again.
    pub(crate) fn body(&self) -> serde_json::Result<Value> {
        let mut body: Map<String, Value> = serde_json::from_str(&self.object)?;
        body.retain(|field, value| field != "status" && !value.is_null());
        body.insert("apiVersion".to_owned(), self.api_version.as_str().into());
        body.insert("kind".to_owned(), self.kind.as_str().into());
        body.insert("metadata".to_owned(), serde_json::from_str(&self.meta)?);
        Ok(body.into())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
    use kube::api::DynamicObject;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_belongs_to_the_api_server_is_not_sent() {
        let object: DynamicObject = serde_json::from_value(json!({
            "metadata": {
                "name": "a", "uid": "u", "resourceVersion": "1", "generation": 2,
                "creationTimestamp": Timestamp::UNIX_EPOCH, "selfLink": "/a", "managedFields": [{}],
                "labels": {"b": "c"},
            },
            "status": {"d": 1},
            "data": {"e": "f", "g": null},
            "immutable": null,
        }))
        .unwrap();
        let kind = KindData::of::<ConfigMap>();
        let serialized = Serialized::new(&kind, &object, object.metadata.clone()).unwrap();
        let expected = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": {"b": "c"}},
            "data": {"e": "f", "g": null},
        });
        assert_eq!(serialized.body().unwrap(), expected);
    }
}
