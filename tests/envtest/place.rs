//! Helpers of the tests.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;
use tempfile::TempDir;

/// A temporary folder for each test, to find files that kbr does not clean up.
pub struct Place {
    root: TempDir,
}

impl Place {
    pub fn new() -> Self {
        reset_ignored_signals();
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("tmp")).unwrap();
        Self { root }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Fake servers. `sleep` never ends; with the kubectl `exit 0` the server is ready immediately.
    pub fn fakes(&self, etcd: &str, kube_apiserver: &str, kubectl: &str) {
        for (name, script) in [
            ("etcd", etcd),
            ("kube-apiserver", kube_apiserver),
            ("kubectl", kubectl),
        ] {
            self.write(&format!("assets/{name}"), &format!("#!/bin/sh\n{script}\n"));
        }
    }

    /// `kbr envtest`.
    pub fn kbr(&self, args: &[&str]) -> Command {
        let mut kbr = self.command("envtest");
        kbr.args(args);
        kbr
    }

    pub fn command(&self, command: &str) -> Command {
        let mut kbr = Command::new(env!("CARGO_BIN_EXE_kbr"));
        kbr.arg(command).current_dir(self.root.path());
        kbr.env("TMPDIR", self.path("tmp")).stdin(Stdio::null());
        if self.path("assets").exists() {
            kbr.env("KUBEBUILDER_ASSETS", self.path("assets"));
        } else {
            require_binaries();
        }
        kbr
    }

    /// Runs `script` under kbr.
    pub fn run(&self, script: &str) -> Output {
        self.kbr(&["run", "--", "sh", "-c", script])
            .output()
            .unwrap()
    }

    /// Starts `script` under kbr in a new process group, and waits until it has printed a line.
    pub fn start(&self, script: &str) -> Running {
        self.start_with(&[], script)
    }

    /// Like [`start`](Self::start), with flags of `kbr envtest run`.
    pub fn start_with(&self, flags: &[&str], script: &str) -> Running {
        let run = [&["run"], flags, &["--", "sh", "-c", script]].concat();
        let mut kbr = self.kbr(&run);
        let stderr = fs::File::create(self.path("stderr")).unwrap();
        kbr.process_group(0).stdout(Stdio::piped()).stderr(stderr);
        let mut child = Running(kbr.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(child.0.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(
            line,
            "up\n",
            "{}",
            fs::read_to_string(self.path("stderr")).unwrap()
        );
        child
    }

    pub fn left_over(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("tmp")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The process ids of the servers of the only control plane.
    pub fn servers(&self) -> Vec<i32> {
        let file = self.left_over()[0].join("pids");
        wait_until("both servers have been started", || pids(&file).len() >= 2);
        pids(&file)
    }
}

/// The process ids in a file with a line `NAME PID` for each server.
pub fn pids(file: &Path) -> Vec<i32> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let words = text.lines().filter_map(|line| line.split(' ').nth(1));
    words.map(|word| word.parse().unwrap()).collect()
}

/// A kbr that is killed with its test, and its servers with it.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes children of this process start with the default signals. The parent of the tests may ignore some, like nohup and
/// background jobs of a script do, and children would inherit that; they do not inherit handlers.
fn reset_ignored_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            let always = Arc::new(AtomicBool::new(true));
            register_conditional_shutdown(signal, 128 + signal, always).unwrap();
        }
    });
}

fn require_binaries() {
    let mut kbr = Command::new(env!("CARGO_BIN_EXE_kbr"));
    let found = kbr
        .args(["envtest", "path"])
        .output()
        .unwrap()
        .status
        .success();
    assert!(
        found,
        "no kube-apiserver found; run: cargo run -- envtest build --cluster"
    );
}

#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(
            began.elapsed() < Duration::from_secs(180),
            "timed out after 3 minutes: {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn is_running(pid: i32) -> bool {
    // In a container without an init process, a zombie counts as ended.
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

pub fn parent_of(pid: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

pub fn send(signal: Signal, pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
