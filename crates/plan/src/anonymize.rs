//! Replaces the names in a clone by made-up ones of the same shape: those of namespaces, objects, hosts, and IP addresses.
//!
//! A name is replaced by the same one wherever it is: as a whole string, in the name of a Service (`name.namespace.svc`), a URL, a list or a
//! sentence, and in JSON inside strings. So all references still match. These stay:
//! - kinds, groups, CRDs, roles of the cluster, configurations of webhooks, keys of labels and annotations, and all other keys;
//! - `default`, `kube-system` and other names that each cluster has;
//! - the operator's namespace, and the names in it, apart from custom objects and what these own;
//! - uids, finalizers, numbers in names, common words such as `config`, and what follows an owner's name in the name of an object that is owned;
//! - names that are also a word of a CRD, or the plural of a kind.
//!
//! Everything else stays, too: images, texts that name something in another way, and the values of Secrets, which
//! [`crate::secrets`] replaces. Certificates keep their names.

mod addresses;
mod names;
mod strings;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::cloned::Cloned;
use crate::secrets::{managed, public};
use addresses::Addresses;
use names::Names;
use strings::Strings;

/// The fields that are not changed, at any depth: what says of which kind something is, finalizers and uids.
const KEPT: [&str; 10] = [
    "apiGroup",
    "apiGroups",
    "apiVersion",
    "finalizers",
    "group",
    "kind",
    "resource",
    "resources",
    "uid",
    "verbs",
];
/// The fields that have hosts.
const HOSTS: [&str; 7] = [
    "commonName",
    "dnsNames",
    "externalName",
    "host",
    "hostname",
    "hostnames",
    "hosts",
];

/// How many names were replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anonymized {
    /// Of objects and namespaces.
    pub names: usize,
    /// Domains of hosts outside of the cluster.
    pub domains: usize,
    /// IP addresses.
    pub addresses: usize,
}

/// Replaces all names. `operator` is the operator's namespace.
///
/// # Errors
/// The system has no random numbers.
pub fn anonymize(cloned: &mut Cloned, operator: &str) -> anyhow::Result<Anonymized> {
    let mut names = Names::of(cloned, operator)?;
    for object in cloned.kinds.iter().flat_map(|kind| &kind.objects) {
        each_host("", object, &mut |host| names.add_host(host));
    }
    let strings = Strings {
        names,
        addresses: Addresses::new()?,
    };
    for kind in &mut cloned.kinds {
        let is_definition = public::is_definition(kind);
        let is_secret = kind.group.is_empty() && kind.kind == "Secret";
        for object in &mut kind.objects {
            if is_definition {
                if let Some(conversion) = object.pointer_mut("/spec/conversion") {
                    value(&strings, "", conversion);
                }
                continue;
            }
            let fields = object.as_object_mut().into_iter().flatten();
            // The values of Secrets are base64.
            let is_value = |key: &str| is_secret && ["data", "stringData"].contains(&key);
            for (key, field) in fields.filter(|(key, _)| !is_value(key)) {
                value(&strings, key, field);
            }
        }
    }
    for text in &mut cloned.unread {
        *text = strings.list(text).unwrap_or_else(|| text.clone());
    }
    Ok(Anonymized {
        names: strings.names.objects.len(),
        domains: strings.names.domains.len(),
        addresses: strings.addresses.count(),
    })
}

fn value(strings: &Strings, key: &str, value: &mut Value) {
    match value {
        _ if KEPT.contains(&key) => {}
        Value::String(text) => {
            let other = match key {
                "generateName" => prefix(strings, text),
                "selector" | "labelSelector" => strings.list(text),
                _ => strings.string(text),
            };
            *text = other.unwrap_or_else(|| std::mem::take(text));
        }
        Value::Array(_) | Value::Object(_) if key == "managedFields" => {
            managed::each_element(value, &|it| strings.string(it));
        }
        Value::Array(list) => list.iter_mut().for_each(|it| self::value(strings, key, it)),
        Value::Object(map) => map
            .iter_mut()
            .for_each(|(key, it)| self::value(strings, key, it)),
        _ => {}
    }
}

/// `web-`, of which the API server makes a name.
fn prefix(strings: &Strings, text: &str) -> Option<String> {
    Some(strings.string(text.strip_suffix('-')?)? + "-")
}

/// Calls `found` with the host in each field that has one, and in each URL.
fn each_host(key: &str, value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => {
            if HOSTS.contains(&key) {
                found(text);
            }
            for after in text.split("://").skip(1) {
                let authority =
                    after.split(|c: char| !(c.is_ascii_alphanumeric() || "-._~:@%".contains(c)));
                let authority = authority.into_iter().next().unwrap_or_default();
                let host = authority.rsplit('@').next().unwrap_or_default();
                found(host.split(':').next().unwrap_or_default());
            }
        }
        Value::Array(list) => list.iter().for_each(|it| each_host(key, it, found)),
        Value::Object(map) => map.iter().for_each(|(key, it)| each_host(key, it, found)),
        _ => {}
    }
}
