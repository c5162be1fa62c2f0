//! Signals that end a command: SIGHUP, SIGINT, SIGQUIT and SIGTERM.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

use crate::regular;

/// The signal that has arrived, if any. The default value receives none.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// From now on, a signal is recorded here instead of ending kbr.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn register() -> io::Result<Self> {
        let stop = Self::default();
        for signal in ending() {
            let number = usize::try_from(signal).unwrap_or_default();
            flag::register_usize(signal, stop.0.clone(), number)?;
        }
        Ok(stop)
    }

    /// Whether a signal has arrived.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Ends the command as Ctrl-C would.
    pub fn request(&self) {
        let interrupt = usize::try_from(SIGINT).unwrap_or_default();
        self.0.store(interrupt, Ordering::Relaxed);
    }

    /// The exit code: 128 + n for signal n, as in a shell; success if none has arrived.
    pub fn exit_code(&self) -> ExitCode {
        match self.0.load(Ordering::Relaxed) {
            0 => ExitCode::SUCCESS,
            signal => ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
        }
    }
}

/// The signals that end kbr and its programs, except those that kbr ignored when it was started, for example by `nohup` or as a
/// background job of a script. Programs that kbr starts inherit ignored signals but not handlers, so a handler would end programs that
/// should continue. Call this before setting a handler.
///
/// Only Linux shows which signals are ignored; on other systems all of them count.
pub fn ending() -> Vec<i32> {
    let status = regular::text(Path::new("/proc/self/status")).unwrap_or_default();
    let ignored = ignored(&status);
    let all = [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter();
    all.filter(|signal| ignored & (1 << (signal - 1)) == 0)
        .collect()
}

/// A bit for each ignored signal, the lowest for signal 1, from the text of `/proc/<pid>/status`.
fn ignored(status: &str) -> u64 {
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_a_bit_mask() {
        assert_eq!(
            ignored("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001007\n"),
            0x1007
        );
        assert_eq!(ignored("Name:\tkbr\n"), 0);
        assert_eq!(ignored(""), 0);
    }
}
