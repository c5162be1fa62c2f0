//! Compares generated files with the disk: which are stale, which a user wrote, which are orphaned. Never writes.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use similar::TextDiff;

use kbr_host::regular;
use kbr_scaffold::changes::{Change, Verb};
use kbr_scaffold::edited::{self, Mark};

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Relative to the project's root, with `/`.
    pub path: String,
    /// Its full content.
    pub text: String,
    /// How it shows that the user has not replaced or edited it.
    pub mark: Mark,
}

/// A file of an artifact without its mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Relative to the project's root, with `/`.
    pub path: String,
    /// What follows the mark.
    pub text: String,
}

impl Body {
    /// A file with this path and text.
    pub fn new(path: impl Into<String>, text: String) -> Self {
        Self {
            path: path.into(),
            text,
        }
    }
}

/// A folder whose generated files all belong to one artifact.
#[derive(Clone, Copy, Debug)]
pub struct Leftovers {
    /// Relative to the project's root.
    pub folder: &'static str,
    /// Why a file in it is left over; the path follows: `no type defines the CRD in`.
    pub reason: &'static str,
}

/// The difference between the disk and the generated files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The changes to write.
    pub changes: Vec<Change>,
    /// Files that a user wrote: kbr leaves them as they are.
    pub kept: Vec<String>,
    /// Generated files whose source has gone, each with the reason: to be removed.
    pub orphaned: Vec<(&'static str, Change)>,
}

/// Compares `files` with the project at `root`, and finds what is left over in `folders`.
pub fn compare(root: &Path, files: &[File], folders: &[Leftovers]) -> anyhow::Result<Compared> {
    let mut compared = Compared::default();
    for file in files {
        let before = read(&root.join(&file.path))?;
        let (path, after) = (file.path.clone(), file.text.clone().into_bytes());
        match &before {
            Some(text) if !file.mark.is_on(text) => compared.kept.push(path),
            Some(text) if *text == after => {}
            _ => compared.changes.push(Change {
                path,
                verb: if before.is_none() {
                    Verb::Create
                } else {
                    Verb::Update
                },
                before,
                after,
            }),
        }
    }
    for folder in folders {
        compared.orphaned.extend(orphaned(root, *folder, files)?);
    }
    Ok(compared)
}

/// The generated files of a folder that are not among `files`.
fn orphaned(
    root: &Path,
    leftovers: Leftovers,
    files: &[File],
) -> anyhow::Result<Vec<(&'static str, Change)>> {
    let expected: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut orphaned = Vec::new();
    for name in list(&root.join(leftovers.folder))? {
        let path = format!("{}/{name}", leftovers.folder);
        let before = read(&root.join(&path))?.filter(|text| edited::is_generated(text));
        if !expected.contains(path.as_str()) && before.is_some() {
            let (verb, after) = (Verb::Remove, Vec::new());
            let change = Change {
                path,
                verb,
                before,
                after,
            };
            orphaned.push((leftovers.reason, change));
        }
    }
    Ok(orphaned)
}

/// `None` if the file does not exist.
pub fn read(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match path.canonicalize().and_then(|path| regular::read(&path)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
}

/// The YAML files of a folder, sorted; empty if the folder does not exist.
pub fn list(folder: &Path) -> anyhow::Result<Vec<String>> {
    let entries = entries(folder)?.into_iter();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_yaml = |name: &String| Path::new(name).extension().is_some_and(|it| it == "yaml");
    Ok(names.filter(is_yaml).collect())
}

/// The paths of all files below a folder of the project, without links; none if the folder does not exist.
pub fn all(root: &Path, folder: &str) -> anyhow::Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in entries(&root.join(folder))? {
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => paths.extend(all(root, &path)?),
            Ok(kind) if kind.is_file() => paths.push(path),
            _ => {}
        }
    }
    Ok(paths)
}

/// The folders in a folder, sorted, without links; empty if the folder does not exist.
pub fn folders(folder: &Path) -> anyhow::Result<Vec<String>> {
    let entries = entries(folder)?.into_iter();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
    Ok(folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect())
}

fn entries(folder: &Path) -> anyhow::Result<Vec<DirEntry>> {
    let shown = || format!("cannot list `{}`", folder.display());
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(shown),
    };
    let mut entries = entries.collect::<Result<Vec<_>, _>>().with_context(shown)?;
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

