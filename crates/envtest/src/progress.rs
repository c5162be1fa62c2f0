//! Messages about progress, on stderr.

use kbr_host::output;

/// Whether the start of servers reports its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// To the user of kbr.
    Reported,
    /// Nowhere: the tests of other projects print their own messages.
    Silent,
}

impl Progress {
    /// Reports progress, if it is to be reported.
    pub(super) fn report(self, verb: &str, what: &str) {
        match self {
            Progress::Reported => progress(verb, what),
            Progress::Silent => {}
        }
    }
}

/// Reports progress in the format of the scaffolder's reports.
pub fn progress(verb: &str, what: &str) {
    output::message(format_args!("{verb:>12} {what}"));
}
