//! The processes of servers, and a process with servers.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Pid;

/// Set in a process that stands for the tests of another project, to what it does.
pub const ROLE: &str = "KBR_LIBRARY_ROLE";

/// The servers without a cluster, sorted.
pub const CONTROL_PLANE: [&str; 2] = ["etcd", "kube-apiserver"];

/// The servers of a cluster, sorted.
pub const CLUSTER: [&str; 5] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
];

/// A process that works for the servers in a folder: one of them, a supervisor or a command of these.
#[derive(Debug)]
pub struct Process {
    pub id: Pid,
    pub parent: Pid,
    command: String,
}

/// The processes whose command line names `folder`, as those of all servers and supervisors do.
pub fn processes(folder: &Path) -> Vec<Process> {
    let mut ps = Command::new("ps");
    let output = ps
        .args(["-A", "-ww", "-o", "pid=,ppid=,stat=,args="])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let folder = folder.to_str().unwrap();
    let process = |line: &str| {
        let mut words = line.split_whitespace();
        let (id, parent, state) = (words.next()?, words.next()?, words.next()?);
        let command = words.collect::<Vec<_>>().join(" ");
        let found = command.contains(folder) && !state.starts_with('Z');
        found.then_some(Process {
            id: Pid::from_raw(id.parse().ok()?)?,
            parent: Pid::from_raw(parent.parse().ok()?)?,
            command,
        })
    };
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(process).collect()
}

/// The names of the servers in `folder` that run, sorted.
pub fn servers(folder: &Path) -> Vec<String> {
    let program = |process: Process| {
        let program = process.command.split_whitespace().next()?.to_owned();
        Some(program.rsplit('/').next()?.to_owned())
    };
    let mut names: Vec<String> = processes(folder).into_iter().filter_map(program).collect();
    names.retain(|name| name != "sh");
    names.sort();
    names
}

/// Another process with servers, and their folder.
pub fn start_in_another_process(role: &str) -> (Child, PathBuf) {
    let mut process = process(role).spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let kubeconfig = lines.find_map(|line| line.strip_prefix("kubeconfig ").map(PathBuf::from));
    let folder = kubeconfig.expect("it starts").parent().unwrap().to_owned();
    (process, folder)
}

/// This program, as the process of a test: what it does is `role`.
pub fn process(role: &str) -> Command {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args([
        "--exact",
        "killed::the_process_of_a_test",
        "--nocapture",
        "--ignored",
    ]);
    process.env(ROLE, role);
    process
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    process
}

pub fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !done() {
        assert!(Instant::now() < deadline, "not within two minutes: {what}");
        sleep(Duration::from_millis(20));
    }
}
