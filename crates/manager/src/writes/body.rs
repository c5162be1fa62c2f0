//! What a write sends: an object as JSON text.
//!
//! A reconcile that finds nothing to do still has to find out that it would send the same as before. Building the object as a tree
//! of values would cost more than everything else that such a reconcile does, so its text is compared instead.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::value::{RawValue, to_raw_value};

use crate::writes::kind::KindData;

/// An object that may be sent.
pub(crate) struct Body {
    api_version: String,
    kind: String,
    /// The metadata to send, as JSON.
    meta: String,
    /// The whole object as its type serializes it.
    object: String,
}

/// What is sent of an object: everything but its status, and but what the API server sets in its metadata.
pub(crate) struct Sent {
    pub(crate) json: Box<RawValue>,
    /// The [hash of the text](Body::text_hash), and one that is equal for equal objects, in whatever order their fields come.
    pub(crate) hashes: [u64; 2],
}

impl Body {
    /// An object of this kind with this metadata.
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

    /// A hash of the text. It may differ between equal objects: each `HashMap` has another order.
    pub(crate) fn text_hash(&self) -> u64 {
        Digest::of((&self.meta, &self.object)).0
    }

    /// What is sent.
    ///
    /// # Errors
    /// If the object is no JSON object, or is nested too deeply to be read again.
    pub(crate) fn sent(&self) -> serde_json::Result<Sent> {
        let types = (to_raw_value(&self.api_version)?, to_raw_value(&self.kind)?);
        let mut fields: BTreeMap<String, &RawValue> = serde_json::from_str(&self.object)?;
        fields.retain(|field, value| field != "status" && value.get() != "null");
        fields.insert("apiVersion".to_owned(), &types.0);
        fields.insert("kind".to_owned(), &types.1);
        fields.insert("metadata".to_owned(), serde_json::from_str(&self.meta)?);
        let json = to_raw_value(&fields)?;
        let Digest(digest) = serde_json::from_str(json.get())?;
        let hashes = [self.text_hash(), digest];
        Ok(Sent { json, hashes })
    }
}

/// The hash of a JSON value.
#[derive(Hash)]
struct Digest(u64);

impl Digest {
    fn of(value: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Digests)
    }
}

struct Digests;

/// The first element of each tuple tells values of different types apart.
impl<'de> Visitor<'de> for Digests {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Digest, E> {
        Ok(Digest::of(0_u8))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Digest, E> {
        Ok(Digest::of((1_u8, value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Digest, E> {
        Ok(Digest::of((2_u8, value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Digest, E> {
        Ok(Digest::of((3_u8, value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Digest, E> {
        Ok(Digest::of((4_u8, value.to_bits())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Digest, E> {
        Ok(Digest::of((5_u8, value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Digest, A::Error> {
        let mut hasher = DefaultHasher::new();
        6_u8.hash(&mut hasher);
        while let Some(element) = list.next_element::<Digest>()? {
            element.hash(&mut hasher);
        }
        Ok(Digest(hasher.finish()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Digest, A::Error> {
        let mut sum = 0_u64;
        while let Some(field) = object.next_entry::<Digest, Digest>()? {
            sum = sum.wrapping_add(Digest::of(field).0);
        }
        Ok(Digest::of((7_u8, sum)))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
    use kube::api::DynamicObject;
    use serde_json::{Value, json};

    use super::*;

    fn digest(text: &str) -> u64 {
        let Digest(digest) = serde_json::from_str(text).unwrap();
        digest
    }

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
        let body = Body::new(&kind, &object, object.metadata.clone()).unwrap();
        let sent: Value = serde_json::from_str(body.sent().unwrap().json.get()).unwrap();
        let expected = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": {"b": "c"}},
            "data": {"e": "f", "g": null},
        });
        assert_eq!(sent, expected);
    }

    #[test]
    fn the_order_of_fields_does_not_change_the_digest() {
        let one = digest(r#"{"a":{"x":1,"y":[true,"z"]},"b":-1.5}"#);
        assert_eq!(one, digest(r#"{"b":-1.5,"a":{"y":[true,"z"],"x":1}}"#));
    }

    #[test]
    fn every_other_change_changes_the_digest() {
        let texts = [
            "null",
            "false",
            "true",
            "0",
            "1",
            "-1",
            "1.0",
            r#""""#,
            r#""1""#,
            r#""null""#,
            "[]",
            "[[]]",
            "[1,2]",
            "[2,1]",
            "{}",
            r#"{"a":1}"#,
            r#"{"a":2}"#,
            r#"{"b":1}"#,
            r#"{"a":"1"}"#,
            r#"{"a":1,"b":2}"#,
            r#"{"a":2,"b":1}"#,
            r#"{"a":{"b":1}}"#,
            r#"{"a":{},"b":1}"#,
            r#"[{"a":1,"b":2}]"#,
            r#"[{"a":1},{"b":2}]"#,
        ];
        let mut digests: Vec<_> = texts.into_iter().map(digest).collect();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), texts.len());
    }
}
