//! Tells when a source changes.
//!
//! By looking at times of modification, over a library of file events: there is one behaviour on every system, in containers and on
//! mounted folders, and looking at the few hundred files of a project costs less than a millisecond.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_millis(300);

/// When each file was last written, and how long it is.
type Seen = BTreeMap<PathBuf, (SystemTime, u64)>;

/// The sources below a folder, as they were when it was made.
#[derive(Debug)]
pub struct Watch {
    root: PathBuf,
    seen: Seen,
}

impl Watch {
    /// To be made before the sources are read, so that a change meanwhile counts.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            seen: look(root),
        }
    }

    /// This file, relative to the root, was written by ourselves.
    pub fn wrote(&mut self, path: &str) {
        note(&self.root.join(path), &mut self.seen);
    }

    /// Whether a source is not as it was; takes a moment, so that it may be called in a loop. If one is, it waits until all is quiet:
    /// an editor that saves several files, or a change of branches, is one change.
    pub fn changed(&self) -> bool {
        sleep(INTERVAL);
        let mut now = look(&self.root);
        if now == self.seen {
            return false;
        }
        loop {
            sleep(INTERVAL);
            let before = std::mem::replace(&mut now, look(&self.root));
            if before == now {
                return true;
            }
        }
    }
}

fn look(root: &Path) -> Seen {
    let mut seen = Seen::new();
    walk(root, &mut seen);
    seen
}

/// A folder that is gone meanwhile is empty.
fn walk(folder: &Path, seen: &mut Seen) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        // Links are not followed, so that this ends.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // What cargo builds into has such a tag.
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

fn note(path: &Path, seen: &mut Seen) {
    match fs::metadata(path).and_then(|metadata| Ok((metadata.modified()?, metadata.len()))) {
        Ok(state) => seen.insert(path.to_owned(), state),
        Err(_) => seen.remove(path),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_looked_at_and_what_is_built_is_not() {
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
        let watch = Watch::new(root.path());
        let names: Vec<_> = watch
            .seen
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

        assert!(!watch.changed());
        fs::write(root.path().join("api/src/a.rs"), "longer than it was").unwrap();
        assert!(watch.changed());
    }
}
