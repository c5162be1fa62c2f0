//! The copy of the runtime library in a project, which an upgrade replaces as a whole.

use super::{Disk, Tree};
use crate::library::has;

/// The files of the library in `ancestor` that the user edited, each with its difference: sorted by path. Deleted files count as edited
/// unless all are missing, since a vendored copy may be elsewhere.
pub fn edited(ancestor: &Tree, disk: &Disk) -> Vec<(String, String)> {
    let files = || ancestor.iter().filter(|(path, _)| has(path));
    if !files().any(|(path, _)| disk.contains_key(path)) {
        return Vec::new();
    }
    let differing = files().filter_map(|(path, pristine)| {
        let ours = disk
            .get(path)
            .map(|bytes| String::from_utf8_lossy(bytes).replace("\r\n", "\n"));
        let ours = ours.unwrap_or_default();
        let diff = || {
            similar::TextDiff::from_lines(&*pristine.text, &*ours)
                .unified_diff()
                .header(&format!("a/{path}"), &format!("b/{path}"))
                .to_string()
        };
        (ours != pristine.text).then(|| (path.clone(), diff()))
    });
    differing.collect()
}
