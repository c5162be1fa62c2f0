//! Files that a release moved. kbr does not guess moves by similarity.

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

/// The moves between two releases.
pub fn table(from: &str, to: &str) -> Vec<Rename> {
    let number = crate::project::release;
    let since = |rename: &&Rename| {
        let release = number(rename.release);
        number(from) < release && release <= number(to)
    };
    RENAMES.iter().filter(since).copied().collect()
}
