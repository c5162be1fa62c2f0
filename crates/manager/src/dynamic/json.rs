//! The JSON of objects of dynamic kinds.

use std::marker::PhantomData;

use kube::{Resource as _, api::ObjectMeta};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::Error as _,
    ser::{Error as _, SerializeMap as _},
};
use serde_json::{Map, Value};

use super::{Dynamic, DynamicKind};

/// The fields of an object that [`Dynamic`] keeps outside of its `data`.
const OUTSIDE: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

impl<D: DynamicKind, S: Serialize> Serialize for Dynamic<D, S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let kind = Self::kind(&());
        let none = Map::new();
        let data = match &self.data {
            Value::Object(data) => data,
            Value::Null => &none,
            _ => {
                let problem = format!("`data` of kind {kind} is not a JSON object");
                return Err(T::Error::custom(problem));
            }
        };
        if let Some(field) = OUTSIDE.iter().find(|field| data.contains_key(**field)) {
            let problem = format!(
                "`data` of kind {kind} must not contain `{field}`, which the object has beside it"
            );
            return Err(T::Error::custom(problem));
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", &Self::api_version(&()))?;
        map.serialize_entry("kind", &kind)?;
        map.serialize_entry("metadata", &self.metadata)?;
        for (field, value) in data {
            map.serialize_entry(field, value)?;
        }
        if let Some(status) = &self.status {
            map.serialize_entry("status", status)?;
        }
        map.end()
    }
}

/// An object of any kind. The API server leaves out `apiVersion` and `kind` in lists of its own kinds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields<S> {
    api_version: Option<String>,
    kind: Option<String>,
    #[serde(default)]
    metadata: ObjectMeta,
    status: Option<S>,
    #[serde(flatten)]
    data: Map<String, Value>,
}

impl<'de, D: DynamicKind, S: Deserialize<'de>> Deserialize<'de> for Dynamic<D, S> {
    fn deserialize<T: Deserializer<'de>>(deserializer: T) -> Result<Self, T::Error> {
        let fields = Fields::deserialize(deserializer)?;
        let expected = (Self::api_version(&()), Self::kind(&()));
        let found = (
            fields.api_version.as_deref().unwrap_or(&expected.0),
            fields.kind.as_deref().unwrap_or(&expected.1),
        );
        if found != (&*expected.0, &*expected.1) {
            return Err(T::Error::custom(format!(
                "expected {} of {}, found {} of {}",
                expected.1, expected.0, found.1, found.0
            )));
        }
        Ok(Self {
            metadata: fields.metadata,
            status: fields.status,
            data: Value::Object(fields.data),
            kind: PhantomData,
        })
    }
}
