//! Whether anything is lost between two versions of a kind.

use std::fmt::Display;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::random::Random;

/// How many objects are tried in each direction.
const OBJECTS: u64 = 256;

/// Converts made-up objects of two versions to the other one and back, and compares.
///
/// The objects come from the schemas, the same in every run. A field that only one version has has to be kept somewhere,
/// an annotation for example, to come back.
///
/// # Panics
/// With the object and the first field that did not come back, or if no objects can be made.
pub fn round_trip<Hub, Spoke>()
where
    Hub: CustomResourceExt + Clone + Serialize + DeserializeOwned + TryFrom<Spoke, Error: Display>,
    Spoke: CustomResourceExt + Clone + Serialize + DeserializeOwned + TryFrom<Hub, Error: Display>,
{
    there_and_back::<Spoke, Hub>();
    there_and_back::<Hub, Spoke>();
}

fn there_and_back<A, B>()
where
    A: CustomResourceExt + Clone + Serialize + DeserializeOwned + TryFrom<B, Error: Display>,
    B: TryFrom<A, Error: Display>,
{
    let schema = schema(&A::crd());
    let version = A::api_resource().version;
    let mut made = 0;
    for seed in 0..OBJECTS {
        let Some(object) = make::<A>(&schema, seed) else {
            continue;
        };
        made += 1;
        let before = json(&object);
        let there = B::try_from(object)
            .unwrap_or_else(|error| panic!("cannot convert from {version}: {error}\n{before:#}"));
        let back = A::try_from(there).unwrap_or_else(|error| {
            panic!("cannot convert back to {version}: {error}\n{before:#}")
        });
        if let Some((path, was, is)) = difference(&before, &json(&back), String::new()) {
            panic!("{version}: `{path}` was {was}, and came back as {is}\n{before:#}");
        }
    }
    assert!(
        made >= OBJECTS / 8,
        "of {OBJECTS} objects that were made from the schema of {version}, its type takes only {made}"
    );
}

/// The schema of the one version that `crd` has.
fn schema(crd: &CustomResourceDefinition) -> Value {
    let version = crd.spec.versions.first();
    let schema = version.and_then(|version| version.schema.as_ref());
    json!(schema.map(|schema| &schema.open_api_v3_schema))["properties"].take()
}

fn make<K: CustomResourceExt + DeserializeOwned>(schema: &Value, seed: u64) -> Option<K> {
    let mut random = Random::new(seed);
    let resource = K::api_resource();
    let mut object = json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": { "name": "sample", "namespace": "default" },
    });
    for (name, property) in schema.as_object()? {
        if object[name].is_null() {
            object[name] = random.value(property, 0);
        }
    }
    serde_json::from_value(object).ok()
}

fn json(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// Where `is` is not `was`, and both there.
fn difference(was: &Value, is: &Value, path: String) -> Option<(String, Value, Value)> {
    match (was, is) {
        (Value::Object(old), Value::Object(new)) => {
            let names = old
                .keys()
                .chain(new.keys().filter(|name| !old.contains_key(*name)));
            let mut differences = names
                .filter(|name| !path.is_empty() || *name != "apiVersion")
                .filter_map(|name| {
                    let path = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    difference(&was[name], &is[name], path)
                });
            differences.next()
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let pairs = old.iter().zip(new).enumerate();
            let mut differences =
                pairs.filter_map(|(at, (old, new))| difference(old, new, format!("{path}[{at}]")));
            differences.next()
        }
        _ if was == is => None,
        _ => Some((path, was.clone(), is.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A version whose spec has these fields.
    macro_rules! version {
        ($module:ident, $version:literal, $($field:ident: $type:ty),+) => {
            mod $module {
                #[derive(
                    kube::CustomResource,
                    schemars::JsonSchema,
                    serde::Serialize,
                    serde::Deserialize,
                    Clone,
                    Debug,
                )]
                #[kube(group = "crew.example.com", version = $version, kind = "Captain", namespaced)]
                pub(super) struct CaptainSpec {
                    $(pub(super) $field: $type),+
                }
            }
        };
    }

    /// Both ways between two versions.
    macro_rules! convert {
        ($from:ident, $to:ident, $spec:ident => { $($field:ident: $value:expr),+ }) => {
            impl From<$from::Captain> for $to::Captain {
                fn from(captain: $from::Captain) -> Self {
                    let $spec = captain.spec;
                    let spec = $to::CaptainSpec { $($field: $value),+ };
                    Self { metadata: captain.metadata, spec }
                }
            }
        };
    }

    version!(v1, "v1", ship: String, crew: Option<u32>);
    version!(v2, "v2", vessel: String, crew: Option<u32>);
    version!(v3, "v3", vessel: String);
    convert!(v1, v2, spec => { vessel: spec.ship, crew: spec.crew });
    convert!(v2, v1, spec => { ship: spec.vessel, crew: spec.crew });
    convert!(v2, v3, spec => { vessel: spec.vessel });
    convert!(v3, v2, spec => { vessel: spec.vessel, crew: None });

    #[test]
    fn what_comes_back_whole_passes() {
        round_trip::<v2::Captain, v1::Captain>();
    }

    #[test]
    #[should_panic(expected = "v2: `spec.crew` was ")]
    fn a_field_that_is_lost_is_found() {
        round_trip::<v2::Captain, v3::Captain>();
    }

    #[test]
    fn differences_are_found_wherever_they_are() {
        let check = |was: Value, is: Value, path: &str| {
            let found = difference(&was, &is, String::new()).map(|(path, ..)| path);
            assert_eq!(found.as_deref().unwrap_or_default(), path);
        };
        check(
            json!({ "a": [1, { "b": 2 }] }),
            json!({ "a": [1, { "b": 2 }] }),
            "",
        );
        check(
            json!({ "a": [1, { "b": 2 }] }),
            json!({ "a": [1, {}] }),
            "a[1].b",
        );
        check(json!({}), json!({ "a": { "b": 1 } }), "a");
        check(json!({ "a": [] }), json!({ "a": [1] }), "a");
        check(json!({ "apiVersion": 1 }), json!({ "apiVersion": 2 }), "");
        check(
            json!({ "a": { "apiVersion": 1 } }),
            json!({ "a": { "apiVersion": 2 } }),
            "a.apiVersion",
        );
    }
}
