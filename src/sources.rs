//! The sources of a project, and the state in which a file was seen.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The modification time and the length of each file.
pub type Seen = BTreeMap<PathBuf, (SystemTime, u64)>;

/// The sources below a folder: Rust, TOML, YAML, JSON and PROJECT, without build output.
pub fn look(root: &Path) -> Seen {
    let mut seen = Seen::new();
    walk(root, &mut seen);
    seen
}

/// The YAML and JSON files below a folder, which kustomizations consist of.
pub fn manifests(root: &Path) -> Seen {
    let mut seen = look(root);
    seen.retain(|path, _| {
        let extension = path.extension().unwrap_or_default();
        ["yaml", "yml", "json"].iter().any(|it| extension == *it)
    });
    seen
}

/// The Rust files below a folder, without build output.
pub fn rust(root: &Path) -> Vec<PathBuf> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|it| it == "rs");
    look(root).into_keys().filter(is_rust).collect()
}

/// Notes the state of a file, or that it is missing.
pub fn note(path: &Path, seen: &mut Seen) {
    match fs::metadata(path).and_then(|metadata| Ok((metadata.modified()?, metadata.len()))) {
        Ok(state) => seen.insert(path.to_owned(), state),
        Err(_) => seen.remove(path),
    };
}

/// A folder that was removed meanwhile is empty.
fn walk(folder: &Path, seen: &mut Seen) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        // Do not follow links, so that this terminates.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // cargo's target folders contain this tag.
            if !name.starts_with('.') && !path.join("CACHEDIR.TAG").is_file() {
                walk(&path, seen);
            }
        } else if matters(&name) {
            note(&path, seen);
        }
    }
}

fn matters(name: &str) -> bool {
    let (_, extension) = name.rsplit_once('.').unwrap_or_default();
    name == "PROJECT" || ["rs", "toml", "yaml", "yml", "json"].contains(&extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_found_and_build_output_is_not() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            "PROJECT",
            "Cargo.toml",
            "api/src/a.rs",
            "config/samples/a.yaml",
            "notes.txt",
            ".git/a.rs",
            "out/CACHEDIR.TAG",
            "out/debug/a.rs",
        ];
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        let seen = look(root.path());
        let names: Vec<_> = seen
            .keys()
            .map(|path| path.strip_prefix(root.path()).unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "Cargo.toml",
                "PROJECT",
                "api/src/a.rs",
                "config/samples/a.yaml"
            ]
            .map(Path::new)
        );
    }
}
