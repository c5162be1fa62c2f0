//! What `kbr manifests` does: CRDs from the types of the `api` crate, roles and webhooks from `+kbr:` comments.

#![allow(
    clippy::must_use_candidate,
    clippy::return_self_not_must_use,
    reason = "on nearly every function, it says nothing about any of them"
)]

pub mod against;
mod agreement;
mod allow;
mod artifacts;
pub mod audit;
mod crd;
pub mod files;
pub mod finalizers;
#[cfg(test)]
#[path = "../../../tests/fuzz/driver.rs"]
mod fuzz;
mod generated;
mod history;
mod kinds;
mod kustomization;
mod lint;
mod markers;
mod original;
pub mod overlay;
pub mod packages;
#[cfg(test)]
#[path = "../../../tests/fuzz/planted.rs"]
mod planted;
mod problem;
mod rbac;
mod registrations;
mod samples;
mod source_map;
mod sources;
mod stored;
mod unselective;
mod version_skew;
mod webhook;

use std::path::{Path, PathBuf};

use allow::Allow;
pub use artifacts::of_kind as files_of_kind;
pub use artifacts::webhooks::PATH as WEBHOOKS;
use artifacts::{Findings, Input};
use crd::Crd;
pub use crd::FOLDER as CRDS;
pub use files::{Compared, diff};
pub use generated::{Generated, summary, write};
use kbr_programs::cargo;
use kbr_scaffold::commit::{self, suspended};
use kbr_scaffold::resource::Resource;
use kbr_scaffold::workdir;
use kinds::Kinds;
use original::Original;
use packages::Package;
pub use problem::Problem;
pub use rbac::permission;
use source_map::SourceMap;
use sources::Sources;

/// What to generate. An option that is not set here is read from `[manifests]` in PROJECT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// Whether to generate only CRDs.
    pub crd_only: bool,
    /// Descriptions are cut to this many bytes; 0 removes them.
    pub max_description_length: Option<usize>,
    /// Whether cargo reports errors only.
    pub quiet: bool,
    /// Whether nothing may be written; an interrupted commit is then not recovered either.
    pub read_only: bool,
    /// The binary that prints the CRDs, if it is built already.
    pub generator: Option<&'a Path>,
}

/// The result of one run of several.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Warnings that the previous run did not report.
    pub warnings: Vec<Problem>,
    /// `create a.yaml, 3 same`.
    pub summary: String,
    /// The files that it wrote.
    pub written: Vec<String>,
}

/// Generates and writes the manifests; `reported` holds the warnings of the previous run.
///
/// # Errors
/// As [`generate`] and [`write`].
pub fn regenerate(
    root: &Path,
    options: Options<'_>,
    prune: bool,
    reported: &mut Vec<Problem>,
) -> anyhow::Result<Run> {
    let generated = generate(root, options)?;
    let warnings = generated.warnings.iter();
    let warnings = warnings.filter(|warning| !reported.contains(warning));
    let warnings = warnings.cloned().collect();
    reported.clone_from(&generated.warnings);
    let compared = write(root, &generated, prune)?;
    Ok(Run {
        warnings,
        summary: summary(&generated, &compared),
        written: compared.changes.into_iter().map(|it| it.path).collect(),
    })
}

/// The binary that prints the CRDs of the project at `root`; `None` without one.
///
/// # Errors
/// The workspace cannot be read.
pub fn generator(root: &Path) -> anyhow::Result<Option<String>> {
    Ok(generator_of(&packages::packages(root)?).map(str::to_owned))
}

fn generator_of(packages: &[Package]) -> Option<&str> {
    packages
        .iter()
        .find_map(|package| package.crdgen.as_deref())
}

/// Recovers an interrupted commit before its files are read; returns a warning instead if nothing may be written.
fn recover(root: &Path, read_only: bool) -> anyhow::Result<Option<Problem>> {
    suspended::check(root)?;
    match commit::unfinished(root)? {
        Some(state) if read_only => Ok(Some(state)),
        Some(_) => {
            drop(commit::lock(root)?);
            Ok(None)
        }
        None => Ok(None),
    }
}

