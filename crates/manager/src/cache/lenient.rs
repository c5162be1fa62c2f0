//! Reads objects one by one, so that an object that its type cannot read does not break a list or a watch.

use kube::{Resource, api::ObjectMeta};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::value::RawValue;

use crate::{
    cache::stripped::{Stripped, resource_of},
    json_path::explain,
    panics::caught,
};

/// An object delivered by a watch.
#[derive(Clone, Debug)]
pub(crate) enum Lenient<K> {
    Object(K),
    // Boxed, because an `Unreadable` may be larger than a `K`.
    Unreadable(Box<Unreadable>),
}

/// The known parts of an object that its type cannot read, for example because it was stored under an earlier schema.
#[derive(Clone, Debug)]
pub(crate) struct Unreadable {
    pub(crate) meta: ObjectMeta,
    /// The field, and the error in it.
    pub(crate) reason: String,
}

/// The part of an object that all kinds share.
#[derive(Deserialize)]
struct Meta {
    metadata: ObjectMeta,
}

impl<K: Resource> Resource for Lenient<K> {
    resource_of!(K);

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Object(object) => object.meta(),
            Self::Unreadable(object) => &object.meta,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Object(object) => object.meta_mut(),
            Self::Unreadable(object) => &mut object.meta,
        }
    }
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Lenient<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Borrow the text from the response of the API server, without a copy. That is one more pass over the text,
        // which takes a fifth of the time of parsing it.
        let text = <&RawValue>::deserialize(deserializer)?.get();
        read(text).map_err(D::Error::custom)
    }
}

/// Reads an object, or at least its metadata.
fn read<K: DeserializeOwned>(text: &str) -> serde_json::Result<Lenient<K>> {
    // The type may have its own code to deserialize itself, and a panic there would end the watch.
    let object = caught(|| serde_json::from_str(text));
    let reason = match object {
        Ok(Ok(Stripped(object))) => return Ok(Lenient::Object(object)),
        Ok(Err(error)) => explain(text, &error),
        Err(panic) => format!("reading it panicked: {panic}"),
    };
    let Stripped(Meta { metadata: meta }) = serde_json::from_str(text)?;
    Ok(Lenient::Unreadable(Box::new(Unreadable { meta, reason })))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::{ObjectList, WatchEvent};

    use super::*;

    const BAD: &str =
        r#"{"metadata":{"name":"bad","labels":{"a":"b"},"managedFields":[]},"data":5}"#;
    const GOOD: &str = r#"{"metadata":{"name":"good"},"data":{"a":"b"}}"#;

    fn shown(object: &Lenient<ConfigMap>) -> String {
        let name = object.meta().name.as_deref().unwrap_or_default();
        match object {
            Lenient::Object(_) => name.to_owned(),
            Lenient::Unreadable(object) => format!("{name}: {}", object.reason),
        }
    }

    #[test]
    fn a_list_may_contain_an_unreadable_object() {
        let list = format!(r#"{{"metadata":{{}},"items":[{BAD},{GOOD}]}}"#);
        let list: ObjectList<Lenient<ConfigMap>> = serde_json::from_str(&list).unwrap();
        let shown: Vec<_> = list.items.iter().map(shown).collect();
        let bad = "bad: data: invalid type: integer `5`, expected a map";
        assert_eq!(shown, [bad, "good"]);
        let meta = list.items[0].meta();
        assert_eq!((meta.labels.iter().len(), &meta.managed_fields), (1, &None));
    }

    #[test]
    fn a_watch_event_may_contain_an_unreadable_object() {
        let event = format!(r#"{{"type":"DELETED","object":{BAD}}}"#);
        let event: WatchEvent<Lenient<ConfigMap>> = serde_json::from_str(&event).unwrap();
        let WatchEvent::Deleted(object) = event else {
            panic!("{event:?}");
        };
        assert!(shown(&object).starts_with("bad: data"));
    }

    #[test]
    fn an_object_whose_type_panics_is_unreadable() {
        #[derive(Debug)]
        struct Panics;
        impl<'de> Deserialize<'de> for Panics {
            fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                panic!("it cannot be");
            }
        }
        let Ok(Lenient::Unreadable(object)) = read::<Panics>(BAD) else {
            panic!("it was read");
        };
        assert_eq!(object.reason, "reading it panicked: it cannot be");
    }
}
