//! Faults at numbered steps of a commit, for tests only: `KBR_FAULT=7:error,9:kill`.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use kbr_host::output;
use rustix::process::{Signal, getpid, kill_process};

/// Counts a step, and makes it fail if `KBR_FAULT` has its number with `error` (an I/O error), `full` (the disk is full), `kill`
/// (SIGKILL) or `stop` (SIGSTOP; the step continues after SIGCONT). Reports the fault on stderr.
pub fn step() -> io::Result<()> {
    static STEPS: AtomicUsize = AtomicUsize::new(0);
    let number = STEPS.fetch_add(1, Ordering::Relaxed) + 1;
    let faults = std::env::var("KBR_FAULT").unwrap_or_default();
    let mut faults = faults.split(',').filter_map(|fault| fault.split_once(':'));
    let Some((_, fault)) = faults.find(|(at, _)| at.parse() == Ok(number)) else {
        return Ok(());
    };
    output::message(format_args!("fault at step {number}"));
    let error = match fault {
        "error" => {
            return Err(io::Error::from_raw_os_error(
                rustix::io::Errno::IO.raw_os_error(),
            ));
        }
        "full" => {
            return Err(io::Error::from_raw_os_error(
                rustix::io::Errno::NOSPC.raw_os_error(),
            ));
        }
        "kill" => kill_process(getpid(), Signal::KILL),
        "stop" => kill_process(getpid(), Signal::STOP),
        _ => return Err(io::Error::other(format!("no fault `{fault}`"))),
    };
    Ok(error?)
}
