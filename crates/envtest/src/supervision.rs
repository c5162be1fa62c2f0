//! The two supervisors of servers: kbr itself, and a shell in the tests of other projects. Both read a pipe, stop the servers when it
//! closes, and report servers that have ended. Only the process that started them holds the other end of the pipe.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use super::servers::{Setup, without_flags};

/// The script of the shell.
const SCRIPT: &str = include_str!("supervisor.sh");

/// The supervisor of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervision {
    /// `kbr envtest supervisor`, for kbr itself.
    Kbr,
    /// A shell, for any other program. It has no clusters.
    Shell,
}

impl Supervision {
    /// The command that starts the servers of `setup`.
    pub(super) fn command(self, setup: &Setup) -> anyhow::Result<Command> {
        if self == Supervision::Shell {
            return Ok(shell(setup));
        }
        let mut command = Command::new(env::current_exe()?);
        command
            .args(["envtest", "supervisor"])
            .args(setup.to_args());
        Ok(command)
    }

    /// What it is called in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Supervision::Kbr => "kbr envtest supervisor",
            Supervision::Shell => "the shell that supervises the servers",
        }
    }

    /// What to do if the servers need more time.
    pub(super) fn help_for_time(self) -> &'static str {
        match self {
            Supervision::Kbr => "pass a longer --start-timeout",
            Supervision::Shell => "give `Envtest::builder()` a longer `start_timeout`",
        }
    }

    /// How to see more of the logs.
    pub(super) fn help_for_logs(self) -> &'static str {
        match self {
            Supervision::Kbr => "kbr envtest run --keep-logs DIR keeps whole logs",
            Supervision::Shell => "`logs` of `Envtest::builder()` keeps whole logs",
        }
    }
}

fn shell(setup: &Setup) -> Command {
    let words = |name: &str, args: Vec<OsString>| {
        let program = setup.assets.join(name).into_os_string();
        [program].into_iter().chain(args).collect::<Vec<_>>()
    };
    let etcd = words("etcd", setup.etcd());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "kbr-envtest-supervisor"]);
    command.arg(&setup.folder).arg(setup.log("etcd"));
    command.arg(etcd.len().to_string()).args(etcd);
    command.arg(setup.log("kube-apiserver"));
    command.args(words("kube-apiserver", setup.kube_apiserver()));
    without_flags(&mut command);
    command
}
