//! Merges the CRDs of each version into one CRD for each kind, as written to `config/crd/bases`.

mod descriptions;
mod disagreements;
mod part;
mod tidy;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::problem::Problem;
use super::source_map::SourceMap;
use disagreements::{disagreements, unconverted};
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::api_version::priority;
use kbr_scaffold::resource::names::is_subdomain;
use part::{conversion, name, stored, versions};

use tidy::{drop_formats, tidy};

/// The folder of the CRDs in a project.
pub const FOLDER: &str = "config/crd/bases";

/// The annotation with the version of kbr that wrote a CRD.
pub const ANNOTATION: &str = "kbr/version";

/// The full definition of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Crd {
    /// `crew.example.com`.
    pub group: String,
    /// `Captain`.
    pub kind: String,
    /// `captains`.
    pub plural: String,
    /// The object with all versions, newest first.
    pub object: Value,
}

impl Crd {
    /// `crew.example.com_captains.yaml`.
    pub fn file(&self) -> String {
        format!("{}_{}.yaml", self.group, self.plural)
    }

    /// Restores the descriptions of fields from their comments.
    pub fn restore_descriptions(&mut self, map: &SourceMap) {
        let kind = self.kind.clone();
        for version in self.versions_mut() {
            let name = name(version).to_owned();
            let schema = &mut version["schema"]["openAPIV3Schema"];
            let lost = |path: &str, it: &str| map.lost_comment((&kind, &name), path, it);
            descriptions::restore(schema, "", &lost);
        }
    }

    /// Truncates the descriptions of all versions.
    pub fn truncate_descriptions(&mut self, most: usize) {
        for version in self.versions_mut() {
            descriptions::truncate(&mut version["schema"]["openAPIV3Schema"], most);
        }
    }

    /// Drops what only the lints need.
    pub fn drop_formats(&mut self) {
        self.versions_mut().for_each(drop_formats);
    }

    fn versions_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let versions = self.object["spec"]["versions"].as_array_mut();
        versions.into_iter().flatten()
    }

    /// The versions, newest first.
    pub fn versions(&self) -> &[Value] {
        versions(&self.object)
    }
}

/// The resources of the project's own kinds, as group and plural, with their sub-resources (`captains/status`), and of its external kinds.
pub fn resources(project: &Project, crds: &[Crd]) -> Vec<(String, String)> {
    let external = project.targets().filter(|kind| !kind.is_own());
    let external = external.map(|kind| (kind.full_group.clone(), kind.plural.clone()));
    let mut all: Vec<_> = external.collect();
    for crd in crds {
        let has = |name: &str| {
            crd.versions()
                .iter()
                .any(|it| it["subresources"][name].is_object())
        };
        let subresources = ["status", "scale"].into_iter().filter(|name| has(name));
        // A rule for finalizers permits owner references that block the deletion of the owner.
        let names = subresources
            .chain(["finalizers"])
            .map(|it| format!("{}/{it}", crd.plural));
        let names = names.chain([crd.plural.clone()]);
        all.extend(names.map(|name| (crd.group.clone(), name)));
    }
    all
}

/// Merges the versions of each kind, and sorts the kinds by group and plural. A kind with problems is left out.
pub fn merge(printed: &[Value], map: &SourceMap, problems: &mut Vec<Problem>) -> Vec<Crd> {
    let mut kinds: BTreeMap<(&str, &str), Vec<&Value>> = BTreeMap::new();
    for crd in printed {
        match identity(crd) {
            Some(key) => kinds.entry(key).or_default().push(crd),
            None => problems.push(Problem::new(
                "`crdgen` printed something that is not a CustomResourceDefinition",
            )),
        }
    }
    let mut merged: Vec<Crd> = Vec::new();
    for ((group, kind), parts) in kinds {
        match merge_kind(group, kind, &parts) {
            Ok(crd) => merged.push(crd),
            Err(found) => {
                let place = place(kind, &parts, map);
                problems.extend(found.into_iter().map(|problem| match place.as_str() {
                    "" => problem,
                    place => problem.at(place),
                }));
            }
        }
    }
    merged.sort_by_key(Crd::file);
    for pair in merged
        .windows(2)
        .filter(|pair| pair[0].file() == pair[1].file())
    {
        let text = format!(
            "`{}` and `{}` of group `{}` have the same plural `{}`",
            pair[0].kind, pair[1].kind, pair[0].group, pair[0].plural
        );
        problems
            .push(Problem::new(text).help("set `plural = \"…\"` in `#[kube(…)]` of one of them"));
    }
    merged
}

