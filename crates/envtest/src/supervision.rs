//! The two supervisors of servers: kbr itself, and shells in the tests of other projects. Both read a pipe, stop the servers when it
//! closes, and report servers that have ended. Only the process that started them holds the other end of the pipe.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, PipeReader, PipeWriter, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use anyhow::Context as _;

use super::egress::{self, Proxy};
use super::servers::{Program, without_flags};
use super::setup::Setup;
use super::{exec, supervisor};

/// The script of a shell.
const SCRIPT: &str = include_str!("supervisor.sh");

/// What supervises the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervision {
    /// `kbr envtest supervisor`, for kbr itself.
    Kbr,
    /// A shell for each server, for any other program, which itself connects the API server of a cluster.
    Shells,
}

impl Supervision {
    /// What it is called in messages.
    fn name(self) -> &'static str {
        match self {
            Supervision::Kbr => "kbr envtest supervisor",
            Supervision::Shells => "the shell that supervises a server",
        }
    }

    /// What to do if the servers need more time.
    pub(super) fn help_for_time(self) -> &'static str {
        match self {
            Supervision::Kbr => "pass a longer --start-timeout",
            Supervision::Shells => "give `Envtest::builder()` a longer `start_timeout`",
        }
    }

    /// How to see more of the logs.
    pub(super) fn help_for_logs(self) -> &'static str {
        match self {
            Supervision::Kbr => "kbr envtest run --keep-logs DIR keeps whole logs",
            Supervision::Shells => "`logs` of `Envtest::builder()` keeps whole logs",
        }
    }
}

/// The processes that supervise the servers of one control plane. Dropping them stops the servers, and waits for their end.
#[derive(Debug)]
pub(super) struct Supervisors {
    pub(super) kind: Supervision,
    processes: Vec<Child>,
    /// Closing it stops the servers.
    pipe: Option<PipeWriter>,
    /// For the shells of the controllers, until they have been started.
    streams: Option<Streams>,
    proxy: Option<egress::Listening>,
}

impl Supervisors {
    /// Starts etcd and kube-apiserver through supervisors that hold the folder's `lock`. Returns the lines that these print.
    pub(super) fn start(
        kind: Supervision,
        setup: &Setup,
        lock: File,
    ) -> anyhow::Result<(Self, Receiver<String>)> {
        let (stdin, pipe) = io::pipe()?;
        let (lines, stdout) = io::pipe()?;
        let streams = Streams {
            stdin,
            stdout,
            lock,
        };
        let mut all = Self {
            kind,
            processes: Vec::new(),
            pipe: Some(pipe),
            streams: None,
            proxy: None,
        };
        match kind {
            Supervision::Kbr => all.spawn(&streams, kbr(setup)?, setup)?,
            Supervision::Shells => {
                if setup.cluster {
                    all.proxy =
                        Some(Proxy::new(setup, "`map_service` of `Envtest::builder()`").start()?);
                }
                for program in setup.control_plane() {
                    all.spawn(&streams, shell(setup, program), setup)?;
                }
                all.streams = setup.cluster.then_some(streams);
            }
        }
        Ok((all, events(lines)))
    }

    /// Starts the controllers of a cluster.
    pub(super) fn start_controllers(&mut self, setup: &Setup) -> anyhow::Result<()> {
        let Some(streams) = self.streams.take() else {
            return self.order(supervisor::START_CONTROLLERS);
        };
        for program in setup.controllers()? {
            self.spawn(&streams, shell(setup, program), setup)?;
        }
        Ok(())
    }

    /// Lets the controllers stand still, or go on. Only kbr can do that.
    pub(super) fn pause_controllers(&mut self, pause: bool) -> anyhow::Result<()> {
        self.order(if pause {
            supervisor::PAUSE_CONTROLLERS
        } else {
            supervisor::RESUME_CONTROLLERS
        })
    }

    /// Leaves the servers running when this process ends. Only kbr can do that.
    pub(super) fn detach(&mut self) -> anyhow::Result<()> {
        self.order(supervisor::DETACH)?;
        self.processes.clear();
        Ok(())
    }

    /// Gives kbr an order.
    fn order(&mut self, order: &str) -> anyhow::Result<()> {
        let pipe = self.pipe.as_mut().context("the servers are stopping")?;
        writeln!(pipe, "{order}").with_context(|| format!("{} has ended", self.kind.name()))
    }

    /// The error if all of them have ended.
    pub(super) fn have_ended(&self) -> anyhow::Error {
        anyhow::anyhow!("{} has ended", self.kind.name())
    }

    /// Stops the servers, unless they are detached.
    pub(super) fn stop(&mut self) {
        // Before its socket vanishes with the folder.
        self.proxy = None;
        self.pipe = None;
        for mut process in self.processes.drain(..) {
            let _ = process.wait();
        }
    }

    fn spawn(
        &mut self,
        streams: &Streams,
        mut command: Command,
        setup: &Setup,
    ) -> anyhow::Result<()> {
        let process = command
            .stdin(streams.stdin.try_clone()?)
            .stdout(streams.stdout.try_clone()?)
            .stderr(streams.lock.try_clone()?)
            // Ctrl-C is for this process and its commands, from the first moment on.
            .process_group(0)
            // It may outlive the current folder.
            .current_dir(&setup.folder)
            .spawn()
            .with_context(|| format!("cannot start {}", self.kind.name()))?;
        self.processes.push(process);
        Ok(())
    }
}

impl Drop for Supervisors {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the supervisors of one control plane inherit.
#[derive(Debug)]
struct Streams {
    stdin: PipeReader,
    stdout: PipeWriter,
    lock: File,
}

fn kbr(setup: &Setup) -> anyhow::Result<Command> {
    let mut command = Command::new(exec::this_program()?);
    command
        .args(["envtest", "supervisor"])
        .args(setup.to_args());
    Ok(command)
}

fn shell(setup: &Setup, program: Program) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "kbr-envtest-supervisor"]);
    command.arg(&setup.folder).arg(program.name);
    command.arg(setup.log(program.name));
    command.arg(setup.assets.join(program.name));
    command.args(program.args);
    without_flags(&mut command);
    command
}

/// The lines that the supervisors print.
fn events(lines: PipeReader) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // To the end, even if nobody listens: a supervisor could not print.
        for line in BufReader::new(lines).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}
