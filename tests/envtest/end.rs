//! Nothing remains after any process is killed.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::place::{Place, Running, is_running, parent_of, send, wait_until};

#[test]
fn nothing_remains_after_kbr_is_killed() {
    let place = Place::new();
    let mut kbr = place.start("echo $$ > command; echo up; exec sleep 1000");
    let mut pids = place.servers();
    pids.push(
        fs::read_to_string(place.path("command"))
            .unwrap()
            .trim()
            .parse()
            .unwrap(),
    );
    assert!(pids.iter().all(|&pid| is_running(pid)));
    kbr.0.kill().unwrap();
    kbr.0.wait().unwrap();
    for &pid in &pids {
        wait_until(&format!("process {pid} of {pids:?} has ended"), || {
            !is_running(pid)
        });
    }
    wait_until("the folder is gone", || place.left_over().is_empty());
}

#[test]
fn a_killed_api_server_is_reported_and_the_commands_exit_code_is_kept() {
    let place = Place::new();
    let script = r#"
        echo up
        kill -9 $(sed -n 's/kube-apiserver //p' "$(dirname "$KUBECONFIG")/pids")
        until grep -q 'warning: kube-apiserver ended (signal: 9' stderr; do sleep 0.02; done
        exit 3
    "#;
    let code = place.start(script).0.wait().unwrap().code();
    assert_eq!(code, Some(3));
    assert_eq!(place.left_over(), Vec::<PathBuf>::new());
}

#[test]
fn nothing_remains_after_the_supervisor_is_killed() {
    let place = Place::new();
    place.fakes("exec sleep 1000", "exec sleep 1000", "exit 0");
    let mut kbr = place.start("echo up; while ! test -e go; do sleep 0.02; done; exit 5");
    let servers = place.servers();
    send(Signal::KILL, parent_of(servers[0]));
    for pid in servers {
        wait_until("the servers have ended", || !is_running(pid));
    }
    wait_until("it is reported", || {
        let stderr = fs::read_to_string(place.path("stderr")).unwrap();
        stderr.contains("warning: kbr envtest supervisor was killed, and the servers with it\n")
    });
    place.write("go", "");
    assert_eq!(kbr.0.wait().unwrap().code(), Some(5));
    assert_eq!(place.left_over(), Vec::<PathBuf>::new());
}

#[test]
fn the_next_run_cleans_up_after_a_killed_run_and_leaves_a_running_one_alone() {
    let place = Place::new();
    place.fakes("exec sleep 1000", "exec sleep 1000", "exit 0");
    let mut killed = place.start("echo up; exec sleep 1000");
    let (stale, servers) = (place.left_over()[0].clone(), place.servers());
    send(Signal::STOP, killed.0.id().try_into().unwrap());
    send(Signal::KILL, parent_of(servers[0]));
    killed.0.kill().unwrap();
    killed.0.wait().unwrap();
    for pid in servers {
        wait_until("the servers have ended", || !is_running(pid));
    }
    assert_eq!(place.left_over(), std::slice::from_ref(&stale));

    let mut running = place.start("echo up; read line; exec sleep 1000");
    assert!(!stale.exists());
    let kept = place.left_over();
    assert_eq!(kept.len(), 1);
    assert_eq!(place.run("exit 0").status.code(), Some(0));
    assert_eq!(place.left_over(), kept);
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    wait_until("the folder is gone", || place.left_over().is_empty());
}

const PROJECT: &str =
    "layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"captains\"\ndomain = \"example.com\"\n";

#[test]
fn control_c_ends_kbr_dev_while_its_api_server_starts() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let place = Place::new();
        place.fakes("exec sleep 1000", "exec sleep 1000", "touch polled; exit 1");
        place.write("PROJECT", PROJECT);
        let mut dev = place.command("dev");
        dev.process_group(0).stderr(Stdio::null());
        let mut dev = Running(dev.spawn().unwrap());
        wait_until("kbr waits for the servers", || {
            place.path("polled").exists()
        });
        let servers = place.servers();
        send(signal, dev.0.id().try_into().unwrap());
        wait_until("kbr has ended", || dev.0.try_wait().unwrap().is_some());
        assert_eq!(dev.0.wait().unwrap().code(), Some(code));
        assert!(servers.into_iter().all(|pid| !is_running(pid)));
        assert_eq!(place.left_over(), Vec::<PathBuf>::new());
    }
}

#[test]
fn nothing_remains_after_control_c_during_the_start() {
    let place = Place::new();
    place.fakes("exec sleep 1000", "exec sleep 1000", "touch polled; exit 1");
    let mut kbr = place.kbr(&["run", "--", "echo", "never"]);
    kbr.process_group(0).stderr(Stdio::null());
    let mut kbr = Running(kbr.spawn().unwrap());
    wait_until("kbr waits for the servers", || {
        place.path("polled").exists()
    });
    kill_process_group(Pid::from_child(&kbr.0), Signal::INT).unwrap();
    assert_eq!(kbr.0.wait().unwrap().code(), None);
    wait_until("the folder is gone", || place.left_over().is_empty());
}
