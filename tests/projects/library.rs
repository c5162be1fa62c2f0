//! The library that every project carries, built once for all of them.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
};

use super::support::tree;

/// Where it lies in a project.
const FOLDER: &str = "third_party/kbr-manager";

/// Gives the library's files the time since which they are as they are, in whichever project: cargo goes by times, and would build it
/// anew for each project, since each has just been written.
///
/// That time is the one of a file in `build`, the target folder, which holds a hash of the library and is written anew when that
/// changes; so no library that has changed passes for an old one.
pub fn keep(project: &Path, build: &Path) {
    let folder = project.join(FOLDER);
    let files = tree(&folder);
    if files.is_empty() {
        return;
    }
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    let hash = hasher.finish().to_string();
    let stamp = build.join("library");
    if fs::read_to_string(&stamp).ok().as_ref() != Some(&hash) {
        fs::create_dir_all(build).expect("a target folder");
        fs::write(&stamp, hash).expect("a writable file");
    }
    let metadata = fs::metadata(&stamp).expect("a file");
    let since = metadata.modified().expect("a time");
    for path in files.keys() {
        let file = File::options().append(true).open(folder.join(path));
        let set = file.and_then(|file| file.set_modified(since));
        set.expect("a file of ours");
    }
}
