//! A project of kubebuilder or operator-sdk, in Go -> what a project of kbr takes over from it. Does no I/O.

pub mod carried;
mod catalog;
mod definitions;
pub mod deployed;
mod kustomize;
mod lease;
mod manifests;
mod program;
mod project;
mod reconcilers;
mod source;
mod types;
mod webhooks;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use crate::imported::Definition;
use crate::quote::is_plain;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::yaml::Budget;

pub use definitions::{has_definition, is_yaml};
pub use kustomize::{Object, Rendered};
pub use manifests::{Manager, Sample, Samples};
pub use project::{GoProject, GoResource, GoWebhooks, MOST};
pub use reconcilers::{Reconciler, Reconcilers, word};
pub use source::Marker;
pub use types::GoType;
pub use webhooks::{Admitting, Described, described};

/// The files of a project by their paths, relative to its root, with `/` as the separator.
pub type Files = BTreeMap<String, String>;

/// All that is taken over.
#[derive(Debug)]
pub struct Found {
    /// Its PROJECT.
    pub project: GoProject,
    /// The definitions of its kinds.
    pub definitions: Vec<Definition>,
    /// The folders outside `config/crd` that they come from, unless the user named them.
    pub elsewhere: Vec<String>,
    /// The reconcilers in its Go files.
    pub reconcilers: Reconcilers,
    /// Other Go files of their packages.
    pub helpers: Vec<String>,
    /// The `+kubebuilder:rbac` comments of all Go files, sorted by their files.
    pub permissions: Vec<Marker>,
    /// The `+kubebuilder:webhook` comments of all Go files.
    pub webhooks: Vec<Described>,
    /// The Go files with webhooks and conversions.
    pub admitting: Vec<Admitting>,
    /// A sentence for each conversion that is not taken over, and for each change of a webhook's comment.
    pub admission_notes: Vec<String>,
    /// The objects in `config/samples`.
    pub samples: Samples,
    /// What its `config/default` deploys.
    pub rendered: Rendered,
    /// The operator's Deployment.
    pub manager: Manager,
    /// Why no webhook is taken over, if so.
    pub no_webhooks: Option<&'static str>,
    /// The components that `config/default` has, besides those for webhooks.
    pub components: Vec<&'static str>,
    /// The name of the Lease, if the Go files say it.
    pub lease: Option<String>,
    /// The field managers under which the operator writes, besides the name of its program.
    pub field_owners: BTreeSet<String>,
    /// The programs that the Dockerfiles run.
    pub programs: Vec<String>,
    /// The flags that `main.go` defines.
    pub flags: Vec<String>,
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
/// As [`read_with`].
pub fn read(files: &Files) -> anyhow::Result<Found> {
    read_with(files, None)
}

/// As [`read`], with the files of a folder that has the CRDs.
///
/// # Errors
/// PROJECT is missing, or of another tool; a definition is not a CRD that kbr can read.
pub fn read_with(files: &Files, crds: Option<&Files>) -> anyhow::Result<Found> {
    let Some(text) = files.get("PROJECT") else {
        let text = "it has no file `PROJECT`, which kubebuilder and operator-sdk write";
        return Err(Diagnostic::new(text)
            .help("pass the root of a project of kubebuilder or operator-sdk")
            .into());
    };
    check_names(files)?;
    let budget = &mut Budget::default();
    let mut project = project::parse(text, budget)?;
    let sources: Vec<_> = files
        .iter()
        .filter(|(path, _)| has_extension(path, &["go"]) && !path.ends_with("_test.go"))
        .collect();
    if project.layout.is_empty() && sources.is_empty() {
        return Err(project::not_in_go("it has no file of Go"));
    }
    if project.repo.is_empty() {
        let module = files.get("go.mod").and_then(|text| module(text));
        project.repo = module.unwrap_or_default();
    }
    let definitions = definitions::find(files, crds, &project, budget);
    let samples = manifests::samples(files, budget);
    let rendered = kustomize::render(files, manifests::DEFAULT, budget);
    let manager = manifests::manager(files, &rendered, budget);
    let no_webhooks = manifests::no_webhooks(files, &rendered, &manager);
    let components = manifests::components(&rendered, &project);
    let bundle = catalog::bundle(files, budget);
    if budget.is_spent() {
        return Err(too_large());
    }
    let definitions = definitions?;
    let mut left = manifests::left(files, &rendered);
    left.retain(|path| !definitions.files.contains_key(path));
    let all: Vec<_> = definitions.all().collect();
    project.correct(&all);
    let texts = sources.iter();
    let reconcilers = Reconcilers::read(texts.map(|(path, text)| (path.as_str(), text.as_str())));
    let (mut webhooks, permissions) = markers(&sources, &project)?;
    let mut admission_notes: Vec<_> = webhooks.iter_mut().flat_map(webhooks::correct).collect();
    let webhooks: Vec<_> = webhooks.into_iter().map(Described::new).collect();
    let admitting = sources.iter();
    let admitting = admitting.filter_map(|(path, text)| Admitting::of(path, text));
    let admitting: Vec<_> = admitting.collect();
    let hubs: BTreeSet<_> = admitting.iter().flat_map(Admitting::hubs).collect();
    admission_notes.extend(project.correct_conversions(&rendered, &all, &hubs));
    let helpers = reconcilers::helpers(&reconcilers, &sources);
    Ok(Found {
        helpers,
        definitions: definitions.files.into_values().flatten().collect(),
        elsewhere: definitions.elsewhere,
        admission_notes,
        reconcilers,
        permissions,
        webhooks,
        admitting,
        lease: lease::lease(&sources),
        field_owners: sources
            .iter()
            .flat_map(|(_, text)| source::field_owners(text))
            .collect(),
        programs: program::programs(files),
        flags: program::flags(&sources),
        finalizers: sources
            .iter()
            .flat_map(|(_, text)| source::finalizers(text))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        samples,
        rendered,
        manager,
        no_webhooks,
        components,
        image: files.get("Makefile").and_then(|text| image(text)),
        bundle,
        license: license(files),
        left,
        project,
    })
}

/// The error for YAML that exceeds the budget of a command.
fn too_large() -> anyhow::Error {
    let text = "its YAML has too many values, counted with those that aliases (`*name`) repeat";
    Diagnostic::new(text)
        .help("remove aliases and files that are not CRDs or samples below `config` from a copy of the project, and import that")
        .into()
}

/// Names of files become text of messages and comments.
fn check_names(files: &Files) -> anyhow::Result<()> {
    let Some(path) = files.keys().find(|path| !path.chars().all(is_plain)) else {
        return Ok(());
    };
    let text = format!(
        "the name of the file `{}` has a character that no one sees",
        path.escape_debug()
    );
    Err(Diagnostic::new(text)
        .help("rename or remove that file, then import the project again")
        .into())
}

/// The webhooks and permissions of all Go files. Where a namespaced operator works is up to `config`, not to its code.
fn markers(
    sources: &[(&String, &String)],
    project: &GoProject,
) -> anyhow::Result<(Vec<Marker>, Vec<Marker>)> {
    let markers = sources
        .iter()
        .flat_map(|(path, text)| source::markers(path, text));
    let (webhooks, mut permissions): (Vec<_>, Vec<_>) =
        markers.partition(|it| it.name == "webhook");
    if webhooks.len() > project::MOST {
        return Err(project::too_many(
            "`+kubebuilder:webhook` comments",
            webhooks.len(),
        ));
    }
    if project.namespaced {
        let argument = format!("namespace={}-system", project.project_name);
        for marker in &mut permissions {
            marker.remove(&argument);
        }
    }
    Ok((webhooks, permissions))
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    let (_, extension) = path.rsplit_once('.').unwrap_or_default();
    extensions.contains(&extension)
}

/// `module example.com/captains`.
fn module(text: &str) -> Option<String> {
    let mut names = text.lines().filter_map(|line| line.strip_prefix("module "));
    names.next().map(|name| name.trim().to_owned())
}

/// `IMG ?= registry.example.com/captains:v1`.
fn image(makefile: &str) -> Option<String> {
    let line = makefile.lines().find(|line| line.starts_with("IMG "))?;
    let (_, value) = line.split_once("?=")?;
    let value = value.trim();
    // It becomes a word of shell commands.
    let is_image = |it: char| it.is_ascii_alphanumeric() || "./:_@-".contains(it);
    let is_flag = !value.starts_with(|it: char| it.is_ascii_alphanumeric());
    (!is_flag && value.chars().all(is_image)).then(|| value.to_owned())
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
