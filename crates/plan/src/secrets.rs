//! Replaces the values of Secrets in a clone, which is given to others.
//!
//! A value becomes a fake of the same shape and length, so an operator that parses it still does: JSON, YAML, `.env` files, URLs, numbers,
//! base64, tokens, Helm releases. Certificates and private keys become new ones, which still match each other, and may have another length.
//! Keys, numbers and booleans inside JSON stay, and so do the words `true`, `no`, `null` and the like. Equal values get equal fakes. The
//! fakes depend on a random key, which is different for each clone and never written.
//!
//! Values of 8 bytes or more, and the parts of them that were replaced, are then replaced in all other objects: as they are, in base64,
//! compressed with gzip, percent-encoded, and in JSON inside strings. They are not replaced in:
//! - `apiVersion`, `kind`, and those fields of `metadata` that identify an object or say who owns it;
//! - labels and selectors: the fields `labels`, `selector`, `matchLabels`, `matchExpressions`, `labelSelector` and `nodeSelector`, at any
//!   depth;
//! - strings that as a whole are a name, a label or a kind of the clone, are in a CRD, or are a word of Kubernetes such as `ClusterIP`. A value
//!   that is such a string is replaced only in Secrets: whoever reads the clone knows it anyway, and references to the name stay right;
//! - keys of maps, also of those in JSON inside strings.

mod certificates;
mod der;
mod elsewhere;
mod encoded;
pub(crate) mod fakes;
mod helm;
pub(crate) mod json;
pub(crate) mod key;
mod lines;
pub(crate) mod managed;
mod pem;
mod plain;
pub(crate) mod public;
mod redact;
mod runs;
pub(crate) mod shape;
#[cfg(test)]
mod tests;
mod url;

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

pub use redact::{Redaction, redact};

use crate::cloned::{Cloned, Kind};
use elsewhere::Replacer;
use fakes::{Fakes, SHORTEST, Treatment};

/// The fields of a Secret that have values.
const FIELDS: [&str; 2] = ["data", "stringData"];
/// The `type` of a Secret with a token of a service account.
const TOKEN: &str = "kubernetes.io/service-account-token";

/// What was replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// The values of Secrets.
    pub values: usize,
    /// The strings of other fields and objects that contained one.
    pub elsewhere: usize,
    /// The values that are also a name, and stay where they are one: `Secret a/b, key c`.
    pub names: Vec<String>,
}

/// What was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Secrets with tokens of service accounts.
    pub tokens: usize,
    /// Leases.
    pub leases: usize,
}

/// Removes what is of no use without the cluster: tokens of service accounts, which a cluster makes again, and Leases, which would keep an
/// operator waiting. Call it after [`replace`], which replaces the tokens in other objects.
pub fn leave_out(cloned: &mut Cloned) -> LeftOut {
    let mut left_out = LeftOut::default();
    for kind in &mut cloned.kinds {
        let before = kind.objects.len();
        if is_secret(kind) {
            kind.objects.retain(|it| it["type"] != TOKEN);
            left_out.tokens += before - kind.objects.len();
        }
        if kind.group == "coordination.k8s.io" && kind.kind == "Lease" {
            kind.objects.clear();
            left_out.leases += before;
        }
    }
    left_out
}

/// Replaces the values of all Secrets, there and in all other objects.
///
/// # Errors
/// The system has no random numbers, or there are more than 2 GiB of values.
pub fn replace(cloned: &mut Cloned) -> anyhow::Result<Replaced> {
    let mut work = Work {
        fakes: Fakes::new(shape::text)?,
        public: public::strings(cloned),
        replaced: Replaced::default(),
    };
    let secrets = || cloned.kinds.iter().filter(|kind| is_secret(kind));
    for object in secrets().flat_map(|kind| &kind.objects) {
        note_certificates(&mut work.fakes, object);
    }
    // What Helm's releases contain is searched only if it is a value elsewhere, too, so they are last.
    for is_helm in [false, true] {
        let kinds = cloned.kinds.iter_mut().filter(|kind| is_secret(kind));
        let secrets = kinds.flat_map(|kind| &mut kind.objects);
        let secrets = secrets.filter(|it| (it["type"] == helm::TYPE) == is_helm);
        secrets.for_each(|object| work.secret(object));
    }
    let mut replacer = Replacer::new(work.fakes.into_searched(), work.public)?;
    for kind in &mut cloned.kinds {
        let is_secret = is_secret(kind);
        for object in &mut kind.objects {
            let own = if is_secret { take(object) } else { Vec::new() };
            replacer.object(object);
            for (field, values) in own {
                object[field] = values;
            }
        }
    }
    work.replaced.elsewhere = replacer.changed;
    Ok(work.replaced)
}

