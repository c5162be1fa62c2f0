//! Files that a release moved. kbr does not guess moves by similarity.

use super::Releases;

/// A file that is at another path from one release on.
#[derive(Clone, Copy, Debug)]
pub struct Rename {
    /// The first release with the new path.
    release: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

/// All moves. The library is not among them: it is replaced, not merged.
const RENAMES: &[Rename] = &[];

/// The moves that are part of an upgrade.
pub fn table(releases: Releases) -> Vec<Rename> {
    let is_part = |rename: &&Rename| releases.include(rename.release);
    RENAMES.iter().filter(is_part).copied().collect()
}