/// The locations of a kind's versions, joined for use within backticks.
fn place(kind: &str, parts: &[&Value], map: &SourceMap) -> String {
    let versions = parts.iter().flat_map(|part| versions(part));
    let mut all: Vec<String> = versions
        .filter_map(|version| map.locate(kind, name(version), "").shown())
        .collect();
    all.sort();
    all.dedup();
    all.join("`, `")
}

/// Group and kind, if `crd` has every part of a CRD that the functions below rely on.
fn identity(crd: &Value) -> Option<(&str, &str)> {
    let spec = &crd["spec"];
    let metadata = crd["metadata"].as_object()?;
    let maps = ["annotations", "labels"]
        .iter()
        .filter_map(|key| metadata.get(*key));
    let versions = spec["versions"].as_array()?;
    let valid = maps
        .map(Value::is_object)
        .chain(versions.iter().map(Value::is_object))
        .all(|good| good);
    let names = spec["names"].as_object()?;
    (valid && !versions.is_empty())
        .then_some((spec["group"].as_str()?, names.get("kind")?.as_str()?))
}

fn merge_kind(group: &str, kind: &str, parts: &[&Value]) -> Result<Crd, Vec<Problem>> {
    let mut versions: Vec<Value> = parts
        .iter()
        .flat_map(|part| versions(part))
        .cloned()
        .collect();
    versions.sort_by(|a, b| priority(name(b)).cmp(&priority(name(a))));
    versions.iter_mut().for_each(tidy);

    let mut problems = Vec::new();
    let stored = parts
        .iter()
        .find(|part| self::versions(part).iter().any(stored));
    let first = stored.or(parts.first()).copied().unwrap_or(&Value::Null);
    for other in parts {
        problems.extend(disagreements(group, kind, first, other));
    }
    problems.extend(unconverted(group, kind, parts));
    let plural = first["spec"]["names"]["plural"]
        .as_str()
        .unwrap_or_default();
    if !is_subdomain(group) || !is_subdomain(plural) {
        let text = format!("`{kind}`: `{plural}.{group}` is not a valid name for a CRD");
        let help = "use `a` to `z`, `0` to `9`, `-`, and `.` in the group";
        problems.push(Problem::new(text).help(help));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Crd {
        group: group.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
        object: object(first, parts, versions),
    })
}

/// The CRD of the storage version (`first`) with the versions and metadata of all parts.
fn object(first: &Value, parts: &[&Value], versions: Vec<Value>) -> Value {
    let mut object = first.clone();
    object["spec"]["versions"] = Value::Array(versions);
    object["spec"]["names"] = names(&first["spec"]["names"]);
    if let Some(conversion) = parts.iter().copied().find_map(conversion) {
        object["spec"]["conversion"] = conversion.clone();
    }
    for key in ["annotations", "labels"] {
        let all = metadata(parts, key);
        if !all.is_empty() {
            object["metadata"][key] = Value::Object(all);
        }
    }
    object["metadata"]["annotations"][ANNOTATION] = json!(env!("CARGO_PKG_VERSION"));
    object
}

/// The annotations or labels of all versions.
fn metadata(parts: &[&Value], key: &str) -> Map<String, Value> {
    let maps = parts
        .iter()
        .filter_map(|part| part["metadata"][key].as_object());
    maps.flatten()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The names with `listKind`, as controller-gen writes it, and without the empty lists that the API server drops.
fn names(names: &Value) -> Value {
    let mut names = names.clone();
    let list = format!("{}List", names["kind"].as_str().unwrap_or_default());
    if let Some(names) = names.as_object_mut() {
        names.entry("listKind").or_insert(json!(list));
        names.retain(|_, value| value != &json!([]));
    }
    names
}

#[cfg(test)]
mod tests;
