//! The copy of the library in a project, which an upgrade replaces as a whole.

use std::collections::BTreeSet;

use super::merge::is_long;
use super::{Disk, Tree};
use crate::library::folder_of;

/// The files in `disk` that are in a folder of the library of `ancestor`, and not of that library.
pub fn added<'a>(ancestor: &'a Tree, disk: &'a Disk) -> impl Iterator<Item = &'a String> {
    let folders: BTreeSet<_> = ancestor.keys().filter_map(|path| folder_of(path)).collect();
    let is_own = move |path: &&String| {
        let folder = folder_of(path);
        folder.is_some_and(|folder| folders.contains(folder)) && !ancestor.contains_key(*path)
    };
    disk.keys().filter(is_own)
}

/// The files of the library in `ancestor` that the user edited, added or deleted, each with its difference: sorted by path. If all of a
/// folder are missing, none of them counts: that package may be elsewhere.
pub fn edited(ancestor: &Tree, disk: &Disk) -> Vec<(String, String)> {
    let files = ancestor.keys().filter(|path| folder_of(path).is_some());
    let files: BTreeSet<&String> = files.chain(added(ancestor, disk)).collect();
    let here: BTreeSet<_> = disk.keys().filter_map(|path| folder_of(path)).collect();
    let is_here = |path: &&String| folder_of(path).is_some_and(|folder| here.contains(folder));
    let differing = files.into_iter().filter(is_here).filter_map(|path| {
        let pristine = ancestor.get(path).map_or("", |file| &file.text);
        let ours = disk
            .get(path)
            .map(|bytes| String::from_utf8_lossy(bytes).replace("\r\n", "\n"));
        let ours = ours.unwrap_or_default();
        let diff = || {
            if is_long(&ours) {
                return format!("a/{path} and b/{path} differ\n");
            }
            similar::TextDiff::from_lines(pristine, &*ours)
                .unified_diff()
                .header(&format!("a/{path}"), &format!("b/{path}"))
                .to_string()
        };
        (ours != pristine).then(|| (path.clone(), diff()))
    });
    differing.collect()
}