/// A change in the format of `diff -u`.
pub fn diff(change: &Change) -> String {
    let before = String::from_utf8_lossy(change.before.as_deref().unwrap_or_default());
    let after = String::from_utf8_lossy(&change.after);
    let side = |name: &str, is_there: bool| {
        if is_there {
            format!("{name}/{}", change.path)
        } else {
            "/dev/null".to_owned()
        }
    };
    let (old, new) = (
        side("a", change.before.is_some()),
        side("b", change.result().is_some()),
    );
    TextDiff::from_lines(&*before, &*after)
        .unified_diff()
        .header(&old, &new)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark::Header("x");

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn file(path: &str, body: &str) -> File {
        File {
            path: path.to_owned(),
            text: MARK.put_on(body),
            mark: MARK,
        }
    }

    #[test]
    fn a_missing_file_is_created_a_stale_one_updated_and_a_current_one_left_alone() {
        let right = file("config/b.yaml", "b: 1\n");
        let root = project(&[
            ("config/a.yaml", &MARK.put_on("a: 0\n")),
            (&right.path, &right.text),
        ]);
        let files = [
            file("config/a.yaml", "a: 1\n"),
            right,
            file("config/c.yaml", "c: 1\n"),
        ];
        let compared = compare(root.path(), &files, &[]).unwrap();
        let verbs: Vec<_> = compared
            .changes
            .iter()
            .map(|c| (c.verb, c.path.as_str()))
            .collect();
        assert_eq!(
            verbs,
            [
                (Verb::Update, "config/a.yaml"),
                (Verb::Create, "config/c.yaml")
            ]
        );
    }

    #[test]
    fn a_file_that_the_user_wrote_is_kept() {
        let root = project(&[("config/a.yaml", "a: 0\n")]);
        let compared = compare(root.path(), &[file("config/a.yaml", "a: 1\n")], &[]).unwrap();
        assert_eq!(
            (compared.changes, compared.kept),
            (vec![], vec!["config/a.yaml".to_owned()])
        );
    }

    #[test]
    fn a_sample_that_was_edited_meanwhile_is_kept() {
        let sample = |body: &str| Mark::Checksum.put_on(body);
        let edited = sample("a: 0\n").replace('0', "2");
        let root = project(&[("stale.yaml", &sample("a: 0\n")), ("edited.yaml", &edited)]);
        let files = ["stale.yaml", "edited.yaml"].map(|path| File {
            path: path.to_owned(),
            text: sample("a: 1\n"),
            mark: Mark::Checksum,
        });
        let compared = compare(root.path(), &files, &[]).unwrap();
        assert_eq!(compared.changes[0].path, "stale.yaml");
        assert_eq!(compared.kept, ["edited.yaml"]);
    }

    #[test]
    fn only_generated_crds_can_be_orphaned() {
        let generated = MARK.put_on("");
        let root = project(&[
            ("config/crd/bases/a.yaml", &generated),
            ("config/crd/bases/b.yaml", &generated),
            ("config/crd/bases/mine.yaml", "a: 0\n"),
            ("config/crd/bases/notes.txt", &generated),
        ]);
        let crds = Leftovers {
            folder: "config/crd/bases",
            reason: "no type defines the CRD in",
        };
        let files = [file("config/crd/bases/a.yaml", "")];
        let compared = compare(root.path(), &files, &[crds]).unwrap();
        let orphaned: Vec<&str> = compared
            .orphaned
            .iter()
            .map(|(_, change)| change.path.as_str())
            .collect();
        assert_eq!(orphaned, ["config/crd/bases/b.yaml"]);
    }

    #[test]
    fn a_diff_shows_what_would_change() {
        let change = |before: Option<&str>| Change {
            path: "a.yaml".to_owned(),
            verb: Verb::Update,
            before: before.map(|text| text.as_bytes().to_vec()),
            after: b"a: 1\nb: 2\n".to_vec(),
        };
        let expected = "--- a/a.yaml\n+++ b/a.yaml\n@@ -1,2 +1,2 @@\n a: 1\n-b: 1\n+b: 2\n";
        assert_eq!(diff(&change(Some("a: 1\nb: 1\n"))), expected);
        assert!(diff(&change(None)).starts_with("--- /dev/null\n+++ b/a.yaml\n"));
    }
}
