//! `kbr manifests compare`: the CRDs that the types describe now, compared with earlier ones.

mod deployed;
mod finding;
mod folder;
mod git;
mod read;

use std::fmt;
use std::path::{Path, PathBuf};

use crd_lint::compatibility;
use serde_json::{Value, json};

use super::allow::{self, Allow, KIND_REMOVED};
use super::crd::{self, Crd};
use super::source_map::SourceMap;
use super::{Options, definitions, packages, problem, recover, sources};
pub use finding::Finding;
use kbr_host::output;
use kbr_scaffold::project::Project;
use kbr_scaffold::workdir;
use read::name;

/// Where the earlier CRDs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A commit of the project's repository.
    Git(String),
    /// A folder with CRDs, or a project.
    Folder(PathBuf),
    /// The cluster of the current context.
    Cluster,
}

impl Source {
    /// `cluster`; a path that begins with `/`, `./` or `../`; else a git ref.
    pub fn of(text: &str) -> Self {
        let is_path =
            [".", ".."].contains(&text) || ["/", "./", "../"].iter().any(|it| text.starts_with(it));
        match text {
            "cluster" => Self::Cluster,
            path if is_path => Self::Folder(path.into()),
            name => Self::Git(name.to_owned()),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git(name) => write!(f, "git ref `{name}`"),
            Self::Folder(path) => write!(f, "folder `{}`", path.display()),
            Self::Cluster => f.write_str("the cluster"),
        }
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The number of earlier CRDs that were compared.
    pub compared: usize,
    /// What is incompatible and not allowed.
    pub findings: Vec<Finding>,
}

/// Compares the CRDs of the project at `root` with earlier ones. Writes nothing.
///
/// # Errors
/// As `generate`; or the earlier CRDs cannot be read.
pub fn compare(root: &Path, source: &Source) -> anyhow::Result<Comparison> {
    let options = Options {
        crd_only: true,
        read_only: true,
        ..Options::default()
    };
    if let Some(warning) = recover(root, options.read_only)? {
        output::problem("warning", &warning);
    }
    let project = &workdir::load(root)?;
    let packages = packages::packages(root)?;
    let allow = &Allow::new(&project.manifests.allow);
    let mut problems = allow::check_project(&project.manifests.allow);
    let sources = sources(root, options, &packages, &mut problems)?;
    let map = &SourceMap::new(&sources.files, &sources.called("lint"));
    let mut crds = Vec::new();
    if let Some(generator) = super::generator_of(&packages) {
        (crds, _) = definitions(root, generator, options, map, &mut problems);
    }
    if let Some(error) = problem::error(problems) {
        return Err(error.into());
    }
    let now = current(root, &crds)?;
    let old = match source {
        Source::Git(name) => git::read(root, name)?,
        Source::Folder(path) => folder::read(path)?,
        Source::Cluster => deployed::read(&now)?,
    };
    let old: Vec<Value> = old
        .into_iter()
        .filter(|crd| is_own(project, &now, crd))
        .collect();
    let mut findings = Vec::new();
    for old in &old {
        match now.iter().find(|now| name(now) == name(old)) {
            Some(now) => {
                let found = compatibility::compare(old, now).into_iter();
                let all = found.map(|found| finding::locate(now, found, map));
                findings.extend(all.filter(|it| !it.is_allowed(allow)).map(|it| it.finding));
            }
            None if allow.has(KIND_REMOVED) => {}
            None => findings.push(finding::removed(old)),
        }
    }
    Ok(Comparison {
        compared: old.len(),
        findings,
    })
}

/// The generated CRDs, and those in the project that a user wrote, which are deployed instead of generated ones of the same name.
fn current(root: &Path, crds: &[Crd]) -> anyhow::Result<Vec<Value>> {
    let mut now: Vec<Value> = crds.iter().map(|crd| crd.object.clone()).collect();
    for (path, text) in read::files(&root.join(crd::FOLDER))? {
        if kbr_scaffold::edited::is_generated(text.as_bytes()) {
            continue;
        }
        for mine in read::definitions(&path, &text)? {
            now.retain(|crd| name(crd) != name(&mine));
            now.push(mine);
        }
    }
    Ok(now)
}

/// Whether a CRD is one of the project's, rather than one that is kept next to them.
fn is_own(project: &Project, now: &[Value], crd: &Value) -> bool {
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    let below = group.strip_suffix(&project.head.domain);
    below.is_some_and(|it| it.is_empty() || it.ends_with('.'))
        || now.iter().any(|now| now["spec"]["group"] == json!(group))
}

#[cfg(test)]
mod tests;
