//! Signals that end a command: SIGHUP, SIGINT, SIGQUIT and SIGTERM.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

/// Which of them has arrived, if one has. The default never hears of any.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// From now on a signal does not end kbr but is kept here.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn register() -> io::Result<Self> {
        let stop = Self::default();
        for (signal, number) in [(SIGHUP, 1), (SIGINT, 2), (SIGQUIT, 3), (SIGTERM, 15)] {
            flag::register_usize(signal, stop.0.clone(), number)?;
        }
        Ok(stop)
    }

    /// Whether one has arrived.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// 128 + n for signal n, as in a shell; success if none has arrived.
    pub fn exit_code(&self) -> ExitCode {
        match self.0.load(Ordering::Relaxed) {
            0 => ExitCode::SUCCESS,
            signal => ExitCode::from(u8::try_from(128 + signal).unwrap_or(1)),
        }
    }
}
