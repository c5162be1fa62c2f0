//! The Helm chart of a project, from what kustomize renders of it: it differs from `config` in no object, with no set of components.
//!
//! `config/default` is rendered with each selection of components. The renderings are merged into one tree, in which what differs has a
//! condition over the chart's values, and the tree is written as templates. Nothing here knows what a component does.

mod about;
mod assemble;
mod checks;
mod condition;
mod crds;
mod marks;
mod merge;
mod names;
mod own;
mod parts;
mod place;
mod ports;
mod role_namespaces;
mod schemas;
mod settings;
mod switches;
mod text;
mod tokens;
mod values;
mod webhook_namespaces;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use anyhow::Context;
use serde_json::Value;

use crate::Dist;
use crate::bundle::set_image;
use crate::render::Scratch;
use about::About;
use assemble::Chart;
pub use crds::stored;
use kbr_manifests::packages;
use kbr_scaffold::workdir;
use marks::Marks;
use names::Names;
use own::Own;
use parts::Part;
use ports::Ports;
use switches::Switches;

/// Where the chart is, relative to the project.
pub const FOLDER: &str = "dist/chart";

const NOTE: &str = "note: with so many components, kustomize renders each of them, each pair and all together, not each set: \
                    what three of them change only together is not in the chart";

/// The files of the chart of the project at `root`, with an image of the operator or that of `config`. `kubectl` makes a command without arguments.
///
/// # Errors
/// `config` cannot be read or rendered, or it has parts that a chart cannot express.
pub fn generate(
    root: &Path,
    image: Option<&str>,
    kubectl: &dyn Fn() -> Command,
) -> anyhow::Result<Dist> {
    let project = workdir::load(root)?;
    let packages = packages::packages(root)?;
    let own = packages.iter().find(|package| package.folder == root);
    let version = own.map_or("0.1.0", |package| &package.version);
    let scratch = Scratch::new(root)?;
    let mut switches = Switches::read(root, &scratch.listed())?;
    let mut rendered = rendered(&scratch, &switches, kubectl)?;
    let name = project.head.name.as_str();
    let namespace = namespace(&rendered[&switches.components(switches.default)])?;
    let objects = || rendered.values().flatten();
    let names = Names::new(&project.head, &namespace, objects());
    let mut marks = Marks::new(names, Ports::new(objects()));
    for objects in rendered.values_mut() {
        // `helm install --create-namespace` creates it: a release is in a namespace before it has objects.
        objects.retain(|object| object["kind"] != "Namespace");
        for object in objects {
            if let Some(image) = image.filter(|_| is_manager(object)) {
                set_image(object, image)?;
            }
            marks.mark(object);
        }
    }
    let parts = parts::parts(&rendered.values().flatten().collect::<Vec<_>>());
    switches.add(parts.iter().map(|part| part.value));
    let cases = cases(&rendered, &switches, &parts);
    let chart = Chart {
        root,
        own: Own::read(root)?,
        about: About { name, version },
        switches: &switches,
        marks: &marks,
        all: switches.cases(),
    };
    Ok(Dist {
        name: "chart",
        files: chart.files(&cases)?,
        first: format!("{FOLDER}/Chart.yaml"),
        folders: ["templates", "charts"]
            .map(|folder| format!("{FOLDER}/{folder}"))
            .into(),
        note: (!switches.has_all_sets()).then(|| NOTE.to_owned()),
    })
}

/// The objects with each selection of components.
type Rendered = BTreeMap<Vec<String>, Vec<Value>>;

fn rendered(
    scratch: &Scratch,
    switches: &Switches,
    kubectl: &dyn Fn() -> Command,
) -> anyhow::Result<Rendered> {
    let mut rendered = Rendered::new();
    for case in switches.cases() {
        if let Entry::Vacant(entry) = rendered.entry(switches.components(case)) {
            let objects = scratch.render(entry.key(), kubectl)?;
            entry.insert(objects);
        }
    }
    Ok(rendered)
}

/// Components, and which parts are on.
type Selection = (Vec<String>, Vec<bool>);

/// The objects in each case: those of its components, without the parts that are off. Equal objects are one.
fn cases(
    rendered: &Rendered,
    switches: &Switches,
    parts: &[Part],
) -> BTreeMap<usize, Vec<Rc<Value>>> {
    let mut pool: BTreeMap<String, Rc<Value>> = BTreeMap::new();
    let mut known: BTreeMap<Selection, Vec<Rc<Value>>> = BTreeMap::new();
    let mut cases = BTreeMap::new();
    for case in switches.cases() {
        let on: Vec<bool> = parts
            .iter()
            .map(|part| switches.is_on(part.value, case))
            .collect();
        let components = switches.components(case);
        let objects = known
            .entry((components, on))
            .or_insert_with_key(|(components, on)| {
                let off = || parts.iter().zip(on).filter(|(_, on)| !**on);
                let left = |object: &Value| {
                    off().try_fold(object.clone(), |object, (part, _)| (part.without)(object))
                };
                let share = |object: Value| {
                    let entry = pool.entry(object.to_string());
                    entry.or_insert_with(|| Rc::new(object)).clone()
                };
                rendered[components]
                    .iter()
                    .filter_map(left)
                    .map(share)
                    .collect()
            });
        cases.insert(case, objects.clone());
    }
    cases
}

/// The namespace that the operator runs in.
fn namespace(objects: &[Value]) -> anyhow::Result<String> {
    let found = objects.iter().find(|object| is_manager(object));
    let found = found.and_then(|object| object["metadata"]["namespace"].as_str());
    Ok(found
        .context(
            "`config/default` has no Deployment with the label `control-plane: controller-manager`",
        )?
        .to_owned())
}

fn is_manager(object: &Value) -> bool {
    object["kind"] == "Deployment"
        && object["metadata"]["labels"]["control-plane"] == "controller-manager"
}

#[cfg(test)]
mod tests {
    mod fuzz;
}
