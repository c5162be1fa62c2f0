//! Which CRDs are those of a project, wherever they are in it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Files, GoProject, GoResource, has_extension, project};
use crate::imported::{self, Definition};
use kbr_host::diagnostic::Diagnostic;
use kbr_host::yaml::Budget;

/// The definitions of a project.
#[derive(Debug, Default)]
pub struct Definitions {
    /// By their files.
    pub files: BTreeMap<String, Vec<Definition>>,
    /// The folders outside `config/crd` that they come from, unless the user named them.
    pub elsewhere: Vec<String>,
    /// Groups and kinds: a kind has one definition.
    known: BTreeSet<(String, String)>,
}

/// Those in `named`, the files of a folder that the user named; else those in `config/crd`, first in `bases`, where controller-gen writes
/// them; and for kinds of PROJECT without one there, those in the folder that has the most of them.
///
/// # Errors
/// One that has to be a CRD cannot be read, none was found in `named`, or there are too many.
pub fn find(
    files: &Files,
    named: Option<&Files>,
    project: &GoProject,
    budget: &mut Budget,
) -> anyhow::Result<Definitions> {
    let mut found = Definitions::default();
    if let Some(named) = named {
        found.add_all(named.iter(), budget)?;
        if found.files.is_empty() {
            return Err(Diagnostic::new("found no CRD in the folder of `--crds`")
                .help("pass a folder with files that define the kinds: `--crds deploy/crds`")
                .into());
        }
    } else {
        let all = files.range("config/crd/".to_owned().."config/crd0".to_owned());
        let all = all.filter(|(path, _)| is_yaml(path));
        let (bases, others): (Vec<_>, Vec<_>) =
            all.partition(|(path, _)| path.starts_with("config/crd/bases/"));
        found.add_all(bases.into_iter(), budget)?;
        for (path, text) in others {
            // Patches are not whole definitions.
            let all = imported::read_all(text, budget).unwrap_or_default();
            found.add(path, all);
        }
        found.add_elsewhere(files, project, budget);
    }
    let versions = found.all().map(|it| it.versions.len()).sum();
    if versions > project::MOST {
        return Err(project::too_many("versions of kinds", versions));
    }
    Ok(found)
}

/// Whether a file may have CRDs.
pub fn is_yaml(path: &str) -> bool {
    has_extension(path, &["yaml", "yml"])
}

/// Whether a text has one, which need not be readable: templates of Helm are not.
pub fn has_definition(text: &str) -> bool {
    text.contains("kind: CustomResourceDefinition")
}

impl Definitions {
    /// All of them, in the order of their files.
    pub fn all(&self) -> impl Iterator<Item = &Definition> {
        self.files.values().flatten()
    }

    fn add(&mut self, path: &str, mut all: Vec<Definition>) {
        all.retain(|it| self.known.insert((it.group.clone(), it.kind.clone())));
        if !all.is_empty() {
            self.files.insert(path.to_owned(), all);
        }
    }

    fn add_all<'a>(
        &mut self,
        files: impl Iterator<Item = (&'a String, &'a String)>,
        budget: &mut Budget,
    ) -> anyhow::Result<()> {
        for (path, text) in files {
            let all = imported::read_all(text, budget);
            self.add(
                path,
                all.map_err(|error| error.context(format!("`{path}`")))?,
            );
        }
        Ok(())
    }

    /// Adds those of folders with kinds that have none yet. Outside of `config`, they may lie beside those of other projects, so only
    /// those of the same groups are added.
    fn add_elsewhere(&mut self, files: &Files, project: &GoProject, budget: &mut Budget) {
        let all: Vec<_> = self.all().collect();
        let mut wanted = project.undefined(&all);
        for (folder, files) in folders(files, &wanted) {
            let kinds: BTreeSet<_> = wanted.iter().map(|it| it.kind.as_str()).collect();
            if !files.iter().any(|(_, text)| mentioned(text, &kinds) > 0) {
                continue;
            }
            let read = |(path, text): (&String, &String)| {
                let all = imported::read_all(text, budget).unwrap_or_default();
                (path.clone(), all)
            };
            let read: Vec<_> = files.into_iter().map(read).collect();
            let all = read.iter().flat_map(|(_, all)| all);
            let own = all.filter(|it| wanted.iter().any(|resource| resource.is_from(it)));
            let groups: BTreeSet<_> = own.map(|it| it.group.clone()).collect();
            if groups.is_empty() {
                continue;
            }
            self.elsewhere.push(folder.to_owned());
            for (path, mut all) in read {
                all.retain(|it| folder.starts_with("config/") || groups.contains(&it.group));
                wanted.retain(|resource| !all.iter().any(|it| resource.is_from(it)));
                self.add(&path, all);
            }
        }
    }
}

type Folder<'a> = (&'a str, Vec<(&'a String, &'a String)>);

/// The folders with definitions, and their files: those of the most wanted kinds first, then those below `config`, then those without
/// a version in their name, then those of the highest version.
fn folders<'a>(files: &'a Files, wanted: &[&GoResource]) -> Vec<Folder<'a>> {
    let kinds: BTreeSet<_> = wanted.iter().map(|it| it.kind.as_str()).collect();
    let mut folders: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    if kinds.is_empty() {
        return Vec::new();
    }
    for (path, text) in files.iter().filter(|(path, _)| is_yaml(path)) {
        let (folder, _) = path.rsplit_once('/').unwrap_or((".", path));
        let is_template = folder.split('/').any(|it| it == "templates");
        if !is_template && !path.starts_with("config/crd/") && has_definition(text) {
            folders.entry(folder).or_default().push((path, text));
        }
    }
    let mut folders: Vec<_> = folders.into_iter().collect();
    folders.sort_by_cached_key(|(folder, files)| {
        let count: usize = files.iter().map(|(_, text)| mentioned(text, &kinds)).sum();
        let numbers = folder.split(|it: char| !it.is_ascii_digit());
        let version: Vec<u64> = numbers.filter_map(|it| it.parse().ok()).collect();
        Reverse((
            count,
            folder.starts_with("config/"),
            version.is_empty(),
            version,
        ))
    });
    folders
}

/// How many of `kinds` a text mentions as that of an object or a definition.
fn mentioned(text: &str, kinds: &BTreeSet<&str>) -> usize {
    let said = text
        .lines()
        .filter_map(|it| it.trim().strip_prefix("kind: "));
    let said: BTreeSet<_> = said.filter(|kind| kinds.contains(kind)).collect();
    said.len()
}

#[cfg(test)]
mod tests;