/// Generates the content of every file, with warnings. Writes nothing.
///
/// # Errors
/// The code does not compile, or the API server would reject what it describes. All problems are reported at once.
pub fn generate(root: &Path, options: Options<'_>) -> anyhow::Result<Generated> {
    let mut findings = Findings::default();
    let unfinished = recover(root, options.read_only)?;
    findings.warnings.extend(unfinished);
    let project = &workdir::load(root)?;
    let packages = packages::packages(root)?;
    let allow = &Allow::new(&project.manifests.allow);
    findings.problems = allow::check_project(&project.manifests.allow);
    let mut sources = sources(root, options, &packages, &mut findings.problems)?;
    sources.allow(&project.manifests.allow);
    let map = &SourceMap::new(&sources.files, &sources.called("lint"));
    findings.warnings.extend(map.unread.iter().cloned());
    let (mut crds, built) = match generator_of(&packages) {
        Some(generator) => definitions(root, generator, options, map, &mut findings.problems),
        None => (Vec::new(), None),
    };
    for crd in &mut crds {
        crd.restore_descriptions(map);
    }
    let most = options.max_description_length;
    if let Some(most) = most.or(project.manifests.max_description_length) {
        for crd in &mut crds {
            crd.truncate_descriptions(most);
        }
    }
    // Values can be made only of a schema that the API server accepts.
    let mut sound = Vec::new();
    for (at, crd) in crds.iter_mut().enumerate() {
        let original = Original::of(crd, root);
        let (errors, doubts) = lint::check(crd, map, allow, &original);
        if errors.is_empty() {
            sound.push((at, original));
        }
        findings.problems.extend(errors);
        findings.warnings.extend(doubts);
        crd.drop_formats();
    }
    if let Some(built) = built {
        let ask = &mut |objects: &[String]| packages::again(root, &built, objects);
        let kinds: Vec<&Crd> = sound.iter().map(|(at, _)| &crds[*at]).collect();
        let checked = agreement::check(&kinds, map, ask)?;
        let is_silent = checked.is_none() && !crds.is_empty();
        let unanswered = is_silent.then(agreement::unanswered);
        findings.warnings.extend(unanswered);
        for ((at, original), checked) in sound.iter().zip(checked.into_iter().flatten()) {
            let crd = &crds[*at];
            let (errors, doubts) = lint::problems(crd, checked.found, map, allow, original);
            findings.problems.extend(errors);
            findings.warnings.extend(doubts);
            let is_its = |api: &&Resource| api.full_group == crd.group && api.kind == crd.kind;
            let types = project.apis().filter(is_its).map(Resource::type_path);
            let types: Vec<String> = types.collect();
            let unknown = checked.is_unknown.then(|| agreement::unknown(crd, &types));
            findings.warnings.extend(unknown);
        }
    }
    let input = Input {
        root,
        project,
        kinds: &Kinds::of(project, &crds),
        sources: &sources,
        crds: &crds,
        map,
        allow,
        crd_only: options.crd_only,
    };
    let files = artifacts::generate(&input, &mut findings)?;
    match problem::error(findings.problems) {
        Some(error) => Err(error.into()),
        None => Ok(Generated {
            files,
            leftovers: artifacts::selected(options.crd_only)
                .filter_map(|it| it.leftovers)
                .collect(),
            warnings: findings.warnings,
        }),
    }
}

/// The sources with their markers. CRDs need only the lines of fields and the allowed findings, so other markers are not checked for them.
fn sources(
    root: &Path,
    options: Options<'_>,
    packages: &[Package],
    problems: &mut Vec<Problem>,
) -> anyhow::Result<Sources> {
    let mut ignored = Vec::new();
    let of_comments = if options.crd_only {
        &mut ignored
    } else {
        &mut *problems
    };
    let sources = Sources::read(root, packages, of_comments)?;
    problems.extend(allow::check_comments(&sources.called("lint")));
    Ok(sources)
}

/// One CRD for each kind, from the output of the project's generator, and the generator. One that fails is a problem, and so is one whose
/// output differs when it runs again.
fn definitions(
    root: &Path,
    generator: &str,
    options: Options<'_>,
    map: &SourceMap,
    problems: &mut Vec<Problem>,
) -> (Vec<Crd>, Option<PathBuf>) {
    let built = match options.generator {
        Some(built) => Ok(built.to_owned()),
        None => {
            cargo::build(root, &[generator], options.quiet).map(|mut built| built.swap_remove(0))
        }
    };
    let printed = built.and_then(|built| {
        let first = packages::crds(root, &built)?;
        let second = packages::crds(root, &built)?;
        Ok((built, first, second))
    });
    match printed {
        Ok((built, first, second)) => {
            let crds = crd::merge(&first, map, problems);
            let again = crd::merge(&second, map, &mut Vec::new());
            problems.extend(agreement::unsteady(&crds, &again, map));
            (crds, Some(built))
        }
        Err(error) => {
            let text = kbr_host::diagnostic::text(&error);
            let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
            problems.push(Problem::new(first).below(rest));
            if let Some(failed) = error.downcast_ref::<packages::Failed>() {
                problems.extend(map.causes(&failed.printed));
            } else {
                problems.extend(map.compile_errors());
            }
            (Vec::new(), None)
        }
    }
}
