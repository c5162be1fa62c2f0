//! Files that a release moved. kbr does not guess moves by similarity.

use super::Span;

/// A file that is at another path from one release on.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// The first release with the new path.
    release: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

/// All moves. The library is not among them: it is replaced, not merged.
const MOVES: &[Move] = &[];

/// The moves that are part of an upgrade.
pub fn table(span: Span) -> Vec<Move> {
    let is_part = |it: &&Move| span.includes(it.release);
    MOVES.iter().filter(is_part).copied().collect()
}
