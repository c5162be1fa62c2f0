//! Notices changed sources.
//!
//! Compares modification times instead of using a library for file events: it behaves the same on every system, in containers and on
//! mounted folders, and checking the few hundred files of a project takes less than a millisecond.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::sources::{Seen, look, note};

/// The interval at which the files are checked; longer if checking takes more than a twentieth of it.
const INTERVAL: Duration = Duration::from_millis(100);

/// How far the modification time of a file may be behind the clock.
const ROUNDED: Duration = Duration::from_millis(50);

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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_changed_source_is_noticed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.rs");
        fs::write(&path, "a").unwrap();
        let watch = Watch::new(root.path());
        assert!(!watch.changed());
        fs::write(&path, "longer than it was").unwrap();
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
