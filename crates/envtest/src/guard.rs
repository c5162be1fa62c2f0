//! Who holds the servers: the supervisor, which is kbr itself, or in somebody's tests a guard, which is a shell. Both read a pipe
//! whose other end only the process holds that started them, end the servers when it closes, and report servers that end.
//!
//! If a process of the guard is killed, the others still end the servers with the test.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use super::servers::Setup;

/// The guard's script.
const SCRIPT: &str = include_str!("guard.sh");

/// The parent of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// `kbr envtest supervisor`, for kbr itself.
    Supervisor,
    /// A shell, for any other program. It has no clusters.
    Guard,
}

impl Keeper {
    /// The command that starts the servers of `setup`.
    pub(super) fn command(self, setup: &Setup) -> anyhow::Result<Command> {
        if self == Keeper::Guard {
            return Ok(guard(setup));
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
            Keeper::Supervisor => "kbr envtest supervisor",
            Keeper::Guard => "the guard of the servers",
        }
    }

    /// What to do if the servers need more time.
    pub(super) fn help_for_time(self) -> &'static str {
        match self {
            Keeper::Supervisor => "pass a longer --start-timeout",
            Keeper::Guard => "give `Envtest::builder()` a longer `start_timeout`",
        }
    }

    /// How to see more of the logs.
    pub(super) fn help_for_logs(self) -> &'static str {
        match self {
            Keeper::Supervisor => "kbr envtest run --keep-logs DIR keeps whole logs",
            Keeper::Guard => "`logs` of `Envtest::builder()` keeps whole logs",
        }
    }
}

fn guard(setup: &Setup) -> Command {
    let words = |name: &str, args: Vec<OsString>| {
        let program = setup.assets.join(name).into_os_string();
        [program].into_iter().chain(args).collect::<Vec<_>>()
    };
    let etcd = words("etcd", setup.etcd());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "kbr-envtest-guard"]);
    command.arg(&setup.folder).arg(setup.log("etcd"));
    command.arg(etcd.len().to_string()).args(etcd);
    command.arg(setup.log("kube-apiserver"));
    command.args(words("kube-apiserver", setup.kube_apiserver()));
    for (variable, _) in env::vars_os() {
        // etcd reads a flag from each of these variables.
        if variable.to_string_lossy().starts_with("ETCD_") {
            command.env_remove(variable);
        }
    }
    command
}
