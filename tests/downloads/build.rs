//! `kbr envtest use --or-build` with a fake `go`, and which version the other commands use.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use kbr_envtest::modules;

use crate::archives::{archive, file_name, serve, serve_index};
use crate::place::{OFFLINE, Place, check, text};
use crate::server::Server;

/// The newest version that kbr builds.
fn own() -> String {
    modules::newest().kubernetes().to_owned()
}

/// The other version that kbr builds.
fn older() -> String {
    modules::versions().last().unwrap().to_owned()
}

/// The minor version of [`own`], and another patch of it: `1.37`, `1.37.99`.
fn minor() -> (String, String) {
    let minor = minor_of(&own());
    (minor.clone(), format!("{minor}.99"))
}

fn minor_of(version: &str) -> String {
    version.rsplit_once('.').unwrap().0.to_owned()
}

/// `1.37.2-linux-amd64`, on this machine.
fn on_host(version: &str) -> String {
    let os = std::env::consts::OS.replace("macos", "darwin");
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{version}-{os}-{arch}")
}

/// A place with a `go` that makes programs of nothing and writes `builds`.
fn place() -> Place {
    let place = Place::new();
    let script = format!(
        "#!/bin/sh\ncase $1 in env) echo go1.99.0; exit;; esac\necho build >>'{}'\n\
         while [ \"$1\" != -o ]; do shift; done\n\
         for p in server kube-apiserver kubectl; do echo '#!/bin/sh' >\"$2/$p\"; chmod +x \"$2/$p\"; done\n",
        place.path("builds").display()
    );
    fs::create_dir(place.path("bin")).unwrap();
    fs::write(place.path("bin/go"), script).unwrap();
    fs::set_permissions(place.path("bin/go"), fs::Permissions::from_mode(0o755)).unwrap();
    place
}

fn run(place: &Place, words: &str) -> Output {
    let mut kbr = place.kbr(words);
    let path = std::env::var("PATH").unwrap();
    kbr.env("PATH", format!("{}:{path}", place.path("bin").display()));
    kbr.output().unwrap()
}

fn was_built(place: &Place) -> bool {
    place.path("builds").exists()
}

#[test]
fn where_nothing_can_be_downloaded_the_same_minor_version_is_built() {
    let (minor, other_patch) = minor();
    let (own, older) = (own(), older());
    let older_minor = minor_of(&older);
    for (version, built) in [
        (own.clone(), &own),
        (minor.clone(), &own),
        (format!("~{minor}.99"), &own),
        (other_patch, &own),
        (format!("{minor}!"), &own),
        ("latest".to_owned(), &own),
        (older.clone(), &older),
        (older_minor.clone(), &older),
        (format!("{older_minor}.99"), &older),
        (format!("<{minor}"), &older),
        (format!("<={older_minor}"), &older),
    ] {
        let place = place();
        let output = run(
            &place,
            &format!("use --or-build {version} --index {OFFLINE}"),
        );
        let folder = place.path("store/k8s").join(on_host(built));
        let platform = on_host("").trim_start_matches('-').replace('-', "/");
        let stdout = format!(
            "Version: {built}\nOS/Arch: {platform}\nPath: {}\n",
            folder.display()
        );
        let stderr = check(&output, 0, &stdout);
        assert!(was_built(&place), "{stderr}");
        let expected = format!("Kubernetes {built}, which kbr builds, for `{version}`");
        assert!(stderr.contains(&expected), "{stderr}");
        assert!(
            stderr.contains(&format!("cannot get `{OFFLINE}`")),
            "{stderr}"
        );
    }
}

#[test]
fn another_minor_version_is_never_built() {
    let minors = format!("{} and {}", minor().0, minor_of(&older()));
    for version in [
        "1.20", "1.20.3", "~1.20.1", "<1.21", "<=1.20", "1.999", "1.999.0!",
    ] {
        let place = place();
        let output = run(
            &place,
            &format!("use --or-build {version} --index {OFFLINE}"),
        );
        let stderr = check(&output, 2, "");
        let expected = format!(
            "error: the store is unchanged: `{version}` cannot be downloaded, and kbr builds only Kubernetes {minors}\n    cannot get `{OFFLINE}`: "
        );
        assert!(stderr.starts_with(&expected), "{stderr}");
        let help = "\nhelp: pass one of these versions: kbr envtest use --or-build VERSION\n";
        assert!(stderr.ends_with(help), "{stderr}");
        assert!(!was_built(&place) && !place.path("store").exists());
    }
}

#[test]
fn nothing_is_built_for_another_platform() {
    let (minor, _) = minor();
    let place = place();
    let output = run(
        &place,
        &format!("use --or-build {minor} --os plan9 --index {OFFLINE}"),
    );
    let stderr = check(&output, 2, "");
    assert!(
        stderr.contains("kbr builds only for this platform"),
        "{stderr}"
    );
    assert!(!was_built(&place));
}

#[test]
fn a_version_that_is_not_in_the_index_or_may_not_be_downloaded_is_built() {
    let (minor, other_patch) = minor();
    let server = Server::new();
    serve(&server, &["1.20.0-linux-amd64"]);
    let index = server.url("/index.yaml");
    for words in [
        format!("use -p path --or-build {other_patch} --index {index}"),
        format!("use -p path --or-build -i {minor} --index {index}"),
    ] {
        let place = place();
        let folder = place.path("store/k8s").join(on_host(&own()));
        check(&run(&place, &words), 0, &folder.display().to_string());
        assert!(was_built(&place), "{words}");
    }
}

#[test]
fn what_can_be_downloaded_or_is_there_is_not_built() {
    let (minor, other_patch) = minor();
    let name = on_host(&other_patch);
    let server = Server::new();
    serve(&server, &[&name]);
    let place = place();
    let folder = place.path("store/k8s").join(&name).display().to_string();
    let words = format!("use -p path --or-build {minor} --index");
    check(
        &run(&place, &format!("{words} {}", server.url("/index.yaml"))),
        0,
        &folder,
    );
    check(&run(&place, &format!("{words} {OFFLINE}")), 0, &folder);
    assert!(!was_built(&place));
}

#[test]
fn a_wrong_archive_is_an_error_and_not_a_reason_to_build() {
    let (minor, other_patch) = minor();
    let name = on_host(&other_patch);
    let server = Server::new();
    serve_index(&server, &[(&name, &archive("this"))]);
    server.serve_file(&format!("/{}", file_name(&name)), &archive("that"));
    let place = place();
    let index = server.url("/index.yaml");
    let output = run(&place, &format!("use --or-build {minor} --index {index}"));
    let stderr = check(&output, 2, "");
    assert!(stderr.contains("SHA-512"), "{stderr}");
    assert!(!was_built(&place) && place.versions().is_empty());
}

#[test]
fn path_finds_kbrs_newest_version_or_the_newest_patch_of_its_minor_version_and_no_other() {
    let (minor, other_patch) = minor();
    let others = ["1.20.0", "1.999.0", &older()].map(on_host);
    let place = Place::with(&others.each_ref().map(String::as_str));
    let output = place.kbr("path").output().unwrap();
    let stderr = check(&output, 1, "");
    let help = format!("help: run kbr envtest build, or kbr envtest use {minor} to download it\n");
    assert!(stderr.ends_with(&help), "{stderr}");
    for version in [format!("{minor}.0"), other_patch, own()] {
        let name = on_host(&version);
        place.write_programs(&format!("store/k8s/{name}"), "");
        let output = place.kbr("path").output().unwrap();
        let folder = place.path("store/k8s").join(name);
        assert_eq!(text(&output.stdout), format!("{}\n", folder.display()));
    }
}
