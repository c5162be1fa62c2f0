//! Names, hosts and addresses inside strings.

use super::addresses::Addresses;
use super::names::Names;
use crate::secrets::json;

/// Through how many layers of JSON in strings a name is replaced.
const LAYERS: u8 = 4;

/// What replaces what.
pub struct Strings {
    /// Names and hosts.
    pub names: Names,
    /// Addresses.
    pub addresses: Addresses,
}

impl Strings {
    /// The string instead of one; `None` if it stays.
    pub fn string(&self, text: &str) -> Option<String> {
        self.layer(text, LAYERS)
    }

    fn layer(&self, text: &str, layers: u8) -> Option<String> {
        if let Some(name) = self.names.objects.get(text) {
            return Some(name.clone());
        }
        if let Some(address) = self.addresses.of(text) {
            return Some(address);
        }
        if layers > 0 && json::is_container(text) {
            let mut changed = false;
            let mapped = json::map_strings(text, |key, leaf| {
                let is_kept = super::KEPT.contains(&key);
                let other = (!is_kept).then(|| self.layer(leaf, layers - 1)).flatten();
                changed |= other.is_some();
                other
            });
            return changed.then_some(mapped);
        }
        self.parts(text, self.has_names(text))
    }

    /// A string with names as parts: prose, a list, `namespace/name`, a user.
    fn has_names(&self, text: &str) -> bool {
        let first = text.split('/').next().unwrap_or_default();
        text.contains(char::is_whitespace)
            || text.contains(',')
            || text.starts_with("system:serviceaccount")
            || first.len() < text.len() && self.names.namespaces.contains(first)
    }

    /// As [`Strings::string`], for a string in which each word may be a name.
    pub fn list(&self, text: &str) -> Option<String> {
        self.parts(text, true)
    }

    fn parts(&self, text: &str, has_names: bool) -> Option<String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let (mut made, mut is_changed) = (String::new(), false);
        let mut rest = text;
        while !rest.is_empty() {
            let start = rest.find(is_part).unwrap_or(rest.len());
            made += &rest[..start];
            rest = &rest[start..];
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            rest = after;
            let word = part.trim_matches(['.', '-']);
            let at = part.find(word).unwrap_or_default();
            let is_host = made.ends_with("//") || made.ends_with('@');
            match self.part(word, has_names || is_host) {
                Some(other) => {
                    is_changed = true;
                    made.extend([&part[..at], &other, &part[at + word.len()..]]);
                }
                None => made += part,
            }
        }
        is_changed.then_some(made)
    }

    fn part(&self, word: &str, is_name: bool) -> Option<String> {
        let name = || {
            is_name
                .then(|| self.names.objects.get(word).cloned())
                .flatten()
        };
        name()
            .or_else(|| self.addresses.of(word))
            .or_else(|| self.service(word))
            .or_else(|| self.names.host(word))
    }

    /// `name.namespace`, `name.namespace.svc`, `pod.name.namespace.svc.cluster.local`.
    fn service(&self, word: &str) -> Option<String> {
        let labels: Vec<_> = word.split('.').collect();
        let is_namespace = |at: &usize| {
            let is_end = labels.get(at + 1).is_none_or(|it| *it == "svc");
            is_end && self.names.namespaces.contains(labels[*at])
        };
        let namespace = (1..labels.len()).find(is_namespace)?;
        let known = |label: &str| self.names.objects.get(label);
        let is_certain = labels.len() > namespace + 1;
        if !is_certain && labels[..namespace].iter().all(|it| known(it).is_none()) {
            return None;
        }
        let made = labels
            .iter()
            .enumerate()
            .map(|(at, label)| match known(label) {
                Some(other) if at <= namespace => other,
                _ => *label,
            });
        let made = made.collect::<Vec<_>>().join(".");
        (made != word).then_some(made)
    }
}
