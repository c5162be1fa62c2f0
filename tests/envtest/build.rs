//! `kbr envtest build` with a fake `go`.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kbr_envtest::modules;

use crate::place::{Place, text};

/// The versions that kbr builds, the newest first.
fn versions() -> [&'static str; 2] {
    let versions: Vec<_> = modules::versions().collect();
    versions.try_into().unwrap()
}

/// A `go` that records the version of Kubernetes that it builds, and creates empty programs.
fn fake_go(place: &Place, version: &str) -> String {
    let script = format!(
        "#!/bin/sh\ncase $1 in env) echo {version}; exit;; esac\n\
         sed -n 's/.*k8s.io.kubernetes v\\([0-9.]*\\) .*/\\1/p' go.mod >> '{}'\nsleep 0.2\n\
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

fn build(place: &Place, path: &str, flags: &[&str]) -> Command {
    fs::create_dir_all(place.path("assets")).unwrap();
    let mut kbr = place.kbr(&[&["build", "--store", "store"], flags].concat());
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
        .map(|_| build(&place, &path, &[]).spawn().unwrap())
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
    assert_eq!(
        fs::read_to_string(place.path("builds")).unwrap(),
        format!("{}\n", modules::newest().kubernetes())
    );
    assert_eq!(names_in(&place.path("store")), ["k8s"]);
}

#[test]
fn the_older_version_is_built_into_its_own_folder() {
    let place = Place::new();
    let path = fake_go(&place, "go1.26.8");
    let [newest, older] = versions();
    let flag = format!("--kubernetes={older}");
    for flags in [&[][..], &["--kubernetes", older], &[flag.as_str()]] {
        let output = build(&place, &path, flags).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let folder = text(&output.stdout);
        let version = if flags.is_empty() { newest } else { older };
        assert!(
            folder.contains(&format!("store/k8s/{version}-")),
            "{folder}"
        );
        assert_eq!(
            names_in(Path::new(folder.trim_end())),
            ["etcd", "kube-apiserver", "kubectl"]
        );
    }
    let built = fs::read_to_string(place.path("builds")).unwrap();
    assert_eq!(built, format!("{newest}\n{older}\n"));
}

#[test]
fn the_error_for_another_version_lists_those_that_kbr_builds() {
    let place = Place::new();
    let path = fake_go(&place, "go1.26.8");
    let [newest, older] = versions();
    let (minor, with_v) = (older.rsplit_once('.').unwrap().0, format!("v{newest}"));
    for other in [minor, &format!("{minor}.99"), "1.35.0", &with_v, ""] {
        let output = build(&place, &path, &["--kubernetes", other])
            .output()
            .unwrap();
        let stderr = text(&output.stderr);
        assert!(
            stderr.contains(&format!("[possible values: {newest}, {older}]")),
            "{stderr}"
        );
        assert_eq!(output.status.code(), Some(2));
    }
    assert!(!place.path("store").exists() && !place.path("builds").exists());
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
        let output = build(&place, &path, &[]).output().unwrap();
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
