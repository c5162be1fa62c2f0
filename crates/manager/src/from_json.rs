//! JSON -> a typed object, without losing the fields that its type does not have.

use std::{any::type_name, cell::RefCell, fmt::Write as _};

use serde::{
    Deserializer,
    de::{DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor},
    forward_to_deserialize_any,
};
use serde_json::{Error, Value, map};

use crate::controller::retry::terminal;

/// Reads an object from JSON, as `serde_json::json!` builds it. A field that the type does not have is an error.
///
/// The types of `k8s_openapi` ignore unknown fields, because objects may come from a newer API server. In your own code, such
/// a field is a typing error, which `serde_json::from_value` would drop silently. So `from_json` reports it, with the
/// nearest field.
///
/// ```
/// # use k8s_openapi::api::apps::v1::Deployment;
/// use serde_json::json;
///
/// let error = manager::from_json::<Deployment>(json!({ "spec": { "replica": 3 } })).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "`spec.replica` is not a field of Deployment\nhelp: did you mean `replicas`?"
/// );
/// ```
///
/// A struct with `#[serde(flatten)]` and an enum without a tag ignore unknown fields all the same: serde does not tell.
///
/// # Errors
/// The JSON has such a field, or a value of another type; the error names its path. It is [`terminal`]: to retry does not help.
pub fn from_json<T: DeserializeOwned>(json: Value) -> anyhow::Result<T> {
    let found = RefCell::default();
    let read = T::deserialize(At {
        value: json,
        path: Path::Root,
        siblings: &[],
        found: &found,
    });
    let name = type_name::<T>();
    let name = name.split('<').next().and_then(|it| it.rsplit("::").next());
    let name = name.unwrap_or_default();
    let Found {
        mut unknown,
        failed,
    } = found.into_inner();
    unknown.sort();
    let object = read.map_err(|error| match failed {
        Some(path) => terminal(anyhow::anyhow!(
            "`{path}` of {name} cannot be read: {error}"
        )),
        None => terminal(anyhow::anyhow!("cannot read {name}: {error}")),
    })?;
    if unknown.is_empty() {
        return Ok(object);
    }
    let mut text = String::new();
    for (path, nearest) in unknown {
        let line = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{line}`{path}` is not a field of {name}");
        if let Some(nearest) = nearest {
            let _ = write!(text, "\nhelp: did you mean `{nearest}`?");
        }
    }
    Err(terminal(anyhow::Error::msg(text)))
}

/// What was noticed on the way.
#[derive(Default)]
struct Found {
    /// The paths of unknown fields, each with the nearest known one.
    unknown: Vec<(String, Option<&'static str>)>,
    /// The path of the value that could not be read.
    failed: Option<String>,
}

/// Where a value is: `spec.containers[0].name`.
#[derive(Clone, Copy)]
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, at) => write!(f, "{parent}[{at}]"),
        }
    }
}

/// A value at its path.
struct At<'a> {
    value: Value,
    path: Path<'a>,
    /// The fields of the struct that it is in, which its own name should be one of.
    siblings: &'static [&'static str],
    found: &'a RefCell<Found>,
}

impl At<'_> {
    fn visit<'de, V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value {
            Value::Object(map) => visitor.visit_map(Fields {
                rest: map.into_iter(),
                next: None,
                siblings: fields,
                path: &self.path,
                found: self.found,
            }),
            Value::Array(list) => visitor.visit_seq(Items {
                rest: list.into_iter(),
                at: 0,
                path: &self.path,
                found: self.found,
            }),
            scalar => scalar.deserialize_any(visitor),
        }
    }
}

impl<'de> Deserializer<'de> for At<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit(&[], visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.visit(fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.value.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let nearest = match self.path {
            Path::Field(_, name) => nearest(name, self.siblings),
            Path::Root | Path::Item(..) => None,
        };
        let unknown = (self.path.to_string(), nearest);
        self.found.borrow_mut().unknown.push(unknown);
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier
    }
}