fn is_secret(kind: &Kind) -> bool {
    kind.group.is_empty() && kind.kind == "Secret"
}

/// The values of a Secret, without which it is an object as others are.
fn take(secret: &mut Value) -> Vec<(&'static str, Value)> {
    let mut remove = |field| Some((field, secret.as_object_mut()?.remove(field)?));
    FIELDS.into_iter().filter_map(&mut remove).collect()
}

fn note_certificates(fakes: &mut Fakes, secret: &Value) {
    let values = |field| secret.get(field).and_then(Value::as_object);
    for (field, values) in FIELDS.into_iter().filter_map(|it| Some((it, values(it)?))) {
        for text in values.values().filter_map(Value::as_str) {
            let content = if field == "data" {
                STANDARD.decode(text).ok()
            } else {
                None
            };
            let content = content.unwrap_or_else(|| text.as_bytes().to_owned());
            let text = str::from_utf8(&content).unwrap_or_default();
            for it in pem::certificates(text) {
                fakes.certificates.note(&it);
            }
        }
    }
}

struct Work {
    fakes: Fakes,
    public: HashSet<String>,
    replaced: Replaced,
}

impl Work {
    /// Replaces the values of a Secret, and those of the manifests in its annotations, from which `kubectl apply` and others compute what they
    /// change: they may have older values.
    fn secret(&mut self, secret: &mut Value) {
        let Value::Object(object) = secret else {
            return;
        };
        let is_helm = object.get("type").is_some_and(|it| it == helm::TYPE);
        let name = name(object);
        for field in FIELDS {
            let Some(Value::Object(values)) = object.get_mut(field) else {
                continue;
            };
            for (key, value) in values.iter_mut() {
                let place = || format!("Secret {name}, key {key}");
                let Value::String(text) = value else { continue };
                *text = match field {
                    "data" => self.encoded(text, is_helm, place),
                    _ => self.plain(text, place),
                };
            }
        }
        let annotations = object
            .get_mut("metadata")
            .and_then(|it| it.get_mut("annotations"));
        let annotations = annotations.and_then(Value::as_object_mut);
        for text in annotations.into_iter().flat_map(Map::values_mut) {
            if let Some(other) = text.as_str().and_then(|text| self.manifest(text)) {
                *text = Value::from(other);
            }
        }
    }

    /// The manifest of a Secret in an annotation. `None` if it is something else.
    fn manifest(&mut self, text: &str) -> Option<String> {
        let mut manifest: Value = serde_json::from_str(text).ok()?;
        if manifest.get("kind")? != "Secret" {
            return None;
        }
        self.secret(&mut manifest);
        let end = &text[text.trim_end().len()..];
        Some(manifest.to_string() + end)
    }

    fn encoded(&mut self, text: &str, is_helm: bool, place: impl Fn() -> String) -> String {
        let Ok(content) = STANDARD.decode(text) else {
            return self.plain(text, place);
        };
        if is_helm && let Some(release) = helm::fake(&mut self.fakes, &content) {
            self.replaced.values += 1;
            return STANDARD.encode(release);
        }
        STANDARD.encode(self.value(&content, place))
    }

    fn plain(&mut self, text: &str, place: impl Fn() -> String) -> String {
        // The fake of a text is one.
        String::from_utf8(self.value(text.as_bytes(), place)).unwrap_or_default()
    }

    fn value(&mut self, value: &[u8], place: impl Fn() -> String) -> Vec<u8> {
        let is_name = || str::from_utf8(value).is_ok_and(|text| self.public.contains(text));
        if value.len() >= SHORTEST && is_name() {
            self.replaced.names.push(place());
        }
        self.replaced.values += usize::from(!value.is_empty());
        shape::value(&mut self.fakes, value, Treatment::VALUE)
    }
}

fn name(object: &Map<String, Value>) -> String {
    let metadata = |field| object.get("metadata").and_then(|it| it[field].as_str());
    let [namespace, name] = ["namespace", "name"].map(metadata);
    [namespace.unwrap_or_default(), name.unwrap_or_default()].join("/")
}
