//! Checks that conversion between two versions of a kind is lossless.

use std::fmt::Display;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use manager::harness::explain;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::invented::Inventor;

/// How many objects are tried in each direction.
const OBJECTS: u64 = 256;

/// Converts generated objects of two versions to the other one and back, and compares.
///
/// The objects are generated from the schemas, the same in every run. Strings follow the `enum`, `example`, `format`
/// and `pattern` of their schema; for other constraints, use [`round_trip_with`]. A field that only one version has
/// must be kept somewhere, for example in an annotation, to come back.
///
/// # Panics
/// With the object and the first field that did not come back, or if no objects can be generated.
pub fn round_trip<Hub, Spoke>()
where
    Hub: CustomResourceExt + Clone + Serialize + DeserializeOwned + TryFrom<Spoke, Error: Display>,
    Spoke: CustomResourceExt + Clone + Serialize + DeserializeOwned + TryFrom<Hub, Error: Display>,
{
    round_trip_with::<Hub, Spoke>(|_| {});
}

/// Like [`round_trip`], but `adjust` changes each object before it is read, to values that the schema does not
/// describe.
///
/// ```no_run
/// # use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
/// # fn check<Hub, Spoke>()
/// # where
/// #     Hub: kube::CustomResourceExt + Clone + serde::Serialize + serde::de::DeserializeOwned
/// #         + TryFrom<Spoke, Error: std::fmt::Display>,
/// #     Spoke: kube::CustomResourceExt + Clone + serde::Serialize + serde::de::DeserializeOwned
/// #         + TryFrom<Hub, Error: std::fmt::Display>,
/// # {
/// kbr_testing::round_trip_with::<Hub, Spoke>(|object| {
///     if let Some(schedule) = object.pointer_mut("/spec/schedule") {
///         *schedule = "*/5 * * * *".into();
///     }
/// });
/// # }
/// ```
///
/// # Panics
/// Like [`round_trip`].
pub fn round_trip_with<Hub, Spoke>(mut adjust: impl FnMut(&mut Value))
where
    Hub: CustomResourceExt + Clone + Serialize + DeserializeOwned + TryFrom<Spoke, Error: Display>,
    Spoke: CustomResourceExt + Clone + Serialize + DeserializeOwned + TryFrom<Hub, Error: Display>,
{
    there_and_back::<Spoke, Hub>(&mut adjust);
    there_and_back::<Hub, Spoke>(&mut adjust);
}

/// How to get better values.
const HELP: &str = "help: give the field an example, `#[schemars(extend(\"example\" = \"…\"))]`, or set it with `round_trip_with`";

fn there_and_back<A, B>(adjust: &mut dyn FnMut(&mut Value))
where
    A: CustomResourceExt + Clone + Serialize + DeserializeOwned + TryFrom<B, Error: Display>,
    B: TryFrom<A, Error: Display>,
{
    let schema = schema(&A::crd());
    let version = A::api_resource().version;
    let (mut made, mut unreadable) = (0, String::new());
    for seed in 0..OBJECTS {
        let object = match make::<A>(&schema, seed, adjust) {
            Ok(object) => object,
            Err(problem) => {
                unreadable = problem;
                continue;
            }
        };
        made += 1;
        let before = json(&object);
        let there = B::try_from(object).unwrap_or_else(|error| {
            panic!("cannot convert from {version}: {error}\n{HELP}\n{before:#}")
        });
        let back = A::try_from(there).unwrap_or_else(|error| {
            panic!("cannot convert back to {version}: {error}\n{HELP}\n{before:#}")
        });
        if let Some((path, was, is)) = difference(&before, &json(&back), String::new()) {
            panic!("{version}: `{path}` was {was}, and came back as {is}\n{before:#}");
        }
    }
    assert!(
        made >= OBJECTS / 8,
        "of {OBJECTS} objects that were made from the schema of {version}, its type reads only {made}; \
         not this one: {unreadable}\n{HELP}"
    );
}

/// The schema of the only version in `crd`.
fn schema(crd: &CustomResourceDefinition) -> Value {
    let version = crd.spec.versions.first();
    let schema = version.and_then(|version| version.schema.as_ref());
    json!(schema.map(|schema| &schema.open_api_v3_schema))["properties"].take()
}