/// The fields of an object that are left.
struct Fields<'a> {
    rest: map::IntoIter,
    next: Option<(String, Value)>,
    siblings: &'static [&'static str],
    path: &'a Path<'a>,
    found: &'a RefCell<Found>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        self.next = self.rest.next();
        let key = self.next.as_ref().map(|(name, _)| Value::from(&**name));
        key.map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, value) = self.next.take().unwrap_or_default();
        let at = At {
            value,
            path: Path::Field(self.path, &name),
            siblings: self.siblings,
            found: self.found,
        };
        let path = at.path;
        seed.deserialize(at)
            .inspect_err(|_| failed(self.found, path))
    }
}

/// The items of a list that are left.
struct Items<'a> {
    rest: std::vec::IntoIter<Value>,
    at: usize,
    path: &'a Path<'a>,
    found: &'a RefCell<Found>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some(value) = self.rest.next() else {
            return Ok(None);
        };
        let path = Path::Item(self.path, self.at);
        self.at += 1;
        let at = At {
            value,
            path,
            siblings: &[],
            found: self.found,
        };
        let read = seed.deserialize(at);
        read.map(Some).inspect_err(|_| failed(self.found, path))
    }
}

/// The innermost value fails first.
fn failed(found: &RefCell<Found>, path: Path<'_>) {
    let failed = &mut found.borrow_mut().failed;
    failed.get_or_insert_with(|| path.to_string());
}

/// The field that was probably meant.
fn nearest(typed: &str, fields: &'static [&'static str]) -> Option<&'static str> {
    let distance =
        |field: &str| strsim::damerau_levenshtein(&typed.to_lowercase(), &field.to_lowercase());
    let all = fields.iter().map(|field| (distance(field), *field));
    let most = (typed.len() / 3).max(1);
    all.min()
        .filter(|(distance, _)| *distance <= most)
        .map(|(_, field)| field)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    };
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn fails<T: DeserializeOwned + std::fmt::Debug>(json: Value, expected: &str) {
        assert_eq!(from_json::<T>(json).unwrap_err().to_string(), expected);
    }

    #[test]
    fn a_field_that_the_type_does_not_have_is_reported_with_the_nearest_one() {
        let container =
            json!({ "name": "web", "image": "nginx", "port": [], "livenesProbe": null });
        let pod = json!({ "spec": { "containers": [container] } });
        fails::<Deployment>(
            json!({ "spec": { "selector": {}, "template": pod }, "spce": {}, "quay": 1 }),
            "`quay` is not a field of Deployment\n\
             `spce` is not a field of Deployment\n\
             help: did you mean `spec`?\n\
             `spec.template.spec.containers[0].livenesProbe` is not a field of Deployment\n\
             help: did you mean `livenessProbe`?\n\
             `spec.template.spec.containers[0].port` is not a field of Deployment\n\
             help: did you mean `ports`?",
        );
    }

    #[test]
    fn a_value_of_another_type_is_reported_with_its_path() {
        fails::<Deployment>(
            json!({ "spec": { "replicas": "3" } }),
            "`spec.replicas` of Deployment cannot be read: invalid type: string \"3\", expected i32",
        );
        let port = json!({ "port": 80, "targetPort": [] });
        let error = from_json::<Service>(json!({ "spec": { "ports": [{ "port": 1 }, port] } }));
        let error = error.unwrap_err().to_string();
        assert!(
            error.starts_with("`spec.ports[1].targetPort` of Service cannot be read"),
            "{error}"
        );
        fails::<ConfigMap>(
            json!([]),
            "cannot read ConfigMap: invalid type: sequence, expected ConfigMap",
        );
    }

    #[test]
    fn what_a_type_keeps_is_read_as_serde_json_reads_it() {
        for json in [
            json!({ "metadata": { "labels": { "a b": "c" }, "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 3 } }),
            json!({ "spec": { "ports": [{ "port": 80, "targetPort": "http" }, { "port": 81, "targetPort": 1 }], "type": null } }),
        ] {
            let read: Service = from_json(json.clone()).unwrap();
            assert_eq!(read, serde_json::from_value(json).unwrap());
        }
        let map =
            json!({ "data": { "any": "key" }, "binaryData": { "a": "YQ==" }, "immutable": true });
        let read: ConfigMap = from_json(map.clone()).unwrap();
        assert_eq!(read, serde_json::from_value(map).unwrap());
    }
}
