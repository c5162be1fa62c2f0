//! A project of kubebuilder or operator-sdk, in Go -> what a project of kbr takes over from it. Does no I/O.

pub mod carried;
mod catalog;
mod manifests;
mod project;
mod source;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use crate::imported::{self, Definition};
use kbr_host::diagnostic::Diagnostic;

pub use manifests::{Manager, Sample};
pub use project::{GoProject, GoResource, GoWebhooks};
pub use source::{Marker, Reconciler};

/// The files of a project by their paths, relative to its root, with `/` as the separator.
pub type Files = BTreeMap<String, String>;

/// All that is taken over.
#[derive(Debug)]
pub struct Found {
    /// Its PROJECT.
    pub project: GoProject,
    /// The definitions in `config/crd`.
    pub definitions: Vec<Definition>,
    /// The reconcilers in its Go files.
    pub reconcilers: Vec<Reconciler>,
    /// The `+kubebuilder:rbac` and `+kubebuilder:webhook` comments of all Go files.
    pub markers: Vec<Marker>,
    /// The objects in `config/samples`.
    pub samples: Vec<Sample>,
    /// The Deployment in `config/manager`.
    pub manager: Manager,
    /// The components that `config/default` has, besides those for webhooks.
    pub components: Vec<&'static str>,
    /// The name of the Lease, if a Go file says it.
    pub lease: Option<String>,
    /// The field managers under which the operator writes, besides the name of its program.
    pub field_owners: BTreeSet<String>,
    /// Names of finalizers that Go files define.
    pub finalizers: Vec<String>,
    /// The default of `IMG` in the Makefile.
    pub image: Option<String>,
    /// The text of `[bundle]`, which says what a catalogue shows.
    pub bundle: Option<String>,
    /// SPDX-like name of the license: `apache2`, `mit` or `none`.
    pub license: &'static str,
    /// Files below `config` that kubebuilder does not write, or that its user has to look at.
    pub left: Vec<String>,
}

/// Reads the files of a project.
///
/// # Errors
/// PROJECT is missing, or of another tool; a definition is not a CRD that kbr can read.
pub fn read(files: &Files) -> anyhow::Result<Found> {
    let Some(text) = files.get("PROJECT") else {
        let text = "it has no file `PROJECT`, which kubebuilder and operator-sdk write";
        return Err(Diagnostic::new(text)
            .help("pass the root of a project of kubebuilder or operator-sdk")
            .into());
    };
    let project = project::parse(text)?;
    let sources: Vec<_> = files
        .iter()
        .filter(|(path, _)| has_extension(path, &["go"]) && !path.ends_with("_test.go"))
        .collect();
    let definitions = definitions(files)?;
    let mut left = manifests::left(files);
    left.retain(|path| !definitions.contains_key(path));
    Ok(Found {
        definitions: definitions.into_values().collect(),
        reconcilers: sources
            .iter()
            .flat_map(|(path, text)| source::reconcilers(path, text))
            .collect(),
        markers: markers(&sources, &project),
        lease: sources.iter().find_map(|(_, text)| source::lease(text)),
        field_owners: sources
            .iter()
            .flat_map(|(_, text)| source::field_owners(text))
            .collect(),
        finalizers: sources
            .iter()
            .flat_map(|(_, text)| source::finalizers(text))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        samples: manifests::samples(files),
        manager: manifests::manager(files),
        components: manifests::components(files, &project),
        image: files.get("Makefile").and_then(|text| image(text)),
        bundle: catalog::bundle(files),
        license: license(files),
        left,
        project,
    })
}

/// The markers of all Go files. Where a namespaced operator works is up to `config`, not to its code.
fn markers(sources: &[(&String, &String)], project: &GoProject) -> Vec<Marker> {
    let markers = sources
        .iter()
        .flat_map(|(path, text)| source::markers(path, text));
    let mut markers: Vec<_> = markers.collect();
    if project.namespaced {
        let argument = format!("namespace={}-system", project.project_name);
        for marker in &mut markers {
            marker.remove(&argument);
        }
    }
    markers
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    let (_, extension) = path.rsplit_once('.').unwrap_or_default();
    extensions.contains(&extension)
}

/// The definitions that controller-gen wrote, by their files: in `bases`, or in another folder beside it.
fn definitions(files: &Files) -> anyhow::Result<BTreeMap<String, Definition>> {
    let all = files.range("config/crd/".to_owned().."config/crd0".to_owned());
    let all = all.filter(|(path, _)| has_extension(path, &["yaml", "yml"]));
    let (bases, others): (Vec<_>, Vec<_>) =
        all.partition(|(path, _)| path.starts_with("config/crd/bases/"));
    let mut found: BTreeMap<String, Definition> = BTreeMap::new();
    for (path, text) in bases {
        let definition = imported::read(text, None);
        let definition = definition.map_err(|error| error.context(format!("`{path}`")))?;
        found.insert(path.clone(), definition);
    }
    for (path, text) in others {
        // Patches are not whole definitions.
        let Ok(definition) = imported::read(text, None) else {
            continue;
        };
        let (group, kind) = (&definition.group, &definition.kind);
        if !found
            .values()
            .any(|it| it.group == *group && it.kind == *kind)
        {
            found.insert(path.clone(), definition);
        }
    }
    Ok(found)
}

/// `IMG ?= registry.example.com/captains:v1`.
fn image(makefile: &str) -> Option<String> {
    let line = makefile.lines().find(|line| line.starts_with("IMG "))?;
    let (_, value) = line.split_once("?=")?;
    let value = value.trim();
    // It becomes a word of shell commands.
    let is_image = |it: char| it.is_ascii_alphanumeric() || "./:_@-".contains(it);
    (!value.is_empty() && value.chars().all(is_image)).then(|| value.to_owned())
}

fn license(files: &Files) -> &'static str {
    let text = files.get("LICENSE").or_else(|| files.get("LICENSE.txt"));
    let text = text
        .or_else(|| files.get("hack/boilerplate.go.txt"))
        .map_or("", String::as_str);
    if text.contains("Apache License") {
        "apache2"
    } else if text.contains("MIT License") {
        "mit"
    } else {
        "none"
    }
}

#[cfg(test)]
mod tests;
