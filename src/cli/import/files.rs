//! Reads the files of a project in Go that an import looks at.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use kbr_host::regular;
use kbr_scaffold::golang::Files;

/// Folders with files of others, or that tools write.
const SKIPPED: [&str; 7] = [
    ".git",
    "bin",
    "dist",
    "node_modules",
    "testbin",
    "third_party",
    "vendor",
];

/// The most bytes of a project, and the deepest folder. The largest operators in Go have a tenth of it.
const MOST: usize = 64 << 20;
const DEEPEST: usize = 16;

/// PROJECT, Makefile, license, Go files, and what is below `config`. Links are not followed.
///
/// # Errors
/// A folder or file cannot be read, or all of them are too large.
pub fn read(root: &Path) -> anyhow::Result<Files> {
    let mut files = Files::new();
    let mut left = MOST;
    folder(root, "", DEEPEST, &mut left, &mut files)?;
    Ok(files)
}

fn folder(
    path: &Path,
    prefix: &str,
    depth: usize,
    left: &mut usize,
    files: &mut Files,
) -> anyhow::Result<()> {
    let cannot = || format!("cannot read `{}`", path.display());
    for entry in fs::read_dir(path).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
            continue;
        };
        let (path, relative) = (entry.path(), format!("{prefix}{name}"));
        let kind = entry.file_type().with_context(cannot)?;
        if kind.is_dir() && depth > 0 && !SKIPPED.contains(&name.as_str()) {
            folder(&path, &format!("{relative}/"), depth - 1, left, files)?;
        } else if kind.is_file() && is_read(&relative) {
            let text = regular::text(&path)
                .with_context(|| format!("cannot read `{}`", path.display()))?;
            let Some(rest) = left.checked_sub(relative.len() + text.len()) else {
                bail!("the project has more than {} MiB of sources", MOST >> 20);
            };
            *left = rest;
            files.insert(relative, text);
        }
    }
    Ok(())
}

fn is_read(path: &str) -> bool {
    let ends = |extension: &str| {
        Path::new(path)
            .extension()
            .is_some_and(|it| it == extension)
    };
    [
        "PROJECT",
        "Makefile",
        "LICENSE",
        "LICENSE.txt",
        "hack/boilerplate.go.txt",
    ]
    .contains(&path)
        || ends("go")
        || (path.starts_with("config/") && (ends("yaml") || ends("yml")))
}
