//! The operator as a process.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use rustix::process::Signal;

use super::screen::Update;
use kbr_envtest::{exec, progress};

/// The time limit for stopping: a little longer than the operator's own shutdown (`--shutdown-timeout` is 30 s).
const GRACE: Duration = Duration::from_secs(35);

/// A running operator. Dropping it stops it.
#[derive(Debug)]
pub struct Operator {
    process: Child,
    executable: PathBuf,
    /// When its executable was built.
    built: Option<SystemTime>,
    environment: Vec<(&'static str, OsString)>,
    ended: bool,
}

impl Operator {
    /// Starts it. On Linux it ends with kbr, even if kbr is killed. Its log goes to the screen, if there is one.
    pub fn start(
        executable: PathBuf,
        arguments: Vec<OsString>,
        environment: Vec<(&'static str, OsString)>,
        screen: Option<&Sender<Update>>,
    ) -> anyhow::Result<Self> {
        let built = built(&executable);
        let output = || match screen {
            Some(_) => Stdio::piped(),
            None => Stdio::inherit(),
        };
        let mut process = exec::ending_with_us(&executable, Signal::TERM)?
            .args(arguments)
            .envs(environment.clone())
            .stdin(Stdio::null())
            .stdout(output())
            .stderr(output())
            // Ctrl-C must reach only kbr, which then stops the operator.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start `{}`", executable.display()))?;
        if let Some(screen) = screen {
            show(process.stdout.take(), screen);
            show(process.stderr.take(), screen);
        }
        Ok(Self {
            process,
            executable,
            built,
            environment,
            ended: false,
        })
    }

    /// Whether it runs the current executable (not rebuilt since) in this environment.
    pub fn matches(&self, executable: &Path, environment: &[(&'static str, OsString)]) -> bool {
        self.executable == executable
            && self.built == built(executable)
            && self.environment == environment
    }

    pub fn runs(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Its exit status if it has ended; returned once.
    pub fn end(&mut self) -> Option<ExitStatus> {
        let status = self.process.try_wait().ok()?.filter(|_| !self.ended);
        self.ended |= status.is_some();
        status
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if !exec::stop(&mut self.process, GRACE) {
            progress("killed", "the operator, which did not stop");
        }
    }
}

/// Sends each line to the screen.
fn show(from: Option<impl Read + Send + 'static>, screen: &Sender<Update>) {
    let (Some(from), screen) = (from, screen.clone()) else {
        return;
    };
    thread::spawn(move || {
        for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            // Reads on after the screen has closed: the operator must not wait for a reader.
            drop(screen.send(Update::Log(line)));
        }
    });
}

fn built(executable: &Path) -> Option<SystemTime> {
    executable
        .metadata()
        .and_then(|found| found.modified())
        .ok()
}
