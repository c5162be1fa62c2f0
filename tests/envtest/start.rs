//! Servers that do not start.

use std::fs;
use std::path::PathBuf;

use crate::place::{Place, is_running, text};

#[test]
fn a_server_that_ends_during_startup_is_an_error_with_the_end_of_its_log() {
    let place = Place::new();
    place.fakes(
        "echo the disk is full >&2; exit 3",
        "echo $$ > server; exec sleep 1000",
        "exit 1",
    );
    let output = place.run("echo never");
    let expected = "error: etcd ended during startup (exit status: 3); the end of its log:\n    \
        the disk is full\nhelp: kbr envtest run --keep-logs DIR keeps whole logs\n";
    assert_eq!(text(&output.stderr).split_once('\n').unwrap().1, expected);
    assert_eq!(
        (text(&output.stdout), output.status.code()),
        (String::new(), Some(1))
    );
    if let Ok(pid) = fs::read_to_string(place.path("server")) {
        assert!(!is_running(pid.trim().parse().unwrap()));
    }
    assert_eq!(place.left_over(), Vec::<PathBuf>::new());
}

#[test]
fn a_server_that_is_never_ready_is_an_error() {
    let place = Place::new();
    place.fakes(
        "exec sleep 1000",
        "echo still busy; exec sleep 1000",
        "echo no answer >&2; exit 1",
    );
    let output = place
        .kbr(&["run", "--start-timeout", "1", "--", "echo", "never"])
        .output()
        .unwrap();
    let expected = "error: kube-apiserver did not become ready in time: no answer; the end of its log:\n    \
        still busy\nhelp: pass a longer --start-timeout\n";
    assert_eq!(text(&output.stderr).split_once('\n').unwrap().1, expected);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_start_with_a_taken_port_is_retried_five_times() {
    let place = Place::new();
    let starts = place.path("starts");
    let etcd = format!(
        "echo start >> '{}'; echo bind: address already in use; exit 1",
        starts.display()
    );
    place.fakes(&etcd, "exec sleep 1000", "exit 1");
    let output = place.run("echo never");
    assert_eq!(fs::read_to_string(starts).unwrap().lines().count(), 5);
    assert!(text(&output.stderr).contains("error: etcd ended during startup"));
    assert_eq!(place.left_over(), Vec::<PathBuf>::new());
}

#[test]
fn the_command_waits_until_the_server_has_finished_its_start() {
    let place = Place::new();
    let kubectl =
        r#"case "$*" in *"--raw /readyz") test -e asked || { touch asked; exit 1; };; esac"#;
    place.fakes("exec sleep 1000", "exec sleep 1000", kubectl);
    assert_eq!(place.run("test -e asked").status.code(), Some(0));
}
