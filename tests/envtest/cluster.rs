//! `kbr envtest run --cluster`.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;

use crate::place::{Place, Running, is_running, pids, send, text, wait_until};

/// The servers, in the order of their start.
const SERVERS: [&str; 5] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
];

/// Local and remote addresses of the IP sockets of processes, in the form of `/proc/net/tcp`.
fn addresses(pids: &[i32]) -> BTreeSet<String> {
    let mut inodes = BTreeSet::new();
    for pid in pids {
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
            let link = fs::read_link(entry.path()).unwrap_or_default();
            let link = link.display().to_string();
            let inode = link
                .strip_prefix("socket:[")
                .and_then(|it| it.strip_suffix(']'));
            inodes.extend(inode.map(str::to_owned));
        }
    }
    let tables =
        ["tcp", "tcp6", "udp", "udp6"].map(|name| fs::read_to_string(format!("/proc/net/{name}")));
    let mut addresses = BTreeSet::new();
    for line in tables
        .iter()
        .flatten()
        .flat_map(|table| table.lines().skip(1))
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        if inodes.contains(words[9]) {
            let host = |word: &str| word.split(':').next().unwrap().to_owned();
            addresses.insert(host(words[1]));
            // Listening sockets have no remote address.
            addresses.extend(Some(host(words[2])).filter(|_| !words[2].ends_with(":0000")));
        }
    }
    addresses
}

/// 127.0.0.1, and the same address in a socket for both protocols.
const LOOPBACK: [&str; 2] = ["0100007F", "0000000000000000FFFF00000100007F"];

#[test]
fn controllers_scheduler_and_pods_work_and_webhooks_reach_only_mapped_programs() {
    let place = Place::new();
    // A program that accepts a connection, keeps what it receives first, and closes the connection.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mapped = format!("hooks/mapped={}", listener.local_addr().unwrap().port());
    let (sender, greetings) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut bytes = [0; 1024];
            let length = connection.read(&mut bytes).unwrap_or(0);
            let _ = sender.send(bytes[..length].to_vec());
        }
    });
    let script = include_str!("cluster.sh");
    let flags = ["run", "--cluster", "--nodes", "2", "--map-service", &mapped];
    let mut kbr = place.kbr(&[&flags[..], &["--", "sh", "-c", script]].concat());
    let log = fs::File::create(place.path("log")).unwrap();
    kbr.stdout(log.try_clone().unwrap())
        .stderr(log)
        .stdin(Stdio::piped());
    let mut kbr = Running(kbr.spawn().unwrap());
    let log = || fs::read_to_string(place.path("log")).unwrap();
    loop {
        if log().lines().any(|line| line == "up") {
            break;
        }
        let ended = kbr.0.try_wait().unwrap();
        assert!(ended.is_none(), "{}", log());
        std::thread::sleep(Duration::from_millis(50));
    }

    // TLS and the name of the Service are real.
    let greeting = greetings.try_recv().expect("the mapped program was called");
    assert!(text(&greeting).contains("mapped.hooks.svc"), "{greeting:?}");

    let folder = place.left_over()[0].clone();
    let pids = pids(&folder.join("pids"));
    assert_eq!(pids.len(), 5);
    let addresses = addresses(&pids);
    assert!(addresses.contains(LOOPBACK[0]), "{addresses:?}");
    let elsewhere: Vec<_> = addresses
        .iter()
        .filter(|it| !LOOPBACK.contains(&it.as_str()))
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    for entry in fs::read_dir(&folder).unwrap().flatten() {
        use std::os::unix::fs::PermissionsExt;
        let secret = entry.path().extension().is_some_and(|it| it == "key");
        let mode = entry.metadata().unwrap().permissions().mode();
        assert!(
            !secret || mode.is_multiple_of(0o100),
            "{}: {mode:o}",
            entry.path().display()
        );
    }

    drop(kbr.0.stdin.take());
    assert!(kbr.0.wait().unwrap().success(), "{}", log());
    assert!(pids.iter().all(|pid| !is_running(*pid)));
    assert_eq!(place.left_over(), Vec::<PathBuf>::new());
}

