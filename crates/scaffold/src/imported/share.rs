//! Finds the types that several kinds of a version share, and writes them to one file.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::collect::{Groups, Role};
use super::definition::{Definition, Version};
use super::kept::{self, Kept};
use super::node::{Node, Use, core, node};
use super::root::Root;
use super::shared::{Shared, SharedType, is_named};
use super::{build, functions, names, render};
use crate::yaml;
use kbr_host::notation::hex;

/// The types that kinds of a version share.
#[derive(Debug)]
pub struct SharedFile {
    /// The version: `v1`.
    pub version: String,
    /// The text of the file.
    pub text: String,
    /// What types cannot express.
    pub kept: Vec<Kept>,
    /// The list for [`Shared::read`].
    pub list: String,
}

/// What the kinds of a group share, and a file for each version of which kinds share anything.
///
/// # Errors
/// The list cannot be written.
pub fn shared(definitions: &[&Definition]) -> anyhow::Result<(Shared, Vec<SharedFile>)> {
    let mut versions: BTreeMap<&str, Vec<(&Definition, &Version)>> = BTreeMap::new();
    for definition in definitions {
        for version in &definition.versions {
            versions
                .entry(&version.name)
                .or_default()
                .push((definition, version));
        }
    }
    let (mut shared, mut files) = (Shared::default(), Vec::new());
    for (version, kinds) in versions.iter().filter(|(_, kinds)| kinds.len() > 1) {
        if let Some((types, file)) = of_version(version, kinds)? {
            shared.0.insert((*version).to_owned(), types);
            files.push(file);
        }
    }
    Ok((shared, files))
}

fn of_version(
    version: &str,
    kinds: &[(&Definition, &Version)],
) -> anyhow::Result<Option<(Vec<SharedType>, SharedFile)>> {
    let roots = kinds
        .iter()
        .map(|(definition, version)| Root::new(&definition.kind, version));
    let roots: Vec<Root> = roots.collect();
    let all: Vec<(String, &Value)> = roots.iter().flat_map(Root::roots).collect();
    let groups = Groups::collect(&all, &[]);
    let mut users = Users::default();
    for ((definition, _), root) in kinds.iter().zip(&roots) {
        users.add(&definition.kind, root, &groups);
    }
    let shared = users.shared(&groups);
    if shared.is_empty() {
        return Ok(None);
    }
    let fixed = kinds.iter().flat_map(|(it, _)| {
        ["", "Spec", "Status", "Fields"].map(|end| format!("{}{end}", it.kind))
    });
    let fixed: Vec<String> = fixed.collect();
    let taken = build::TAKEN
        .iter()
        .copied()
        .chain(fixed.iter().map(String::as_str));
    let mut taken = names::Taken::of(taken);
    let names = shared.iter().map(|at| (*at, taken.unique(users.name(*at))));
    let names: BTreeMap<usize, String> = names.collect();
    let groups = groups.only(&names);
    let types = groups
        .all
        .iter()
        .zip(names.into_values())
        .map(|(group, name)| SharedType {
            name,
            digest: hex(&core(group.schema)),
            rest: group.rest.clone(),
        });
    let types: Vec<SharedType> = types.collect();
    let model = build::build("", &groups);
    let group = &kinds[0].0.group;
    let file = SharedFile {
        version: version.to_owned(),
        text: render::shared_file(group, version, &model),
        kept: kept::kept(&groups, &model),
        list: yaml::render(&[serde_json::to_value(&types)?])?,
    };
    Ok(Some((types, file)))
}

/// The names that kinds give to groups of all of them.
#[derive(Default)]
struct Users(BTreeMap<usize, Vec<String>>);

impl Users {
    /// Adds a kind.
    fn add(&mut self, kind: &str, root: &Root, all: &Groups) {
        let own = Groups::collect(&root.roots(), &[]);
        // A type that several kinds share is not named after one of them.
        let names = build::type_names("", &own, &functions::imported(kind, &own));
        let mut found = BTreeMap::new();
        for (group, name) in own
            .all
            .iter()
            .zip(names)
            .filter(|(it, _)| it.role != Role::Root)
        {
            // The group of an item is found by all of its schema anyway.
            if let Some(at) = all.find(group.schema, Use::Field, group.path.name()) {
                found.entry(at).or_insert(name);
            }
        }
        for (at, name) in found {
            self.0.entry(at).or_default().push(name);
        }
    }

    /// The name that most kinds give to a group; of several, the first in the alphabet.
    fn name(&self, at: usize) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in self.0.get(&at).into_iter().flatten() {
            *counts.entry(name).or_default() += 1;
        }
        let best = counts.into_iter().rev().max_by_key(|(_, count)| *count);
        best.map(|(name, _)| name.to_owned()).unwrap_or_default()
    }

    /// The groups that several kinds have, and all that these consist of.
    fn shared(&self, all: &Groups) -> BTreeSet<usize> {
        let is_shared = |at: &usize| {
            let (name, schema) = (self.name(*at), all.all[*at].schema);
            let names = self.0.get(at).into_iter().flatten();
            names
                .filter(|it| **it == name || is_named(schema, it, &name))
                .count()
                > 1
        };
        let mut shared: BTreeSet<usize> = self.0.keys().copied().filter(is_shared).collect();
        let mut pending: VecDeque<&Value> = shared.iter().map(|at| all.all[*at].schema).collect();
        while let Some(schema) = pending.pop_front() {
            let fields = schema["properties"].as_object().into_iter().flatten();
            for (name, field) in fields {
                let (inner, at) = innermost(field);
                let found = matches!(node(inner), Node::Struct | Node::Enum);
                let found = found.then(|| all.find(inner, at, name)).flatten();
                if let Some(at) = found.filter(|at| shared.insert(*at)) {
                    pending.push_back(all.all[at].schema);
                }
            }
        }
        shared
    }
}

/// What a field is, or is a list or map of.
fn innermost(mut schema: &Value) -> (&Value, Use) {
    let mut at = Use::Field;
    while let Node::List(inner) | Node::Map(inner) = node(schema) {
        (schema, at) = (inner, Use::Item);
    }
    (schema, at)
}
