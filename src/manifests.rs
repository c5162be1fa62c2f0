//! `kbr manifests`: CRDs from the types of the `api` crate, roles and webhooks from `+kbr:` comments.

mod allow;
mod crd;
mod descriptions;
mod files;
mod history;
mod kinds;
mod kustomization;
mod lint;
mod markers;
mod output;
mod packages;
mod problem;
mod rbac;
mod samples;
mod source_map;
mod sources;
mod uses;
mod version;
mod version_skew;
mod webhook;
mod yaml;

use std::path::Path;

use crate::commit;
use crate::project::Project;
use crate::workdir;
use allow::Allow;
use crd::Crd;
use files::{BASES, File};
pub use files::{Compared, diff};
use kinds::Kinds;
pub use output::{Generated, summary, write};
use packages::Package;
pub use problem::Problem;
use source_map::SourceMap;
use sources::Sources;
pub use webhook::PATH as WEBHOOKS;

/// What to generate. What PROJECT says under `[manifests]` holds where nothing is said here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The CRDs only.
    pub crd_only: bool,
    /// How many bytes of descriptions to keep; 0 for none.
    pub max_description_length: Option<usize>,
    /// Whether cargo reports errors only.
    pub quiet: bool,
    /// Whether nothing may be written, not even the rest of a commit that was interrupted.
    pub read_only: bool,
}

/// What one run of several did.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Warnings that the run before did not have.
    pub warnings: Vec<Problem>,
    /// `create a.yaml, 3 same`.
    pub summary: String,
    /// The files that it wrote.
    pub written: Vec<String>,
}

/// Generates and writes the manifests; `told` are the warnings of the run before.
///
/// # Errors
/// As [`generate`] and [`write`].
pub fn again(
    root: &Path,
    options: Options,
    prune: bool,
    told: &mut Vec<Problem>,
) -> anyhow::Result<Run> {
    let generated = generate(root, options)?;
    let warnings = generated.warnings.iter();
    let warnings = warnings.filter(|warning| !told.contains(warning));
    let warnings = warnings.cloned().collect();
    told.clone_from(&generated.warnings);
    let compared = write(root, &generated, prune)?;
    Ok(Run {
        warnings,
        summary: summary(&generated, &compared),
        written: compared.changes.into_iter().map(|it| it.path).collect(),
    })
}

/// Finishes a commit that was interrupted before its files are read; if nothing may be written, a warning says so.
fn recover(root: &Path, read_only: bool) -> anyhow::Result<Option<Problem>> {
    match commit::unfinished(root)? {
        Some(state) if read_only => Ok(Some(Problem::new(state))),
        Some(_) => {
            drop(commit::lock(root)?);
            Ok(None)
        }
        None => Ok(None),
    }
}

/// Every file of the project as it should be, and what a person should know.
///
/// # Errors
/// The code does not compile, or describes what no API server would accept: everything that is wrong at once.
pub fn generate(root: &Path, options: Options) -> anyhow::Result<Generated> {
    let mut warnings = Vec::from_iter(recover(root, options.read_only)?);
    let project = &workdir::load(root)?;
    let packages = packages::packages(root)?;
    let allow = &Allow::new(&project.manifests.allow);
    let mut problems = allow::check_project(&project.manifests.allow);
    let mut sources = sources(root, options, &packages, &mut problems)?;
    sources.allow(&project.manifests.allow);
    let map = &SourceMap::new(&sources.files, &sources.called("lint"));
    let mut crds = Vec::new();
    if packages.iter().any(|package| package.crdgen) {
        crds = definitions(root, options, map, &mut problems);
    }
    let most = options.max_description_length;
    if let Some(most) = most.or(project.manifests.max_description_length) {
        for crd in &mut crds {
            crd.truncate_descriptions(most);
        }
    }
    for crd in &crds {
        let (errors, doubts) = lint::check(crd, map, allow);
        problems.extend(errors);
        warnings.extend(doubts);
    }
    let mut files = Vec::new();
    if !options.crd_only {
        let kinds = &Kinds::of(project, &crds);
        let (roles, found) = roles(root, project, kinds, &sources, &crds, &mut problems)?;
        files = roles;
        warnings.extend(found);
        let (file, found) =
            webhook::generate(root, project, kinds, &sources, &crds, &mut problems)?;
        files.extend(file);
        warnings.extend(found);
    }
    if let Some(error) = problem::error(problems) {
        return Err(error.into());
    }
    for crd in &crds {
        files.push(definition(crd)?);
    }
    warnings.extend(version_skew(project, &crds, map, allow));
    warnings.extend(history::differences(project, &crds));
    warnings.extend(kustomization::listing(root, &crds)?);
    let mut samples = Vec::new();
    if !options.crd_only {
        let (changes, found) = samples::check(root, &crds)?;
        samples = changes;
        warnings.extend(found);
    }
    Ok(Generated {
        files,
        samples,
        warnings,
    })
}

