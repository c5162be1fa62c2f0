//! `kbr envtest supervisor`: the parent of the servers, which outlives kbr just long enough to clean up.
//!
//! It holds the reading end of a pipe from kbr, which sends one order a line. The kernel closes the other end even if kbr is
//! killed, and then the supervisor stops the servers and removes their folder. If the supervisor itself is killed with SIGKILL,
//! the kernel ends the servers (Linux), and kbr or the next `kbr envtest run` removes the folder.
//!
//! A cluster that is left running is detached from kbr, and stopped through a socket in its folder (`control`).

use std::fs::{self, File};
use std::io::{self, BufRead};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::fs::Mode;
use rustix::process::{Pid, Signal};

use super::control::{self, Request};
use super::egress::{Listening, Proxy};
use super::servers::{Program, without_flags};
use super::setup::Setup;
use super::{exec, folder, relay};
use kbr_host::output;

/// The order to start the controller manager, the scheduler and kwok. kube-apiserver must be serving: they end without it.
pub const START_CONTROLLERS: &str = "start controllers";

/// The orders to let the controllers stand still, and to let them go on.
pub const PAUSE_CONTROLLERS: &str = "pause controllers";
/// See [`PAUSE_CONTROLLERS`].
pub const RESUME_CONTROLLERS: &str = "resume controllers";

/// The order to go on when kbr has ended.
pub const DETACH: &str = "detach";

/// How long a server may take to stop before it is killed, which loses nothing because the data is removed anyway.
/// kube-apiserver closes its connections within 20 ms of SIGTERM, then lingers for a second; without etcd, for minutes.
const GRACE: Duration = Duration::from_millis(250);

/// How often to check whether a server has ended.
const TICK: Duration = Duration::from_millis(50);

struct Server {
    name: &'static str,
    process: Child,
    ended: Option<ExitStatus>,
}

/// Something to do.
enum Order {
    Line(String),
    /// kbr has ended.
    End,
    Request(Request),
}

/// Runs the servers until stdin is closed, or once they are detached, until they are asked to stop. When a server ends, prints a
/// line on stdout: `exited <program> <status>`.
pub fn run(setup: &Setup) -> anyhow::Result<()> {
    // For all files and sockets of this process and its servers, also those in the folder of the logs.
    rustix::process::umask(Mode::from_raw_mode(0o077));
    let (sender, orders) = mpsc::channel();
    let mut servers = Vec::new();
    let started = start(setup, sender, &mut servers);
    if let Err(error) = &started {
        report(&format!("failed {error:#}"));
    }
    let asked = watch(setup, &mut servers, &orders);
    // etcd last: kube-apiserver ignores SIGTERM without it.
    let clients = servers.split_off(servers.len().min(1));
    stop(clients);
    stop(servers);
    if setup.keep {
        control::close(&setup.folder);
    } else {
        folder::remove(&setup.folder);
    }
    if let Some(request) = asked {
        request.answer("stopped");
    }
    started.map(drop)
}

fn start(
    setup: &Setup,
    orders: Sender<Order>,
    servers: &mut Vec<Server>,
) -> anyhow::Result<Option<Listening>> {
    let mut proxy = None;
    follow_stdin(orders.clone());
    relay::start(&setup.folder)?;
    if setup.cluster {
        control::listen(&setup.folder, move |request| {
            orders.send(Order::Request(request)).is_ok()
        })?;
    }
    if setup.cluster || setup.clone {
        proxy = Some(Proxy::new(setup, "--map-service").start()?);
    }
    // Both at once, because kube-apiserver waits for etcd.
    for program in setup.control_plane() {
        launch(setup, program, servers)?;
    }
    Ok(proxy)
}

fn start_controllers(setup: &Setup, servers: &mut Vec<Server>) -> anyhow::Result<()> {
    for program in setup.controllers()? {
        launch(setup, program, servers)?;
    }
    Ok(())
}

fn launch(setup: &Setup, program: Program, servers: &mut Vec<Server>) -> anyhow::Result<()> {
    let Program { name, args } = program;
    let log = File::create(setup.log(name))
        .with_context(|| format!("cannot write `{}`", setup.log(name).display()))?;
    let mut command = exec::ending_with_us(setup.assets.join(name), Signal::KILL)?;
    without_flags(&mut command);
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
        ended: None,
    });
    let lines = servers
        .iter()
        .map(|server| format!("{} {}\n", server.name, server.process.id()));
    fs::write(setup.folder.join("pids"), lines.collect::<String>())?;
    Ok(())
}

/// Sends the lines of stdin, and its end.
fn follow_stdin(orders: Sender<Order>) {
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let _ = orders.send(Order::Line(line));
        }
        let _ = orders.send(Order::End);
    });
}

/// Follows orders and reports servers that end, until it is time to stop. Returns the request to stop, if there was one.
fn watch(setup: &Setup, servers: &mut Vec<Server>, orders: &Receiver<Order>) -> Option<Request> {
    let mut detached = false;
    loop {
        match orders.recv_timeout(TICK) {
            Err(RecvTimeoutError::Disconnected) => return None,
            Ok(Order::End) if !detached => return None,
            Err(RecvTimeoutError::Timeout) | Ok(Order::End) => {}
            Ok(Order::Line(line)) if line == START_CONTROLLERS => {
                if let Err(error) = start_controllers(setup, servers) {
                    report(&format!("failed {error:#}"));
                }
            }
            Ok(Order::Line(line)) if line == PAUSE_CONTROLLERS => signal(servers, Signal::STOP),
            Ok(Order::Line(line)) if line == RESUME_CONTROLLERS => signal(servers, Signal::CONT),
            Ok(Order::Line(line)) => detached |= line == DETACH,
            Ok(Order::Request(request)) if request.is_stop() => return Some(request),
            Ok(Order::Request(request)) => request.answer(&status(servers)),
        }
        for server in servers.iter_mut().filter(|server| server.ended.is_none()) {
            if let Ok(Some(status)) = server.process.try_wait() {
                server.ended = Some(status);
                report(&format!("exited {} {status}", server.name));
            }
        }
    }
}

/// Sends a signal to the controllers: all but etcd and kube-apiserver, which start first.
fn signal(servers: &[Server], signal: Signal) {
    for server in servers.iter().skip(2).filter(|it| it.ended.is_none()) {
        let _ = rustix::process::kill_process(Pid::from_child(&server.process), signal);
    }
}

/// A line for each server: its name, its process id, and its exit status if it has ended.
fn status(servers: &[Server]) -> String {
    let line = |server: &Server| {
        let ended = server.ended.map(|status| format!(" {status}"));
        format!(
            "{} {}{}",
            server.name,
            server.process.id(),
            ended.unwrap_or_default()
        )
    };
    servers.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Ignores errors: if kbr has ended, the report is not needed.
fn report(line: &str) {
    output::data(&format!("{line}\n")).ok();
}

fn stop(mut servers: Vec<Server>) {
    let running = |server: &mut Server| matches!(server.process.try_wait(), Ok(None));
    servers.retain_mut(running);
    for server in &servers {
        let _ = rustix::process::kill_process(Pid::from_child(&server.process), Signal::TERM);
    }
    let until = Instant::now() + GRACE;
    while servers.iter_mut().any(running) && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    for mut server in servers {
        let _ = server.process.kill();
        let _ = server.process.wait();
    }
}
