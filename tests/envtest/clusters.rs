//! `kbr cluster`.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};

use rustix::process::Signal;
use serde_json::Value;

use crate::place::{Place, is_running, parent_of, pids, send, text, wait_until};

/// A folder for clusters, which are stopped with their test.
struct Clusters {
    place: Place,
    assets: String,
}

impl Clusters {
    fn new() -> Self {
        let place = Place::new();
        let found = place.kbr(&["path"]).output().unwrap();
        let assets = text(&found.stdout).trim().to_owned();
        Self { place, assets }
    }

    fn kbr(&self, args: &str) -> Command {
        let mut kbr = self.place.command("cluster");
        kbr.args(args.split(' '))
            .env("XDG_DATA_HOME", self.place.path("data"))
            .env("HOME", self.place.path("home"))
            .env_remove("KUBECONFIG")
            .env("KUBEBUILDER_ASSETS", &self.assets);
        kbr
    }

    fn run(&self, args: &str) -> Output {
        self.kbr(args).output().unwrap()
    }

    /// Runs it, and returns its standard output.
    #[track_caller]
    fn succeeds(&self, args: &str) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Starts a cluster that has run before, as soon as no other test has one of its ports.
    #[track_caller]
    fn starts_again(&self, name: &str) {
        wait_until("its ports are free", || {
            let output = self.run(&format!("start {name}"));
            let (success, error) = (output.status.success(), text(&output.stderr));
            assert!(
                success || error.contains("another program uses one of the ports"),
                "{error}"
            );
            success
        });
    }

    /// Runs it, and returns its error.
    #[track_caller]
    fn fails(&self, args: &str) -> String {
        let output = self.run(args);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{args}: {}",
            text(&output.stderr)
        );
        text(&output.stderr)
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.place.path("data/kbr/clusters").join(name)
    }

    fn servers(&self, name: &str) -> Vec<i32> {
        pids(&self.folder(name).join("pids"))
    }

    #[track_caller]
    fn kubectl(&self, name: &str, args: &str) -> String {
        let mut kubectl = Command::new(format!("{}/kubectl", self.assets));
        kubectl
            .args(args.split(' '))
            .env("KUBECONFIG", self.folder(name).join("kubeconfig"));
        let output = kubectl.output().unwrap();
        assert!(output.status.success(), "{args}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.succeeds("status --output json")).unwrap()
    }
}

impl Drop for Clusters {
    fn drop(&mut self) {
        for entry in fs::read_dir(self.folder(""))
            .into_iter()
            .flatten()
            .flatten()
        {
            self.run(&format!("stop {} --delete", entry.file_name().display()));
        }
    }
}

#[test]
fn clusters_run_side_by_side_until_they_are_stopped() {
    let clusters = Clusters::new();
    assert_eq!(clusters.status(), Value::Array(Vec::new()));
    assert!(
        clusters
            .fails("kubeconfig a")
            .contains("help: kbr cluster start a")
    );
    assert_eq!(clusters.run("status a").status.code(), Some(1));

    clusters.succeeds("start a --nodes 2 --merge-kubeconfig");
    clusters.succeeds("start b");
    assert!(text(&clusters.run("start a").stderr).contains("running `a` already"));
    let status = clusters.status();
    let of = |number: usize, key: &str| status[number][key].clone();
    assert_eq!([of(0, "name"), of(1, "name")], ["a", "b"]);
    assert_eq!([of(0, "running"), of(1, "running")], [true, true]);
    assert_ne!(of(0, "server"), of(1, "server"));
    assert_eq!(of(0, "servers").as_array().unwrap().len(), 5);
    assert!(
        clusters
            .succeeds("status a")
            .contains("a                    running")
    );

    // Each has its own objects.
    assert_eq!(
        clusters.kubectl("a", "get nodes -o name"),
        "node/node-0\nnode/node-1\n"
    );
    clusters.kubectl("a", "create deployment web --image=nginx");
    clusters.kubectl("a", "rollout status deployment web --timeout=60s");
    assert_eq!(clusters.kubectl("b", "get deployments -o name"), "");

    // The printed kubeconfig needs no other file, and the merged one has its context.
    let kubeconfig = clusters.succeeds("kubeconfig b");
    assert!(kubeconfig.contains("client-key-data: "), "{kubeconfig}");
    let merged = clusters.place.path("home/.kube/config");
    let text = fs::read_to_string(&merged).unwrap();
    assert!(text.contains("current-context: kbr-a\n"), "{text}");
    assert!(!text.contains("kbr-b"), "{text}");

    let (a, b) = (clusters.servers("a"), clusters.servers("b"));
    clusters.succeeds("stop a");
    assert!(a.iter().all(|pid| !is_running(*pid)));
    assert!(b.iter().all(|pid| is_running(*pid)));
    assert!(!clusters.folder("a").exists());
    assert!(!fs::read_to_string(&merged).unwrap().contains("kbr-a"));
    let printed = clusters.fails("stop a");
    assert!(printed.contains("no cluster `a` found"), "{printed}");
    clusters.succeeds("stop b");
    assert!(b.iter().all(|pid| !is_running(*pid)));
    assert_eq!(clusters.status(), Value::Array(Vec::new()));
}

