//! Conversion between the versions of a kind. One version is the hub. Every other version is a spoke, and is converted
//! to and from the hub.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Display,
};

use serde::Deserialize;

use super::{
    copy::{Kept, Texts, metadata},
    text::{Writer, content, fields},
};
use crate::{
    cache::object::Object,
    metrics::WebhookMetrics,
    parse::{self, Error},
};

/// The largest object in bytes. The API server accepts objects of 3 MiB, and adds defaults.
const MOST: usize = 4 << 20;

/// Converts the text of an object from one version to another, by values of at most so many bytes.
type Convert = fn(&str, usize) -> Result<String, Failed>;

/// Why an object was not converted.
enum Failed {
    /// Its type cannot read the object.
    Unreadable(String),
    /// It takes too much memory.
    TooLarge(String),
    Conversion(String),
}

impl Failed {
    /// An object that was not written.
    fn unwritten(error: Error) -> Self {
        match error {
            Error::TooLarge(problem) => Self::TooLarge(problem),
            Error::Invalid(error) => Self::Conversion(format!("cannot write it: {error}")),
        }
    }
}

/// What is in every object.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Head {
    api_version: String,
    kind: String,
    metadata: Option<Name>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Name {
    namespace: Option<String>,
    name: Option<String>,
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

    /// The text of `object` in the version `wanted`, or why there is none. An object that its type cannot read keeps its
    /// content, so that the others of the review are still converted. Nothing else decides what it becomes: whoever may
    /// write an object may write its annotations as well.
    pub(super) fn convert(
        &self,
        object: &str,
        wanted: &str,
        most: usize,
        metrics: &WebhookMetrics,
    ) -> Result<Result<String, String>, Error> {
        let head: Head = serde_json::from_str(object).unwrap_or_default();
        let versions = match self.versions(&head, wanted) {
            Ok(versions) => versions,
            Err(problem) => return Ok(Err(problem)),
        };
        let name = head.metadata.as_ref().and_then(|meta| meta.name.as_deref());
        let failed = |error| {
            let name = name.unwrap_or_default();
            format!("cannot convert {name:?} to `{wanted}`: {error}")
        };
        if object.len() > MOST {
            let error = format!("it has {} bytes, and at most {MOST} are read", object.len());
            return Ok(Err(failed(error)));
        }
        match versions.convert(object, &head.api_version, wanted, most) {
            Ok(converted) => Ok(Ok(converted)),
            Err(Failed::TooLarge(error)) => Err(Error::TooLarge(failed(error))),
            Err(Failed::Conversion(error)) => Ok(Err(failed(error))),
            Err(Failed::Unreadable(problem)) => {
                metrics.unreadable();
                report(&head, &problem, wanted);
                Ok(Ok(relabelled(object, wanted)))
            }
        }
    }

    /// The versions of the kind of an object, if both its version and `wanted` are among them.
    fn versions(&self, head: &Head, wanted: &str) -> Result<&Versions, String> {
        let (version, kind) = (&*head.api_version, &head.kind);
        let group = version.rsplit_once('/').map(|(group, _)| group.to_owned());
        let key = (group.unwrap_or_default(), kind.clone());
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

    /// `object`, which is of `version`, in another version, converted through the hub.
    fn convert(
        &self,
        object: &str,
        version: &str,
        wanted: &str,
        most: usize,
    ) -> Result<String, Failed> {
        if version == wanted {
            return Ok(object.to_owned());
        }
        let up = self.spokes.get(version).map(|spoke| spoke.to_hub);
        let down = self.spokes.get(wanted).map(|spoke| spoke.from_hub);
        let mut steps = up.into_iter().chain(down);
        let first = steps
            .next()
            .map_or_else(|| Ok(object.to_owned()), |step| step(object, most))?;
        steps.try_fold(first, |object, step| step(&object, most))
    }
}

/// `object` in another version, with its content as it is.
fn relabelled(object: &str, wanted: &str) -> String {
    let mut text = String::with_capacity(object.len() + wanted.len());
    let mut made = Writer::new(&mut text);
    made.field("\"apiVersion\"", &quoted(wanted));
    for (name, field) in fields(object) {
        if name != "apiVersion" {
            made.field(field.name, field.value);
        }
    }
    made.end();
    text
}

fn report(head: &Head, problem: &str, wanted: &str) {
    let (kind, meta) = (&head.kind, head.metadata.as_ref());
    let namespace = meta.and_then(|meta| meta.namespace.as_deref());
    let name = meta.and_then(|meta| meta.name.as_deref());
    let message = "converted a stored object that cannot be read as it is";
    tracing::warn!(error = problem, kind, namespace, name, wanted, "{message}");
}

/// Converts an object. Its metadata, except for labels and annotations, and the fields that `From` does not know stay
/// as they were sent.
fn convert<From, To>(raw: &str, most: usize) -> Result<String, Failed>
where
    From: Object,
    To: Object + TryFrom<From, Error: Display>,
{
    // The target is made while there is a source, and may be as large.
    let read = parse::with_unknown::<From>(raw, most / 2);
    let (source, unknown) = read.map_err(|error| match error {
        Error::TooLarge(problem) => Failed::TooLarge(problem),
        Error::Invalid(_) => Failed::Unreadable(error.explained(raw)),
    })?;
    let write = |error| Failed::unwritten(error);
    let known = unknown
        .may_hide
        .then(|| parse::to_string(&source, raw.len()));
    let known = known.transpose().map_err(write)?;
    let before = Texts::from(source.meta());
    let target = To::try_from(source).map_err(|error| Failed::Conversion(error.to_string()))?;
    let converted = parse::to_string(&target, raw.len()).map_err(write)?;
    let after = Texts::from(target.meta());
    drop(target);
    let mut made = String::with_capacity(raw.len() + converted.len());
    let mut raw = fields(raw);
    let meta = raw.remove("metadata").map_or("null", |meta| meta.value);
    let meta = metadata(meta, &before, after).map_err(|error| write(Error::Invalid(error)))?;
    let raw = content(raw);
    let known = known.as_deref().map(|known| content(fields(known)));
    let kept = Kept::of(unknown, &raw, known.as_ref());
    let mut object = Writer::new(&mut made);
    object.field("\"apiVersion\"", &quoted(&To::api_version(&())));
    object.field("\"kind\"", &quoted(&To::kind(&())));
    object.field("\"metadata\"", &meta);
    kept.carry_fields(&raw, &content(fields(&converted)), &mut object);
    object.end();
    Ok(made)
}

/// A text in JSON, if it is a name of Kubernetes, which needs no escapes.
fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
