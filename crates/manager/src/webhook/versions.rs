//! Conversion between the versions of a kind. One version is the hub. Every other version is a spoke, and is converted
//! to and from the hub.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Display,
};

use serde_json::Value;

use super::copy::{carry_over, metadata};
use crate::{cache::object::Object, json_path::explain, metrics::WebhookMetrics};

/// Converts an object from one version to another.
type Convert = fn(Value) -> Result<Value, Failed>;

/// Why an object was not converted.
enum Failed {
    /// Its type cannot read the object: the object, and the error.
    Unreadable(Value, String),
    Conversion(String),
}

/// A group and a kind.
type GroupKind = (String, String);

/// All registered conversions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversions(HashMap<GroupKind, Versions>);

/// The versions of a kind.
#[derive(Clone, Debug)]
struct Versions {
    hub: String,
    crd: String,
    /// The spokes by their `apiVersion`.
    spokes: BTreeMap<String, Spoke>,
}

/// A version that is not the hub.
#[derive(Clone, Debug)]
struct Spoke {
    to_hub: Convert,
    from_hub: Convert,
}

impl Conversions {
    /// Adds a spoke. An error is a mistake in the caller's code.
    pub(crate) fn add<H, S>(&mut self) -> Result<(), String>
    where
        H: Object + TryFrom<S, Error: Display>,
        S: Object + TryFrom<H, Error: Display>,
    {
        let (hub, spoke) = (H::api_version(&()), S::api_version(&()));
        let (group, kind) = (H::group(&()), H::kind(&()));
        if (&S::group(&()), &S::kind(&())) != (&group, &kind) || hub == spoke {
            return Err(format!(
                "`{}` of `{spoke}` is not another version of `{kind}` of `{hub}`",
                S::kind(&())
            ));
        }
        let versions = self.0.entry((group.into_owned(), kind.to_string()));
        let versions = versions.or_insert_with(|| Versions {
            hub: hub.to_string(),
            crd: format!("{}.{}", H::plural(&()), H::group(&())),
            spokes: BTreeMap::new(),
        });
        if versions.hub != hub {
            let first = &versions.hub;
            return Err(format!("`{kind}` has two hubs, `{first}` and `{hub}`"));
        }
        let conversions = Spoke {
            to_hub: convert::<S, H>,
            from_hub: convert::<H, S>,
        };
        match versions.spokes.insert(spoke.to_string(), conversions) {
            None => Ok(()),
            Some(_) => Err(format!("`{kind}` has the spoke `{spoke}` twice")),
        }
    }

    /// The names of the CRDs whose kinds have conversions.
    pub(crate) fn crds(&self) -> Vec<String> {
        let mut names: Vec<_> = self
            .0
            .values()
            .map(|versions| versions.crd.clone())
            .collect();
        names.sort();
        names
    }

    /// `object` in the version `wanted`. An object that its type cannot read keeps its content, so that the others of
    /// the review are still converted. Nothing else decides what it becomes: whoever may write an object may write its
    /// annotations as well.
    pub(super) fn convert(
        &self,
        object: Value,
        wanted: &str,
        metrics: &WebhookMetrics,
    ) -> Result<Value, String> {
        let versions = self.versions(&object, wanted)?;
        let name = object["metadata"]["name"].clone();
        let failed = |error| format!("cannot convert {name} to `{wanted}`: {error}");
        match versions.convert(object, wanted) {
            Ok(converted) => Ok(converted),
            Err(Failed::Conversion(error)) => Err(failed(error)),
            Err(Failed::Unreadable(object, problem)) => {
                metrics.unreadable();
                report(&object, &problem, wanted);
                Ok(relabelled(object, wanted))
            }
        }
    }

    /// The versions of the kind of `object`, if both its version and `wanted` are among them.
    fn versions(&self, object: &Value, wanted: &str) -> Result<&Versions, String> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        let group = |version: &str| version.rsplit_once('/').map(|(group, _)| group.to_owned());
        let key = (group(version).unwrap_or_default(), kind.to_owned());
        let versions = self.0.get(&key);
        versions
            .filter(|versions| versions.has(version) && versions.has(wanted))
            .ok_or_else(|| {
                format!("cannot convert `{kind}` from `{version}` to `{wanted}`: the operator has no such conversion")
            })
    }
}

impl Versions {
    fn has(&self, version: &str) -> bool {
        version == self.hub || self.spokes.contains_key(version)
    }

    /// `object` in another version, converted through the hub.
    fn convert(&self, object: Value, wanted: &str) -> Result<Value, Failed> {
        if object["apiVersion"] == wanted {
            return Ok(object);
        }
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let up = self.spokes.get(version).map(|spoke| spoke.to_hub);
        let down = self.spokes.get(wanted).map(|spoke| spoke.from_hub);
        let mut steps = up.into_iter().chain(down);
        steps.try_fold(object, |object, step| step(object))
    }
}

/// `object` in another version, with its content as it is.
fn relabelled(mut object: Value, wanted: &str) -> Value {
    object["apiVersion"] = wanted.into();
    object
}

fn report(object: &Value, problem: &str, wanted: &str) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, meta) = (text(&object["kind"]), &object["metadata"]);
    let (namespace, name) = (text(&meta["namespace"]), text(&meta["name"]));
    let message = "converted a stored object that cannot be read as it is";
    tracing::warn!(error = problem, kind, namespace, name, wanted, "{message}");
}

/// Converts an object. Its metadata, except for labels and annotations, and the fields that `From` does not know stay
/// as they were sent.
fn convert<From, To>(raw: Value) -> Result<Value, Failed>
where
    From: Object,
    To: Object + TryFrom<From, Error: Display>,
{
    let write = |error| Failed::Conversion(format!("cannot write it: {error}"));
    let source = match From::deserialize(&raw) {
        Ok(source) => source,
        Err(error) => {
            // Parsing from text reports the position of an error.
            let text = raw.to_string();
            let located = serde_json::from_str::<From>(&text).err();
            let problem = explain(&text, &located.unwrap_or(error));
            return Err(Failed::Unreadable(raw, problem));
        }
    };
    let known = serde_json::to_value(&source).map_err(write)?;
    let target = To::try_from(source).map_err(|error| Failed::Conversion(error.to_string()))?;
    let mut converted = serde_json::to_value(&target).map_err(write)?;
    converted["apiVersion"] = To::api_version(&()).into();
    converted["kind"] = To::kind(&()).into();
    let Value::Object(mut raw) = raw else {
        return Err(Failed::Conversion("it is not an object".to_owned()));
    };
    converted["metadata"] = metadata(
        raw.remove("metadata").unwrap_or_default(),
        &known["metadata"],
        &converted["metadata"],
    );
    carry_over(&Value::Object(raw), &known, &mut converted);
    Ok(converted)
}
