//! Notices changed sources.
//!
//! Compares modification times instead of using a library for file events: it behaves the same on every system, in containers and on
//! mounted folders, and checking the few hundred files of a project takes less than a millisecond.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The interval at which the files are checked; longer if checking takes more than a twentieth of it.
const INTERVAL: Duration = Duration::from_millis(100);

/// How far the modification time of a file may be behind the clock.
const ROUNDED: Duration = Duration::from_millis(50);

/// The modification time and the length of each file.
pub type Seen = BTreeMap<PathBuf, (SystemTime, u64)>;

/// The YAML and JSON files below a folder, which kustomizations consist of.
pub fn manifests(root: &Path) -> Seen {
    let mut seen = look(root);
    seen.retain(|path, _| {
        let extension = path.extension().unwrap_or_default();
        ["yaml", "yml", "json"].iter().any(|it| extension == *it)
    });
    seen
}

/// The Rust files and the manifests of cargo below a folder, without build output.
pub fn code(root: &Path) -> Vec<PathBuf> {
    let is_code = |path: &PathBuf| {
        path.extension().is_some_and(|it| it == "rs") || path.ends_with("Cargo.toml")
    };
    look(root).into_keys().filter(is_code).collect()
}

/// A snapshot of the sources below a folder, and of other files.
#[derive(Debug)]
pub struct Watch {
    root: PathBuf,
    others: Vec<PathBuf>,
    seen: Seen,
    began: SystemTime,
    interval: Duration,
}

impl Watch {
    /// Create it before reading the sources, so that it notices a change meanwhile.
    pub fn new(root: &Path) -> Self {
        // File systems round times: to the last tick of the kernel, on Linux.
        let (began, start) = (SystemTime::now() - ROUNDED, Instant::now());
        let seen = look(root);
        Self {
            root: root.to_owned(),
            others: Vec::new(),
            seen,
            began,
            interval: INTERVAL.max(start.elapsed() * 20),
        }
    }

    /// Watches these files, too, which were read since this was created.
    pub fn also(&mut self, files: Vec<PathBuf>) {
        for path in &files {
            if self.seen.contains_key(path) {
                continue;
            }
            note(path, &mut self.seen);
            // It may have changed since it was read.
            if let Some((modified, _)) = self.seen.get_mut(path).filter(|it| it.0 >= self.began) {
                *modified = UNIX_EPOCH;
            }
        }
        self.others.extend(files);
    }

    fn look(&self) -> Seen {
        let mut seen = look(&self.root);
        for path in &self.others {
            note(path, &mut seen);
        }
        seen
    }

    /// Ignores our own change to this file, relative to the root.
    pub fn wrote(&mut self, path: &str) {
        note(&self.root.join(path), &mut self.seen);
    }

    /// Whether a source has changed. Waits a moment, so that it can be called in a loop. After a change it waits until the sources are
    /// stable: an editor that saves several files, or a change of branches, is one change.
    pub fn changed(&self) -> bool {
        sleep(self.interval);
        let mut now = self.look();
        if now == self.seen {
            return false;
        }
        loop {
            sleep(self.interval);
            let before = std::mem::replace(&mut now, self.look());
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
    fn sources_are_watched_and_build_output_is_not() {
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

    #[test]
    fn other_files_are_watched_once_they_are_known() {
        let root = tempfile::tempdir().unwrap();
        let [before, meanwhile] = ["before.sql", "meanwhile.sql"].map(|it| root.path().join(it));
        fs::write(&before, "a").unwrap();
        let old = SystemTime::now() - Duration::from_secs(60);
        let file = fs::File::options().write(true).open(&before).unwrap();
        file.set_modified(old).unwrap();
        let mut watch = Watch::new(root.path());
        watch.also(vec![before.clone()]);
        assert!(!watch.changed());
        fs::write(&before, "longer").unwrap();
        assert!(watch.changed());

        let mut watch = Watch::new(root.path());
        fs::write(&meanwhile, "written while the sources were read").unwrap();
        watch.also(vec![meanwhile]);
        assert!(watch.changed());
    }
}
