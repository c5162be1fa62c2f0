//! Reads the files of a project in Go that an import looks at.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use kbr_host::regular;
use kbr_scaffold::golang::{self, Files};

/// Folders with files of others, or that tools write or Go ignores.
const SKIPPED: [&str; 8] = [
    ".git",
    "bin",
    "dist",
    "node_modules",
    "testbin",
    "testdata",
    "third_party",
    "vendor",
];

/// The most bytes of a project, and the deepest folder. The largest operators in Go have a tenth of it.
const MOST: usize = 64 << 20;
const DEEPEST: usize = 16;

/// PROJECT, Makefile, Dockerfiles, license, Go files, what is below `config`, and CRDs. Links are not followed.
///
/// # Errors
/// A folder or file cannot be read, or all of them are too large.
pub fn read(root: &Path) -> anyhow::Result<Files> {
    of(root, "", is_read)
}

/// The CRDs below a folder.
///
/// # Errors
/// As [`read`].
pub fn crds(root: &Path) -> anyhow::Result<Files> {
    of(root, &format!("{}/", root.display()), |_| false)
}

fn of(root: &Path, prefix: &str, is_read: fn(&str) -> bool) -> anyhow::Result<Files> {
    let mut reading = Reading {
        is_read,
        left: MOST,
        files: Files::new(),
    };
    reading.folder(root, prefix, DEEPEST)?;
    Ok(reading.files)
}

struct Reading {
    /// Which files are read whatever is in them, besides CRDs.
    is_read: fn(&str) -> bool,
    left: usize,
    files: Files,
}

impl Reading {
    fn folder(&mut self, path: &Path, prefix: &str, depth: usize) -> anyhow::Result<()> {
        let cannot = || format!("cannot read `{}`", path.display());
        for entry in fs::read_dir(path).with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                continue;
            };
            let (path, relative) = (entry.path(), format!("{prefix}{name}"));
            let kind = entry.file_type().with_context(cannot)?;
            if kind.is_dir() && depth > 0 && !SKIPPED.contains(&name.as_str()) {
                self.folder(&path, &format!("{relative}/"), depth - 1)?;
            } else if kind.is_file() {
                self.file(&path, relative)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, relative: String) -> anyhow::Result<()> {
        let text = if (self.is_read)(&relative) {
            regular::text(path).with_context(|| format!("cannot read `{}`", path.display()))?
        } else if golang::is_yaml(&relative) {
            match regular::text(path) {
                Ok(text) if golang::has_definition(&text) => text,
                _ => return Ok(()),
            }
        } else {
            return Ok(());
        };
        let Some(rest) = self.left.checked_sub(relative.len() + text.len()) else {
            bail!("the project has more than {} MiB of sources", MOST >> 20);
        };
        self.left = rest;
        self.files.insert(relative, text);
        Ok(())
    }
}

fn is_read(path: &str) -> bool {
    let extension = Path::new(path).extension();
    [
        "PROJECT",
        "Makefile",
        "go.mod",
        "LICENSE",
        "LICENSE.txt",
        "hack/boilerplate.go.txt",
    ]
    .contains(&path)
        || extension.is_some_and(|it| it == "go")
        || path.rsplit('/').next() == Some("Dockerfile")
        || (path.starts_with("config/") && golang::is_yaml(path))
}
