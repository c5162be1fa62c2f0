//! What Go files say. They are read line by line, in the form that gofmt gives them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::quote;

/// A comment from which controller-gen generates a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Its file.
    pub path: Rc<str>,
    /// `rbac` or `webhook`.
    pub name: String,
    /// `groups=apps,resources=deployments,verbs=get`.
    pub arguments: String,
    /// Ids of the findings of `kbr manifests` that are allowed for it.
    pub allowed: BTreeSet<&'static str>,
}

impl Marker {
    /// The same comment in Rust, as kbr reads it.
    pub fn line(&self) -> String {
        quote::rust_line(&format!("+kbr:{}:{}", self.name, self.arguments))
    }

    /// Removes an argument with this value.
    pub fn remove(&mut self, argument: &str) {
        let others = self.arguments.split(',').filter(|it| *it != argument);
        self.arguments = others.collect::<Vec<_>>().join(",");
    }

    /// Replaces an argument with this value.
    pub fn replace(&mut self, argument: &str, with: &str) {
        let arguments = self.arguments.split(',');
        let arguments = arguments.map(|it| if it == argument { with } else { it });
        self.arguments = arguments.collect::<Vec<_>>().join(",");
    }

    /// Sets an argument, or removes it.
    pub fn set(&mut self, name: &str, value: Option<&str>) {
        let value = value.map(|value| format!("{name}={value}"));
        let before = self.value(name).is_some();
        match value {
            Some(value) if !before => self.arguments = format!("{},{value}", self.arguments),
            Some(value) => self.arguments = last_of_each(&format!("{},{value}", self.arguments)),
            None => {
                let others = split(&self.arguments);
                let others = others
                    .into_iter()
                    .filter(|it| key(it).as_deref() != Some(name));
                self.arguments = others.collect::<Vec<_>>().join(",");
            }
        }
    }

    /// The value of an argument.
    pub fn value(&self, name: &str) -> Option<&str> {
        let pairs = self
            .arguments
            .split(',')
            .filter_map(|pair| pair.split_once('='));
        let mut values = pairs
            .filter(|(key, _)| *key == name)
            .map(|(_, value)| value);
        values.next().map(|value| value.trim_matches(['"', '`']))
    }
}

/// The markers in a file. Those that the generator of the types reads are part of the CRD.
pub fn markers(path: &str, text: &str) -> Vec<Marker> {
    let path: Rc<str> = path.into();
    let marker = |line: &str| {
        let comment = line.trim().strip_prefix("//")?.trim_start();
        let (name, arguments) = comment.strip_prefix("+kubebuilder:")?.split_once(':')?;
        ["rbac", "webhook"].contains(&name).then(|| Marker {
            path: path.clone(),
            name: name.to_owned(),
            arguments: last_of_each(arguments.trim()),
            allowed: BTreeSet::new(),
        })
    };
    text.lines().filter_map(marker).collect()
}

/// The name of an argument.
fn key(argument: &str) -> Option<String> {
    let (key, _) = argument.split_once('=')?;
    let is_key = key.bytes().all(|it| it.is_ascii_alphanumeric());
    is_key.then(|| key.to_owned())
}

/// The arguments, each with the lists in braces and the commas in quotes that belong to it.
fn split(arguments: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for part in arguments.split(',') {
        match found.last_mut() {
            Some(before) if key(part).is_none() => *before = format!("{before},{part}"),
            _ => found.push(part.to_owned()),
        }
    }
    found
}

/// Arguments of which none is there twice: controller-gen takes the last one, and kbr accepts one.
fn last_of_each(arguments: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for argument in split(arguments) {
        let place = *places
            .entry(key(&argument).unwrap_or_default())
            .or_insert(found.len());
        match found.get_mut(place) {
            Some(before) => *before = argument,
            None => found.push(argument),
        }
    }
    found.join(",")
}

/// Texts that constants of finalizers have: `const captainFinalizer = "crew.example.com/finalizer"`.
pub fn finalizers(text: &str) -> Vec<String> {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let value = quoted(value)?;
        let is_finalizer = name.to_lowercase().contains("finalizer") && value.contains('/');
        is_finalizer.then_some(value)
    };
    let mut found: Vec<_> = text.lines().filter_map(value).collect();
    found.dedup();
    found
}

/// The field managers that Go files name: `client.FieldOwner("captains")`.
pub fn field_owners(text: &str) -> Vec<String> {
    let value = |line: &str| {
        let (_, rest) = line.split_once("FieldOwner(")?;
        let name = quoted(rest)?;
        (rest.starts_with('"') && is_field_manager(&name)).then_some(name)
    };
    text.lines().filter_map(value).collect()
}

/// Whether a text may become the name of a field manager in code.
pub fn is_field_manager(name: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._/".contains(it);
    !name.is_empty() && name.chars().all(is_plain)
}

/// The first text in quotes.
fn quoted(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('"')?;
    let (value, _) = rest.split_once('"')?;
    Some(value.to_owned())
}
