//! An upgrade with conflicts, until the user has resolved or aborted it: the files before it, in `.kbr/upgrade`.
//!
//! The folder is complete, under another name, before the commit of the upgrade begins, and gets its name as the last step of that
//! commit. So it exists exactly as long as an upgrade is unfinished, whatever interrupts kbr, and whatever the user does with PROJECT.

mod abort;
mod copies;
mod record;

pub use abort::{Abort, abort};
pub use copies::{begin, end, keep};
pub(super) use copies::{clear, committed};
pub use record::{Suspended, check, find};