#[test]
fn kept_data_and_ports_survive_a_restart_and_other_data_does_not_survive_a_kill() {
    let clusters = Clusters::new();
    clusters.succeeds("start kept --keep");
    clusters.kubectl("kept", "create configmap cargo");
    let server = clusters.status()[0]["server"].clone();
    clusters.succeeds("stop kept");
    assert!(
        clusters
            .run("status kept")
            .stdout
            .starts_with(b"kept                 stopped")
    );

    // Another program has the port of the API server.
    let port: u16 = server
        .as_str()
        .unwrap()
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let error = clusters.fails("start kept");
    assert!(error.contains(&format!("{port}")), "{error}");
    drop(taken);

    clusters.starts_again("kept");
    assert_eq!(clusters.status()[0]["server"], server);
    assert!(
        clusters
            .kubectl("kept", "get configmaps -o name")
            .contains("configmap/cargo\n")
    );

    // If the supervisor is killed, the kernel ends the servers, and the next start uses the data.
    let servers = clusters.servers("kept");
    send(Signal::KILL, parent_of(servers[0]));
    for pid in servers {
        wait_until("the servers have ended", || !is_running(pid));
    }
    assert_eq!(clusters.run("status kept").status.code(), Some(1));
    clusters.starts_again("kept");
    assert!(
        clusters
            .kubectl("kept", "get configmaps -o name")
            .contains("configmap/cargo\n")
    );
    clusters.succeeds("stop kept");

    // Data of another minor version is refused.
    let record = clusters.folder("kept").join("cluster.json");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace("\"1.3", "\"1.2")).unwrap();
    let error = clusters.fails("start kept");
    assert!(
        error.contains("help: delete the data: kbr cluster stop kept --delete"),
        "{error}"
    );
    clusters.succeeds("stop kept --delete");
    assert!(!clusters.folder("kept").exists());

    clusters.succeeds("start lost");
    clusters.kubectl("lost", "create configmap cargo");
    let servers = clusters.servers("lost");
    send(Signal::KILL, parent_of(servers[0]));
    for pid in servers {
        wait_until("the servers have ended", || !is_running(pid));
    }
    assert!(
        clusters
            .run("status lost")
            .stdout
            .starts_with(b"lost                 killed")
    );
    clusters.starts_again("lost");
    assert!(
        !clusters
            .kubectl("lost", "get configmaps -o name")
            .contains("cargo")
    );
}

#[test]
fn a_server_that_ends_is_shown_and_the_cluster_can_be_stopped() {
    let clusters = Clusters::new();
    clusters.succeeds("start a");
    let servers = clusters.servers("a");
    send(Signal::KILL, servers[3]);
    wait_until("the end is noticed", || {
        let output = clusters.run("status a");
        output.status.code() == Some(1)
            && text(&output.stdout).contains("kube-scheduler ended (signal: 9")
    });
    clusters.succeeds("stop a");
    assert!(servers.iter().all(|pid| !is_running(*pid)));
}

#[test]
fn a_start_that_is_interrupted_leaves_nothing() {
    let clusters = Clusters::new();
    let mut start = clusters.kbr("start a").spawn().unwrap();
    wait_until("servers have been started", || {
        clusters.servers("a").len() >= 2
    });
    let servers = clusters.servers("a");
    start.kill().unwrap();
    start.wait().unwrap();
    for pid in servers {
        wait_until("the servers have ended", || !is_running(pid));
    }
    wait_until("the folder is gone", || !clusters.folder("a").exists());
}

#[test]
fn names_are_checked() {
    let clusters = Clusters::new();
    for name in ["A", "a/b", ".."] {
        let output = clusters.run(&format!("start {name}"));
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(
            text(&output.stderr).contains("lower-case letters"),
            "{name}"
        );
    }
}
