//! How far a long run is, for a person who waits at a terminal.

use std::{
    io::{IsTerminal as _, Write as _, stderr},
    time::{Duration, Instant},
};

/// How often it is shown.
const PERIOD: Duration = Duration::from_millis(500);

/// The line that says how far a run is. It vanishes when this is dropped.
pub(super) struct Progress {
    time: Duration,
    began: Instant,
    /// When it was shown last; `None` before.
    shown: Option<Instant>,
    is_terminal: bool,
}

impl Progress {
    /// The progress of a run that goes on for so long.
    pub(super) fn begin(time: Duration) -> Self {
        Self {
            time,
            began: Instant::now(),
            shown: None,
            is_terminal: stderr().is_terminal(),
        }
    }

    /// Shows how many histories were tried, now and then.
    pub(super) fn show(&mut self, test: Option<&str>, histories: usize) {
        if !self.is_terminal || self.shown.is_some_and(|at| at.elapsed() < PERIOD) {
            return;
        }
        self.shown = Some(Instant::now());
        let line = line(test, histories, self.began.elapsed(), self.time);
        // Not by a macro, whose output a test keeps to itself. If it cannot be shown, nothing is lost.
        let _ = write!(stderr(), "\r\x1b[2K{line}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(stderr(), "\r\x1b[2K");
        }
    }
}

fn line(test: Option<&str>, histories: usize, spent: Duration, time: Duration) -> String {
    let test = test.map(|test| format!("{test}: ")).unwrap_or_default();
    let (spent, time) = (spent.as_secs(), time.as_secs());
    format!("{test}{histories} histories, {spent} s of {time} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is() {
        let seconds = Duration::from_secs;
        let text = line(Some("captains"), 12, seconds(3), seconds(600));
        assert_eq!(text, "captains: 12 histories, 3 s of 600 s");
    }
}
