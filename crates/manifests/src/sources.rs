//! Reads the Rust files that contain markers.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::markers::{Marker, markers};
use super::packages::Package;
use super::problem::Problem;
use kbr_host::regular;
use kbr_scaffold::rust::Source;

/// The operator's sources and their markers.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub files: Vec<Source>,
    markers: Vec<Marker>,
}

impl Sources {
    /// Reads all sources; adds invalid markers to `problems`.
    pub fn read(
        root: &Path,
        packages: &[Package],
        problems: &mut Vec<Problem>,
    ) -> anyhow::Result<Self> {
        let files = read(root, packages)?;
        let markers = files.iter().flat_map(|source| markers(source, problems));
        let markers = markers.collect();
        Ok(Self { files, markers })
    }

    /// One file with these markers.
    #[cfg(test)]
    pub fn of(file: &str, text: &str, markers: Vec<Marker>) -> Self {
        Self {
            files: vec![Source::new(file, text)],
            markers,
        }
    }

    /// Allows findings with these ids at every marker.
    pub fn allow(&mut self, ids: &[String]) {
        for marker in &mut self.markers {
            marker.allowed.extend_from_slice(ids);
        }
    }

    /// The markers with one name, sorted by file and line.
    pub fn called(&self, name: &str) -> Vec<Marker> {
        self.markers
            .iter()
            .filter(|marker| marker.name == name)
            .cloned()
            .collect()
    }
}

/// Every `src/**/*.rs` of the operator and its crates, sorted by path (relative to `root`, with `/`).
fn read(root: &Path, packages: &[Package]) -> anyhow::Result<Vec<Source>> {
    let root = root
        .canonicalize()
        .with_context(|| format!("cannot open `{}`", root.display()))?;
    let mut files = Vec::new();
    for package in packages {
        let folder = package
            .folder
            .canonicalize()
            .unwrap_or_else(|_| package.folder.clone());
        walk(&folder.join("src"), &mut files)?;
    }
    files.sort();
    files.dedup();
    let source = |path: PathBuf| {
        let name = relative(&root, &path);
        let text = regular::followed(&path).with_context(|| format!("cannot read `{name}`"))?;
        Ok(Source::new(name, text))
    };
    files.into_iter().map(source).collect()
}

/// Does not follow links to folders, which could form a cycle.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    let shown = || format!("cannot list `{}`", folder.display());
    for entry in fs::read_dir(folder).with_context(shown)? {
        let entry = entry.with_context(shown)?;
        let path = entry.path();
        if entry.file_type().with_context(shown)?.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn relative(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    let parts: Vec<_> = parts
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_all_packages_are_read() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            "src/main.rs",
            "src/a/b.rs",
            "src/a/b.txt",
            "tests/t.rs",
            "api/src/lib.rs",
            "other/src/lib.rs",
            "target/src/x.rs",
        ];
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        let package = |folder: &str| Package {
            version: "0.1.0".to_owned(),
            folder: root.path().join(folder),
            crdgen: None,
        };
        let packages = [package(""), package("api")];
        let found = read(root.path(), &packages).unwrap();
        let names: Vec<&str> = found.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(names, ["api/src/lib.rs", "src/a/b.rs", "src/main.rs"]);
        assert!(found.iter().all(|it| it.path == it.text));
    }
}
