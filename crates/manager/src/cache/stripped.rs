//! Reads objects without the fields that every object carries and no operator uses.
//!
//! Managed fields are often more than half of an object. They are skipped while the response of the API server is
//! parsed: building and then dropping them would cost more time and memory than everything else.

use std::fmt;

use kube::Resource;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, IntoDeserializer, MapAccess, Visitor},
    forward_to_deserialize_any,
};

/// The annotation of `kubectl apply` that contains the whole object a second time.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What a wrapper of a kind `K` takes over from it as a `Resource`: all but the metadata.
macro_rules! resource_of {
    ($K:ident) => {
        type DynamicType = $K::DynamicType;
        type Scope = $K::Scope;

        fn metadata_api() -> bool {
            $K::metadata_api()
        }

        fn kind(dynamic: &$K::DynamicType) -> std::borrow::Cow<'_, str> {
            $K::kind(dynamic)
        }

        fn group(dynamic: &$K::DynamicType) -> std::borrow::Cow<'_, str> {
            $K::group(dynamic)
        }

        fn version(dynamic: &$K::DynamicType) -> std::borrow::Cow<'_, str> {
            $K::version(dynamic)
        }

        fn plural(dynamic: &$K::DynamicType) -> std::borrow::Cow<'_, str> {
            $K::plural(dynamic)
        }
    };
}
pub(crate) use resource_of;

/// An object without managed fields, self link, and the annotation of `kubectl apply`.
#[derive(Clone, Debug)]
pub(crate) struct Stripped<K>(pub(crate) K);

impl<K: Resource> Resource for Stripped<K> {
    resource_of!(K);

    fn meta(&self) -> &kube::api::ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut kube::api::ObjectMeta {
        self.0.meta_mut()
    }
}

impl<'de, K: Deserialize<'de>> Deserialize<'de> for Stripped<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let place = Place::Object;
        K::deserialize(Filter(deserializer, place)).map(Self)
    }
}

/// The map that is being read.
#[derive(Clone, Copy)]
enum Place {
    Object,
    Metadata,
    Annotations,
}

impl Place {
    fn drops(self, key: &str) -> bool {
        match self {
            Self::Object => false,
            Self::Metadata => key == "managedFields" || key == "selfLink",
            Self::Annotations => key == LAST_APPLIED,
        }
    }

    /// The place of the value under `key`, if something in it may have to be dropped.
    fn below(self, key: &str) -> Option<Self> {
        match (self, key) {
            (Self::Object, "metadata") => Some(Self::Metadata),
            (Self::Metadata, "annotations") => Some(Self::Annotations),
            _ => None,
        }
    }
}

/// An adapter for serde that drops keys of the map at this place, and is transparent otherwise.
struct Filter<T>(T, Place);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Filter<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Filter(visitor, self.1))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Filter(visitor, self.1))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = Filter(visitor, self.1);
        self.0.deserialize_newtype_struct(name, visitor)
    }

    // JSON is self-describing, and only maps are filtered.
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Filter<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let below = None;
        let place = self.1;
        self.0.visit_map(Map {
            entries: map,
            place,
            below,
        })
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Filter(deserializer, self.1))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Filter(deserializer, self.1))
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }
}

/// A map without some of its keys.
struct Map<A> {
    entries: A,
    place: Place,
    /// The place of the next value.
    below: Option<Place>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Map<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        while let Some(key) = self.entries.next_key::<String>()? {
            if self.place.drops(&key) {
                self.entries.next_value::<IgnoredAny>()?;
                continue;
            }
            self.below = self.place.below(&key);
            return seed.deserialize(key.into_deserializer()).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        match self.below.take() {
            Some(place) => self.entries.next_value_seed(Filter(seed, place)),
            None => self.entries.next_value_seed(seed),
        }
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Filter<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Filter(deserializer, self.1))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{DynamicObject, PartialObjectMeta};
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    /// An object with every dropped field, and with fields of the same names in places where they must stay.
    fn object() -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "a",
                "annotations": {LAST_APPLIED: "{}", "kept": "b"},
                "managedFields": [{"manager": "m", "fieldsV1": {"f:data": {}}}],
                "selfLink": "/a",
            },
            "data": {"managedFields": "kept", "annotations": "kept", "metadata": "kept"},
        })
    }

    fn read<K: DeserializeOwned>(object: &Value) -> K {
        let text = object.to_string();
        serde_json::from_str::<Stripped<K>>(&text).unwrap().0
    }

    #[test]
    fn stripping_drops_unused_metadata_and_keeps_the_rest() {
        let stripped: ConfigMap = read(&object());
        let mut whole: ConfigMap = serde_json::from_value(object()).unwrap();
        whole.metadata.managed_fields = None;
        whole.metadata.self_link = None;
        whole
            .metadata
            .annotations
            .as_mut()
            .unwrap()
            .remove(LAST_APPLIED);
        assert_eq!(stripped, whole);
        assert_eq!(stripped.data.unwrap().len(), 3);
    }

    #[test]
    fn dynamic_and_metadata_only_objects_are_stripped_as_well() {
        let dynamic: DynamicObject = read(&object());
        assert!(dynamic.metadata.managed_fields.is_none());
        assert_eq!(dynamic.data["data"]["managedFields"], "kept");
        let metadata: PartialObjectMeta<ConfigMap> = read(&object());
        assert!(metadata.metadata.managed_fields.is_none());
        assert_eq!(metadata.metadata.annotations.unwrap().len(), 1);
        assert_eq!(metadata.types.unwrap().kind, "ConfigMap");
    }

    #[test]
    fn a_value_that_is_not_an_object_is_an_error() {
        let error = serde_json::from_str::<Stripped<ConfigMap>>("[]").unwrap_err();
        assert!(
            error.to_string().contains("invalid type: sequence"),
            "{error}"
        );
        let error = serde_json::from_value::<Stripped<ConfigMap>>(json!({"metadata": "a"}));
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("invalid type: string")
        );
    }
}