/// A generated object, or the error if it cannot be read.
///
/// # Panics
/// If a string does not match its pattern.
fn make<K: CustomResourceExt + DeserializeOwned>(
    schema: &Value,
    seed: u64,
    adjust: &mut dyn FnMut(&mut Value),
) -> Result<K, String> {
    let mut inventor = Inventor::new(seed);
    let resource = K::api_resource();
    let mut object = json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": { "name": "sample", "namespace": "default" },
    });
    for (name, property) in schema.as_object().into_iter().flatten() {
        if object[name].is_null() {
            object[name] = inventor.value(name, property);
        }
    }
    adjust(&mut object);
    for unmatched in inventor.unmatched() {
        let place = format!("/{}", unmatched.path.join("/"));
        assert!(
            object.pointer(&place) != Some(&unmatched.text),
            "no text for the pattern of `{}` of {} can be made, `{}`\n{HELP}",
            unmatched.path.join("."),
            resource.version,
            unmatched.pattern
        );
    }
    let text = object.to_string();
    serde_json::from_str(&text).map_err(|error| explain(&text, &error))
}

fn json(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// The first path where both values are set and differ, with the values.
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

    /// Conversions in both directions between two versions.
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
    fn a_lossless_round_trip_passes() {
        round_trip::<v2::Captain, v1::Captain>();
    }

    #[test]
    #[should_panic(expected = "v2: `spec.crew` was ")]
    fn a_lost_field_fails_the_round_trip() {
        round_trip::<v2::Captain, v3::Captain>();
    }

    /// A schedule that conversion parses.
    mod cron {
        use std::net::IpAddr;

        use schemars::JsonSchema;
        use serde::{Deserialize, Serialize};

        macro_rules! version {
            ($module:ident, $version:literal, $schedule:ident) => {
                pub mod $module {
                    use super::*;

                    #[derive(kube::CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
                    #[kube(group = "crew.example.com", version = $version, kind = "Watch", namespaced)]
                    pub struct WatchSpec {
                        pub $schedule: String,
                        #[schemars(regex(pattern = r"^[0-9]{1,2}:[0-9]{2}$"))]
                        pub start: String,
                        #[schemars(extend("example" = "Europe/Berlin"))]
                        pub zone: String,
                        pub host: IpAddr,
                        #[schemars(regex(pattern = r"^a\bell"))]
                        pub bell: Option<String>,
                    }
                }
            };
        }
        version!(v1, "v1", schedule);
        version!(v2, "v2", times);
    }

    macro_rules! watches {
        ($from:ident.$old:ident, $to:ident.$new:ident) => {
            impl TryFrom<cron::$from::Watch> for cron::$to::Watch {
                type Error = String;

                fn try_from(watch: cron::$from::Watch) -> Result<Self, String> {
                    let cron::$from::WatchSpec {
                        $old,
                        start,
                        zone,
                        host,
                        bell,
                    } = watch.spec;
                    let fields = $old.split(' ').count();
                    if fields != 5 {
                        return Err(format!("`{}` has {fields} fields", $old));
                    }
                    let (hours, minutes) = start.split_once(':').ok_or("no time of day")?;
                    assert!(hours.len() <= 2 && minutes.len() == 2, "{start}");
                    assert_eq!(zone, "Europe/Berlin");
                    let spec = cron::$to::WatchSpec {
                        $new: $old,
                        start,
                        zone,
                        host,
                        bell,
                    };
                    Ok(Self {
                        metadata: watch.metadata,
                        spec,
                    })
                }
            }
        };
    }
    watches!(v1.schedule, v2.times);
    watches!(v2.times, v1.schedule);

    fn schedule(object: &mut Value) {
        for name in ["schedule", "times"] {
            if let Some(schedule) = object["spec"].get_mut(name) {
                *schedule = "*/5 * * * *".into();
            }
        }
    }

    #[test]
    fn generated_text_follows_examples_formats_patterns_and_overrides() {
        round_trip_with::<cron::v2::Watch, cron::v1::Watch>(|object| {
            schedule(object);
            if let Some(bell) = object.pointer_mut("/spec/bell") {
                *bell = "bell".into();
            }
        });
    }

    #[test]
    #[should_panic(expected = "cannot convert from v1: `")]
    fn a_text_that_the_schema_does_not_describe_must_be_set_by_the_caller() {
        round_trip_with::<cron::v2::Watch, cron::v1::Watch>(|object| {
            object["spec"]["bell"] = Value::Null;
        });
    }

    #[test]
    #[should_panic(
        expected = r"no text for the pattern of `spec.bell` of v1 can be made, `^a\bell`"
    )]
    fn a_pattern_that_nothing_matches_is_reported_with_its_field() {
        round_trip_with::<cron::v2::Watch, cron::v1::Watch>(schedule);
    }

    #[test]
    fn differences_are_found_at_any_depth() {
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
