//! The project's folder on disk: finds its root, and reads PROJECT there.

use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::project::{self, PROJECT, Project};
use crate::trust;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::regular;

/// The project's root: `start` or its nearest parent that contains PROJECT or an unfinished commit.
///
/// # Errors
/// There is none, or it belongs to another user: see [`trust::check`].
pub fn find_root(start: &Path) -> anyhow::Result<PathBuf> {
    let is_root = |folder: &&Path| {
        let found = |name| fs::symlink_metadata(folder.join(name));
        let is_file = |name| found(name).is_ok_and(|it| it.is_file());
        // An interrupted commit may not have written PROJECT yet.
        let is_unfinished = || [".kbr/commit", ".kbr/undo"].into_iter().any(is_file);
        found(".kbr").is_ok_and(|it| it.is_dir()) && is_unfinished()
            || is_file(PROJECT) && has_entry(folder, PROJECT)
    };
    // A folder or a link with that name is not a project, but load() reports it.
    let is_like_root = |folder: &&Path| has_entry(folder, PROJECT);
    let root = start.ancestors().find(is_root);
    let root = root.or_else(|| start.ancestors().find(is_like_root));
    let root = root.ok_or_else(missing)?;
    trust::check(root)?;
    Ok(root.to_owned())
}

/// Whether `folder` has an entry with exactly this name: a file system that ignores case finds `project` by the name PROJECT too.
fn has_entry(folder: &Path, name: &str) -> bool {
    if fs::symlink_metadata(folder.join(name)).is_err() {
        return false;
    }
    // If the folder cannot be listed, trust the file system.
    fs::read_dir(folder).map_or(true, |entries| {
        let mut names = entries.flatten().map(|entry| entry.file_name());
        names.any(|found| found == name)
    })
}

/// Reads the project at `root`.
///
/// # Errors
/// It does not exist, cannot be read, does not belong to kbr, or was written by a newer kbr.
pub fn load(root: &Path) -> anyhow::Result<Project> {
    match read(root)? {
        Some(text) if text.trim().is_empty() => {
            Err(misplaced(format_args!("`{PROJECT}` is empty")).into())
        }
        Some(text) => project::parse(&text),
        None => Err(missing().into()),
    }
}

/// Whether the project at `root` is one of kubebuilder.
#[must_use]
pub fn is_kubebuilders(root: &Path) -> bool {
    read(root).is_ok_and(|it| it.is_some_and(|text| project::is_kubebuilders(&text)))
}

/// Like [`load`], for commands that create projects: `None` if PROJECT is missing or empty.
///
/// # Errors
/// As [`load`], except that PROJECT may be missing.
pub fn load_if_any(root: &Path) -> anyhow::Result<Option<Project>> {
    match read(root)? {
        Some(text) if !text.trim().is_empty() => project::parse(&text).map(Some),
        _ => Ok(None),
    }
}

/// The text of PROJECT, if there is one.
fn read(root: &Path) -> anyhow::Result<Option<String>> {
    let path = root.join(PROJECT);
    if !has_entry(root, PROJECT) {
        return Ok(None);
    }
    let kind = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        result => result
            .with_context(|| format!("cannot read `{}`", path.display()))?
            .file_type(),
    };
    if !kind.is_file() {
        let what = if kind.is_dir() {
            "a folder"
        } else if kind.is_symlink() {
            "a link"
        } else {
            "not a file"
        };
        return Err(misplaced(format_args!("`{}` is {what}", path.display())).into());
    }
    let bytes =
        regular::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|_| project::broken(&"it is not UTF-8 text"))?;
    Ok(Some(text))
}

fn missing() -> Diagnostic {
    Diagnostic::new(format_args!(
        "not a kbr project: no `{PROJECT}` found here or in a folder above"
    ))
    .help("run `kbr init`, or change to the project's folder")
}

/// The error for a PROJECT that is not kbr's.
fn misplaced(text: impl Display) -> Diagnostic {
    Diagnostic::new(text).help(format_args!(
        "restore the file that kbr wrote: `git checkout -- {PROJECT}`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "layout = \"v1\"\nkbr = \"0.1.0\"\nname = \"captains\"\ndomain = \"example.com\"\n";

    #[test]
    fn an_invalid_project_file_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let error = || load(root).unwrap_err().to_string();
        assert!(error().starts_with("not a kbr project"));
        assert!(
            find_root(root)
                .unwrap_err()
                .to_string()
                .contains("help: run `kbr init`")
        );
        fs::write(root.join("PROJECT"), " \n").unwrap();
        assert!(error().starts_with("`PROJECT` is empty"));
        assert_eq!(load_if_any(root).unwrap(), None);
        fs::write(root.join("PROJECT"), [0xff]).unwrap();
        assert!(error().contains("not UTF-8"));
        fs::remove_file(root.join("PROJECT")).unwrap();
        fs::create_dir(root.join("PROJECT")).unwrap();
        assert!(error().contains("is a folder"));
        fs::remove_dir(root.join("PROJECT")).unwrap();
        std::os::unix::fs::symlink("elsewhere", root.join("PROJECT")).unwrap();
        assert!(error().contains("is a link"));
    }

    #[test]
    fn the_root_is_the_nearest_folder_with_a_project() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let deep = root.join("api/src/crew");
        fs::create_dir_all(&deep).unwrap();
        fs::write(root.join("PROJECT"), TEXT).unwrap();
        assert_eq!(find_root(&deep).unwrap(), root);
        assert_eq!(find_root(root).unwrap(), root);
    }

    #[test]
    fn a_folder_or_link_named_project_does_not_hide_a_project_above() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let deep = root.join("deep");
        fs::create_dir_all(deep.join("PROJECT")).unwrap();
        // Without another project above, it is reported.
        assert_eq!(find_root(&deep).unwrap(), deep);
        fs::write(root.join("PROJECT"), TEXT).unwrap();
        assert_eq!(find_root(&deep).unwrap(), root);
        assert_eq!(find_root(&deep.join("PROJECT")).unwrap(), root);
    }

    #[test]
    fn project_is_upper_case_on_every_file_system() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("project")).unwrap();
        assert!(!has_entry(root, "PROJECT"));
        assert!(!has_entry(&root.join("project"), "PROJECT"));
        assert!(!has_entry(&root.join("missing"), "PROJECT"));
        assert!(has_entry(root, "project"));
    }
}
