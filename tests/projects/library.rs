//! Lets cargo build the library of all generated projects only once.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
};

use super::support::tree;

/// The library's packages in a project, and files beside them.
const FOLDER: &str = "third_party";

/// Gives the library's files the same modification times in all projects. cargo compares times, and would otherwise rebuild the
/// library for each new project.
///
/// The time is that of a file in `build`, the target folder, which contains a hash of the library and is rewritten when the library
/// changes. So a changed library is always rebuilt.
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
