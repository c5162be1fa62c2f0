//! `kbr envtest build` with a fake `go`.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::place::{Place, text};

/// A `go` that records its arguments, and creates empty programs.
fn fake_go(place: &Place, version: &str) -> String {
    let script = format!(
        "#!/bin/sh\ncase $1 in env) echo {version}; exit;; esac\n\
         echo build >> '{}'\nsleep 0.2\n\
         while [ \"$1\" != -o ]; do shift; done\n\
         for p in server kube-apiserver kubectl; do echo '#!' > $2/$p; chmod +x $2/$p; done\n",
        place.path("builds").display()
    );
    place.write("bin/go", &script);
    format!(
        "{}:{}",
        place.path("bin").display(),
        std::env::var("PATH").unwrap()
    )
}

fn build(place: &Place, path: &str) -> Command {
    fs::create_dir_all(place.path("assets")).unwrap();
    let mut kbr = place.kbr(&["build", "--store", "store"]);
    kbr.env("PATH", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    kbr
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn two_concurrent_builds_build_once_and_leave_only_the_programs() {
    let place = Place::new();
    let path = fake_go(&place, "go1.26.8");
    let mut builds: Vec<Child> = (0..2)
        .map(|_| build(&place, &path).spawn().unwrap())
        .collect();
    for child in &mut builds {
        let mut folder = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut folder)
            .unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(
            names_in(Path::new(folder.trim_end())),
            ["etcd", "kube-apiserver", "kubectl"]
        );
    }
    assert_eq!(fs::read_to_string(place.path("builds")).unwrap(), "build\n");
    assert_eq!(names_in(&place.path("store")), ["k8s"]);
}

#[test]
fn the_error_without_a_recent_go_tells_what_to_install() {
    let place = Place::new();
    let old = fake_go(&place, "go1.24.5");
    let none = place.path("tmp").display().to_string();
    for (path, reason) in [
        (old, "`go` is too old: go1.24.5"),
        (none, "cannot run `go`: "),
    ] {
        let output = build(&place, &path).output().unwrap();
        let stderr = text(&output.stderr);
        assert!(
            stderr.starts_with(&format!("error: nothing was added to the store: {reason}")),
            "{stderr}"
        );
        assert!(stderr.ends_with(
            "help: install Go 1.26.0 or newer, from https://go.dev/dl/ or your distribution\n"
        ));
        assert_eq!(output.status.code(), Some(1));
    }
    assert_eq!(names_in(&place.path("store")), Vec::<String>::new());
}
