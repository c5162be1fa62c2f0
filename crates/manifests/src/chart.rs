//! The Helm chart of a project, from what kustomize renders of it: it differs from `config` in no object, with no set of components.
//!
//! `config/default` is rendered with each selection of components. The renderings are merged into one tree, in which what differs has a
//! condition over the chart's values, and the tree is written as templates. Nothing here knows what a component does.

mod about;
mod assemble;
mod condition;
mod crds;
mod merge;
mod names;
mod own;
mod place;
mod schemas;
mod settings;
mod switches;
mod text;
mod values;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use crate::dist::Dist;
use crate::packages;
use crate::render::Scratch;
use about::About;
use assemble::Chart;
use kbr_scaffold::workdir;
use names::Names;
use switches::Switches;

/// Where the chart is, relative to the project.
pub const FOLDER: &str = "dist/chart";

/// The files of the chart of the project at `root`. `kubectl` makes a command without arguments.
///
/// # Errors
/// `config` cannot be read or rendered, or it has parts that a chart cannot express.
pub fn generate(root: &Path, kubectl: &dyn Fn() -> Command) -> anyhow::Result<Dist> {
    let project = workdir::load(root)?;
    let packages = packages::packages(root)?;
    let own = packages.iter().find(|package| package.folder == root);
    let version = own.map_or("0.1.0", |package| &package.version);
    let scratch = Scratch::new(root)?;
    let switches = Switches::read(root, &scratch.listed())?;
    let mut cases = cases(&scratch, &switches, kubectl)?;
    let name = project.head.name.as_str();
    let namespace = namespace(&cases[&switches.default])?;
    let everything: Vec<Value> = cases.values().flatten().cloned().collect();
    let names = Names::new(name, &namespace, &everything);
    for objects in cases.values_mut() {
        // `helm install --create-namespace` creates it: a release is in a namespace before it has objects.
        objects.retain(|object| object["kind"] != "Namespace");
        for object in objects {
            names.mark(object);
        }
    }
    let about = About { name, version };
    let all = switches.cases();
    let chart = Chart {
        root,
        about,
        switches: &switches,
        names: &names,
        all,
    };
    Ok(Dist {
        name: "chart",
        files: chart.files(&cases)?,
        first: format!("{FOLDER}/Chart.yaml"),
        folders: ["templates", "charts"]
            .map(|folder| format!("{FOLDER}/{folder}"))
            .into(),
    })
}

/// The objects in each case.
fn cases(
    scratch: &Scratch,
    switches: &Switches,
    kubectl: &dyn Fn() -> Command,
) -> anyhow::Result<BTreeMap<usize, Vec<Value>>> {
    let mut rendered: BTreeMap<Vec<&str>, Vec<Value>> = BTreeMap::new();
    let mut cases = BTreeMap::new();
    for case in switches.cases() {
        let components = switches.components(case);
        if !rendered.contains_key(&components) {
            rendered.insert(components.clone(), scratch.render(&components, kubectl)?);
        }
        cases.insert(case, rendered[&components].clone());
    }
    Ok(cases)
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
