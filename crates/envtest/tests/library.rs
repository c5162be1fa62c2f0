//! The library in the tests of another project: real servers, and this file's own tests as the processes that are killed.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use kbr_envtest::Envtest;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Set in a process that stands for the tests of another project, to what it does.
const ROLE: &str = "KBR_LIBRARY_ROLE";

const CRD: &str = r#"{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": { "name": "boats.example.com" },
  "spec": {
    "group": "example.com", "scope": "Cluster", "names": { "kind": "Boat", "plural": "boats" },
    "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }]
  }
}"#;

fn folder_with_a_crd() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("boats.json"), CRD).unwrap();
    folder
}

/// The process ids of the servers in `folder`.
fn servers(folder: &Path) -> Vec<Pid> {
    let pids = fs::read_to_string(folder.join("pids")).unwrap();
    let pid = |line: &str| Pid::from_raw(line.split_once(' ')?.1.parse().ok()?);
    let pids: Vec<Pid> = pids.lines().filter_map(pid).collect();
    assert_eq!(pids.len(), 2, "etcd and kube-apiserver");
    pids
}

/// The state of a process and its parent; `None` once it has ended.
fn state_of(pid: Pid) -> Option<(String, Pid)> {
    let pid = pid.as_raw_pid().to_string();
    let ps = ["-o", "stat=,ppid=", "-p", &pid];
    let output = Command::new("ps").args(ps).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut words = text.split_whitespace();
    let state = words.next().filter(|state| !state.starts_with('Z'))?;
    Some((
        state.to_owned(),
        Pid::from_raw(words.next()?.parse().ok()?)?,
    ))
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !done() {
        assert!(Instant::now() < deadline, "not within two minutes: {what}");
        sleep(Duration::from_millis(20));
    }
}

fn have_ended(pids: &[Pid]) -> bool {
    pids.iter().all(|&pid| state_of(pid).is_none())
}

/// This program, as the process of a test: what it does is `role`.
fn process(role: &str) -> Command {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args([
        "--exact",
        "the_process_of_a_test",
        "--nocapture",
        "--ignored",
    ]);
    process.env(ROLE, role).stdout(Stdio::piped());
    process
}

#[test]
#[ignore = "other tests run it as a process"]
fn the_process_of_a_test() {
    match std::env::var(ROLE).as_deref() {
        Ok("run") => {
            let env = Envtest::builder().start().unwrap();
            println!("\nkubeconfig {}", env.kubeconfig().display());
            // Until this process is killed.
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        }
        Ok(store) => println!(
            "\n{:?}",
            Envtest::builder().store(store).start().unwrap_err()
        ),
        Err(_) => {}
    }
}

/// Another process with servers, and their folder.
fn start_in_another_process() -> (Child, PathBuf) {
    let mut process = process("run").stdin(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let kubeconfig = lines.find_map(|line| line.strip_prefix("kubeconfig ").map(PathBuf::from));
    let folder = kubeconfig.expect("it starts").parent().unwrap().to_owned();
    (process, folder)
}

#[test]
fn the_kubeconfig_works_and_the_crds_are_served_until_it_is_dropped() {
    let crds = folder_with_a_crd();
    let env = Envtest::builder().crds(crds.path()).start().unwrap();
    let boats = env.kubectl().args(["get", "boats"]).output().unwrap();
    assert!(boats.status.success(), "{boats:?}");
    let mut kubectl = Command::new(env.kubectl().get_program());
    let get = ["get", "--raw", "/api/v1/namespaces/default", "--kubeconfig"];
    let namespace = kubectl
        .args(get)
        .arg(env.kubeconfig())
        .env("NO_PROXY", "127.0.0.1")
        .output();
    assert!(namespace.unwrap().status.success());
    assert_eq!(
        fs::read_to_string(env.kubeconfig()).unwrap(),
        env.kubeconfig_text()
    );
    assert!(env.kubeconfig_text().contains(&env.url()));

    let folder = env.kubeconfig().parent().unwrap().to_owned();
    let pids = servers(&folder);
    assert!(pids.iter().all(|&pid| state_of(pid).is_some()));
    drop(env);
    assert!(have_ended(&pids) && !folder.exists());
}

#[test]
fn the_servers_end_and_their_folder_vanishes_if_the_process_is_killed() {
    let (mut process, folder) = start_in_another_process();
    let pids = servers(&folder);
    process.kill().unwrap();
    process.wait().unwrap();
    wait_until("the servers have ended", || have_ended(&pids));
    wait_until("the folder is gone", || !folder.exists());
}

#[test]
fn the_servers_end_with_the_process_even_if_the_supervisor_is_killed() {
    let (mut process, folder) = start_in_another_process();
    let pids = servers(&folder);
    // A server is the child of a shell, which is a child of the supervisor.
    let (_, shell) = state_of(pids[0]).unwrap();
    let (_, supervisor) = state_of(shell).unwrap();
    kill_process(supervisor, Signal::KILL).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    wait_until("the servers have ended", || have_ended(&pids));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_error_says_how_to_install_the_programs() {
    let store = tempfile::tempdir().unwrap();
    let mut process = process(store.path().to_str().unwrap());
    let output = process.env_remove("KUBEBUILDER_ASSETS").output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.contains("run kbr envtest build, or kbr envtest use"),
        "{output}"
    );
}

#[test]
fn a_crd_that_the_api_server_rejects_is_an_error() {
    let folder = folder_with_a_crd();
    fs::write(
        folder.path().join("boats.json"),
        CRD.replace("Cluster", "Sea"),
    )
    .unwrap();
    let error = Envtest::builder().crds(folder.path()).start().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the API server rejects the CRDs"),
        "{error}"
    );
}
