//! `kbr envtest supervisor`: the parent of the servers, which outlives kbr just long enough to clean up.
//!
//! It holds the reading end of a pipe from kbr. The kernel closes the other end even if kbr is killed, and then the supervisor
//! stops the servers and removes their folder. If the supervisor itself is killed with SIGKILL, the kernel ends the servers
//! (Linux), and kbr or the next `kbr envtest run` removes the folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal};

use super::servers::Setup;
use super::{exec, folder};
use crate::output;

/// How long a server may take to stop before it is killed, which loses nothing because the data is removed anyway.
/// kube-apiserver closes its connections within 20 ms of SIGTERM, then lingers for a second; without etcd, for minutes.
const GRACE: Duration = Duration::from_millis(250);

/// How often to check whether a server has ended.
const TICK: Duration = Duration::from_millis(50);

struct Server {
    name: &'static str,
    process: Child,
    ended: bool,
}

/// Runs the servers until stdin is closed. When a server ends, prints a line on stdout: `exited <program> <status>`.
pub fn run(setup: &Setup) -> anyhow::Result<()> {
    let kbr = end_of_stdin();
    let mut servers = Vec::new();
    let started = start(setup, &mut servers);
    if let Err(error) = &started {
        report(&format!("failed {error:#}"));
    }
    watch(&mut servers, &kbr);
    // kube-apiserver first: it ignores SIGTERM once etcd has stopped.
    while let Some(server) = servers.pop() {
        stop(server);
    }
    folder::remove(&setup.folder);
    started
}

fn start(setup: &Setup, servers: &mut Vec<Server>) -> anyhow::Result<()> {
    // Both at once, because kube-apiserver waits for etcd.
    for (name, args) in [
        ("etcd", setup.etcd()),
        ("kube-apiserver", setup.kube_apiserver()),
    ] {
        let log = File::create(setup.log(name))
            .with_context(|| format!("cannot write `{}`", setup.log(name).display()))?;
        let mut command = exec::ending_with_us(setup.assets.join(name), Signal::KILL)?;
        for (variable, _) in std::env::vars_os() {
            // etcd reads a flag from each of these variables.
            if variable.to_string_lossy().starts_with("ETCD_") {
                command.env_remove(variable);
            }
        }
        let process = command
            .args(args)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        servers.push(Server {
            name,
            process,
            ended: false,
        });
    }
    let lines = servers
        .iter()
        .map(|server| format!("{} {}\n", server.name, server.process.id()));
    fs::write(setup.folder.join("pids"), lines.collect::<String>())?;
    Ok(())
}

/// A channel that is closed at the end of stdin.
fn end_of_stdin() -> Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        drop(sender);
    });
    receiver
}

fn watch(servers: &mut [Server], kbr: &Receiver<()>) {
    while kbr.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        for server in servers.iter_mut().filter(|server| !server.ended) {
            if let Ok(Some(status)) = server.process.try_wait() {
                server.ended = true;
                report(&format!("exited {} {status}", server.name));
            }
        }
    }
}

/// Ignores errors: if kbr has ended, the report is not needed.
fn report(line: &str) {
    output::data(&format!("{line}\n")).ok();
}

fn stop(mut server: Server) {
    let running = |server: &mut Server| matches!(server.process.try_wait(), Ok(None));
    if !running(&mut server) {
        return;
    }
    let _ = rustix::process::kill_process(Pid::from_child(&server.process), Signal::TERM);
    let until = Instant::now() + GRACE;
    while running(&mut server) {
        if Instant::now() > until {
            let _ = server.process.kill();
            let _ = server.process.wait();
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
