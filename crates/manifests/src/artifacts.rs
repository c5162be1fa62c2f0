//! The artifacts: what kbr generates into a project, a row each.
//!
//! `kbr manifests` writes them all and `--check` compares them, `kbr delete api` removes those of a kind, and `kbr upgrade` generates
//! them again. None of these commands names an artifact: a new one is a file in `artifacts/` and its row here.

mod definitions;
mod roles;
mod samples;
pub mod webhooks;

use std::path::Path;

use super::allow::Allow;
use super::crd::Crd;
use super::files::{Body, File, Leftovers};
use super::kinds::Kinds;
use super::problem::Problem;
use super::source_map::SourceMap;
use super::sources::Sources;
use kbr_scaffold::edited::Mark;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::Resource;

/// Every artifact, in the order in which problems and files are reported.
const ARTIFACTS: &[Artifact] = &[
    roles::ROLES,
    webhooks::WEBHOOKS,
    definitions::DEFINITIONS,
    samples::SAMPLES,
];

/// One kind of generated file.
pub struct Artifact {
    /// What its files are generated from, and how one shows that the user has not replaced or edited it.
    pub mark: Mark,
    /// Whether `--crd-only` includes it.
    pub is_definition: bool,
    /// Generates its files.
    pub generate: fn(&Input, &mut Findings) -> anyhow::Result<Vec<Body>>,
    /// Where a file whose source has gone is found; `None` if the artifact always has the same files.
    pub leftovers: Option<Leftovers>,
    /// The path of the file that goes with the last version of a kind; `None` if no file belongs to one kind.
    pub of_kind: Option<fn(&Resource) -> String>,
}

/// What artifacts are generated from.
pub struct Input<'a> {
    pub root: &'a Path,
    pub project: &'a Project,
    /// The kinds that the code may use.
    pub kinds: &'a Kinds,
    /// The Rust of the operator.
    pub sources: &'a Sources,
    /// The definition of each kind, without those that have problems.
    pub crds: &'a [Crd],
    /// The lines of types and fields.
    pub map: &'a SourceMap,
    /// What the project allows.
    pub allow: &'a Allow,
    /// Whether only CRDs are generated.
    pub crd_only: bool,
}

/// What the user should know about the sources.
#[derive(Debug, Default)]
pub struct Findings {
    /// If there is one, nothing is written.
    pub problems: Vec<Problem>,
    pub warnings: Vec<Problem>,
}

/// The artifacts to generate: all, or those of CRDs.
pub fn selected(crd_only: bool) -> impl Iterator<Item = &'static Artifact> {
    let is_selected = move |it: &&Artifact| it.is_definition || !crd_only;
    ARTIFACTS.iter().filter(is_selected)
}

/// The files of the selected artifacts.
///
/// # Errors
/// A file of the project that an artifact depends on cannot be read.
pub fn generate(input: &Input, findings: &mut Findings) -> anyhow::Result<Vec<File>> {
    let mut files = Vec::new();
    for artifact in selected(input.crd_only) {
        let generated = (artifact.generate)(input, findings)?;
        files.extend(generated.into_iter().map(|body| File {
            path: body.path,
            text: artifact.mark.put_on(&body.text),
            mark: artifact.mark,
        }));
    }
    Ok(files)
}

/// The generated files that go with the last version of the kind of `api`.
pub fn of_kind(api: &Resource) -> impl Iterator<Item = String> {
    let paths = ARTIFACTS.iter().filter_map(|artifact| artifact.of_kind);
    paths.map(|path| path(api))
}