/// kube-controller-manager waits 50 s for a sign of life from a node before it marks the node, and all Pods on it.
#[test]
fn nodes_stay_ready_although_they_have_no_kubelets() {
    let place = Place::new();
    let script =
        "kubectl wait --for=condition=Ready=Unknown --timeout=75s node/node-0 2>&1 || true";
    let flags = ["run", "--cluster", "--", "sh", "-c", script];
    let output = place.kbr(&flags).output().unwrap();
    let printed = text(&output.stdout);
    assert!(
        printed.contains("timed out waiting"),
        "{printed}{}",
        text(&output.stderr)
    );
}

#[test]
fn each_server_that_is_killed_is_named_and_nothing_remains() {
    let place = Place::new();
    let script = r#"
        echo up
        for name in kwok kube-scheduler kube-controller-manager kube-apiserver etcd; do
            kill -9 $(sed -n "s/^$name //p" "$(dirname "$KUBECONFIG")/pids")
            until grep -q "warning: $name ended (signal: 9" stderr; do sleep 0.02; done
        done
        exit 3
    "#;
    let mut kbr = place.start_with(&["--cluster"], script);
    assert_eq!(kbr.0.wait().unwrap().code(), Some(3));
    assert_eq!(place.left_over(), Vec::<PathBuf>::new());
}

#[test]
fn nothing_of_a_cluster_remains_after_kbr_ends_or_is_killed() {
    for signal in [Signal::TERM, Signal::KILL] {
        let place = Place::new();
        let mut kbr = place.start_with(&["--cluster"], "echo up; exec sleep 1000");
        let servers = place.servers();
        assert_eq!(servers.len(), SERVERS.len());
        send(signal, kbr.0.id().try_into().unwrap());
        kbr.0.wait().unwrap();
        for pid in servers {
            wait_until("the servers have ended", || !is_running(pid));
        }
        wait_until("the folder is gone", || place.left_over().is_empty());
    }
}

/// Fifty starts before a release, and three otherwise.
#[test]
fn clusters_start_one_after_another_and_four_side_by_side() {
    let place = Place::new();
    let release = std::env::var("KBR_TESTS").as_deref() == Ok("release");
    let run = || {
        let mut kbr = place.kbr(&["run", "--cluster", "--", "kubectl", "get", "nodes"]);
        kbr.stdout(Stdio::piped()).stderr(Stdio::piped());
        kbr.spawn().unwrap()
    };
    let succeeds = |kbr: std::process::Child| {
        let output = kbr.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    for _ in 0..if release { 50 } else { 3 } {
        succeeds(run());
    }
    [(); 4].map(|()| run()).into_iter().for_each(succeeds);
    assert_eq!(place.left_over(), Vec::<PathBuf>::new());
}

#[test]
fn the_flags_of_a_cluster_are_checked() {
    let place = Place::new();
    let check = |flags: &[&str], code: i32, expected: &str| {
        let output = place
            .kbr(&[&["run"], flags, &["--", "true"]].concat())
            .output()
            .unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    };
    for wrong in ["hook=1", "a/b/c=1", "a/b=0", "a/b=x", "/b=1", "a/b"] {
        check(
            &["--cluster", "--map-service", wrong],
            2,
            "crew-system/crew-webhook=9443",
        );
    }
    check(
        &["--nodes", "2"],
        1,
        "`--nodes` has no effect without `--cluster`",
    );
    let build = "help: run kbr envtest build --cluster\n";
    check(&["--cluster", "--store", "none"], 1, build);
    place.fakes("exit 1", "exit 1", "exit 1");
    let missing = "lacks `kube-controller-manager`, `kube-scheduler`, `kwok`\nhelp: ";
    check(&["--cluster"], 1, missing);
}