/// The sources with their markers. For CRDs alone, the lines of fields and what is allowed matter, other comments do not.
fn sources(
    root: &Path,
    options: Options,
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

/// What the project's generator prints, a definition a kind; a generator that fails is a problem, too.
fn definitions(
    root: &Path,
    options: Options,
    map: &SourceMap,
    problems: &mut Vec<Problem>,
) -> Vec<Crd> {
    match packages::crds(root, options.quiet) {
        Ok(printed) => crd::merge(&printed, map, problems),
        Err(error) => {
            problems.push(Problem::new(format!("{error:#}")));
            if error.is::<packages::Failed>() {
                problems.extend(lint::panics(map));
            }
            Vec::new()
        }
    }
}

fn definition(crd: &Crd) -> anyhow::Result<File> {
    let header = files::header("the types in `api`");
    Ok(File {
        path: format!("{BASES}/{}", crd.file()),
        text: yaml::render(&header, std::slice::from_ref(&crd.object))?,
    })
}

/// Versions that lose fields when one is converted to another, unless that is allowed.
fn version_skew(project: &Project, crds: &[Crd], map: &SourceMap, allow: &Allow) -> Vec<Problem> {
    const ID: &str = "versions";
    if allow.has(ID) {
        return Vec::new();
    }
    let skew = |crd: &Crd| {
        let allowed =
            |version: &str, path: &str| map.allows(&map.locate(&crd.kind, version, path), ID);
        let hub = project.hub(&crd.group, &crd.kind);
        let hub = hub.map(|hub| hub.target.version.as_str());
        version_skew::lost_fields(crd, &project.head.domain, hub, &allowed)
    };
    crds.iter().filter_map(skew).collect()
}

/// The roles of the whole cluster and of namespaces; for who deploys `config/namespaced`, the same for one namespace. And
/// what the code needs and they do not permit.
fn roles(
    root: &Path,
    project: &Project,
    kinds: &Kinds,
    sources: &Sources,
    crds: &[Crd],
    problems: &mut Vec<Problem>,
) -> anyhow::Result<(Vec<File>, Vec<Problem>)> {
    // What the scaffolded bindings refer to.
    let role = &format!("{}-manager-role", project.head.name);
    let roles = rbac::Roles::new(
        role,
        &sources.called("rbac"),
        &crd::resources(crds),
        problems,
    );
    let mut missing = rbac::needed::missing(&roles, kinds, sources);
    missing.retain(|problem| {
        let allowed = |id: &str| project.manifests.allow.iter().any(|allowed| allowed == id);
        !problem.id().is_some_and(allowed)
    });
    let header = files::header("the `+kbr:rbac` comments in the sources");
    let mut files = vec![File {
        path: "config/rbac/role.yaml".to_owned(),
        text: yaml::render(&header, &roles.manifests())?,
    }];
    if root.join("config/namespaced/role").is_dir() {
        files.push(File {
            path: "config/namespaced/role/role.yaml".to_owned(),
            text: yaml::render(&header, &[roles.namespaced(role)])?,
        });
    }
    Ok((files, missing))
}
