//! The operator as a process.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use rustix::process::{Pid, Signal};

use crate::envtest::{exec, say};

/// How long it may take to end when it is told to: what is under way, and a little more (`--shutdown-timeout` is 30 s).
const GRACE: Duration = Duration::from_secs(35);

/// A running operator. Dropped, it is ended.
#[derive(Debug)]
pub struct Operator {
    process: Child,
    executable: PathBuf,
    /// When what it runs was built.
    built: Option<SystemTime>,
    ended: bool,
}

impl Operator {
    /// Starts it. It ends with kbr, however that ends (on Linux).
    pub fn start(
        executable: PathBuf,
        arguments: Vec<OsString>,
        environment: Vec<(&'static str, OsString)>,
    ) -> anyhow::Result<Self> {
        let built = built(&executable);
        let process = exec::ending_with_us(&executable, Signal::TERM)?
            .args(arguments)
            .envs(environment)
            .stdin(Stdio::null())
            // Ctrl-C is for kbr, which ends it in its turn.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start `{}`", executable.display()))?;
        Ok(Self {
            process,
            executable,
            built,
            ended: false,
        })
    }

    /// Whether this is what it runs: it has not been built again since.
    pub fn is(&self, executable: &Path) -> bool {
        self.executable == executable && self.built == built(executable)
    }

    pub fn runs(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// How it has ended, if it has, and this was not asked before.
    pub fn end(&mut self) -> Option<ExitStatus> {
        let status = self.process.try_wait().ok()?.filter(|_| !self.ended);
        self.ended |= status.is_some();
        status
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let told = Instant::now();
        if self.runs() {
            // It has not been waited for, so its id is still its own.
            let _ = rustix::process::kill_process(Pid::from_child(&self.process), Signal::TERM);
        }
        while self.runs() && told.elapsed() < GRACE {
            sleep(Duration::from_millis(10));
        }
        if self.runs() {
            say("killing", "the operator, which does not end");
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

fn built(executable: &Path) -> Option<SystemTime> {
    executable
        .metadata()
        .and_then(|found| found.modified())
        .ok()
}
