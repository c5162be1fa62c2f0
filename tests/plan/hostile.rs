//! Files of clones that a stranger made: through the command, as its user meets them.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use std::{fs, iter};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::cluster::{Cluster, confinement};
use crate::pty::Pty;
use crate::release::{Release, captains};
use crate::support::{KBR, shell};

/// Clears the screen, rings the bell, begins a line of its own, and changes the direction of text.
const ESCAPES: &str = "\u{1b}[2J\u{7}\nerror: forged\u{202e}";

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn of_json(json: &str) -> Vec<u8> {
    packed(&format!("kbr clone 1\n{json}"))
}

/// A clone with a `ConfigMap` of this name in this namespace.
fn with(namespace: &str, name: &str) -> Vec<u8> {
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": namespace, "name": name } });
    let kind = json!({ "group": "", "version": "v1", "plural": "configmaps", "kind": "ConfigMap", "namespaced": true, "objects": [map] });
    let clone = json!({ "kubernetes": "v1.37.0", "secrets": false, "kinds": [kind], "unread": [] });
    of_json(&clone.to_string())
}

fn plan(folder: &Path, file: &str) -> Output {
    let mut kbr = Command::new(KBR);
    kbr.args([
        "plan",
        "--clone",
        file,
        "--service-account=a/b",
        "--",
        "true",
    ]);
    kbr.current_dir(folder).stdin(Stdio::null());
    kbr.output().unwrap()
}

#[test]
fn a_hostile_clone_is_an_error_that_says_why_and_nothing_of_it_is_written_or_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
    let deep = json!({ "kubernetes": "v1.37.0", "secrets": false, "kinds": [], "unread": ["@"] });
    let deep = deep.to_string().replace("\"@\"", &nested(100_000));
    let whole = with("navy", "a");
    let cases: [(&str, Vec<u8>, &str); 12] = [
        ("empty", Vec::new(), "it is not the file of a clone"),
        (
            "plain",
            b"kbr clone 1\n{}".to_vec(),
            "it is not the file of a clone",
        ),
        (
            "version",
            packed("kbr clone 2\n{}"),
            "a clone of version `2`, and this kbr reads version 1",
        ),
        (
            "escaped",
            packed(&format!("kbr clone {ESCAPES}\n{{}}")),
            "a clone of version `\\u{1b}[2J\\u{7}`",
        ),
        (
            "truncated",
            whole[..whole.len() / 2].to_vec(),
            "the clone is damaged",
        ),
        (
            "longer",
            [&whole[..], b"x"].concat(),
            "something follows the clone",
        ),
        ("deep", of_json(&deep), "the clone is damaged"),
        (
            "field",
            of_json(&json!({ ESCAPES: 1 }).to_string()),
            "the clone is damaged",
        ),
        (
            "parent",
            with("navy", "../../registry/secrets/a"),
            "is not a name",
        ),
        ("namespace", with("..", "a"), "`..` is not a namespace"),
        (
            "name",
            with("navy", ESCAPES),
            "`\\u{1b}[2J\\u{7}\\nerror: forged\\u{202e}` is not a name",
        ),
        ("long", with("navy", &"a".repeat(1 << 20)), "is not a name"),
    ];
    for (name, content, _) in &cases {
        fs::write(folder.join(name), content).unwrap();
    }
    fs::write(folder.join("whole"), &whole).unwrap();
    symlink("whole", folder.join("link")).unwrap();
    let pipe = Command::new("mkfifo").arg(folder.join("pipe")).status();
    assert!(pipe.unwrap().success());
    let before = paths(folder);
    let others = [
        ("link", "cannot read `link`"),
        ("pipe", "it is not a regular file"),
        (".", "it is not a regular file"),
        ("/dev/zero", "it is not a regular file"),
        ("none", "cannot read `none`"),
    ];
    let cases = cases.iter().map(|(name, _, expected)| (*name, *expected));
    for (name, expected) in cases.chain(others) {
        let output = plan(folder, name);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}: {errors}");
        assert!(errors.starts_with("error: "), "{name}: {errors}");
        assert!(errors.contains(expected), "{name}: {errors}");
        assert!(errors.len() < 1000, "{name}: {errors}");
        assert_shown(&errors);
        assert_eq!(output.stdout, b"", "{name}");
    }
    assert_eq!(paths(folder), before);
}

#[test]
#[ignore = "`make test-release` runs it: it unpacks half a gigabyte"]
fn a_small_file_that_unpacks_to_a_huge_one_is_read_up_to_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let script = "{ printf 'kbr clone 1\\n{\"kubernetes\":\"'; head -c 540000000 /dev/zero | tr '\\0' 0; } | gzip -1 > bomb";
    assert!(shell(folder.path(), script).status.success());
    let output = plan(folder.path(), "bomb");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("the clone is damaged: larger than 536870912 bytes"),
        "{errors}"
    );
    assert_eq!(paths(folder.path()), ["bomb"]);
}

fn paths(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut all: Vec<String> = entries
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    all.sort();
    all
}

/// Nothing moves the cursor, or begins a line that kbr did not begin.
fn assert_shown(text: &str) {
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    assert!(
        !text.lines().any(|it| it.starts_with("error: forged")),
        "{text}"
    );
}

#[test]
fn values_of_a_clone_reach_a_terminal_only_as_escapes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hostile.clone");
    let mut clone = cloned(&file);
    let kinds = clone["kinds"].as_array_mut().unwrap().iter_mut();
    let objects = kinds.flat_map(|it| it["objects"].as_array_mut().unwrap());
    for captain in objects.filter(|it| it["kind"] == "Captain") {
        captain["spec"]["rank"] = json!(ESCAPES);
        captain["metadata"]["annotations"] = json!({ "crew.example.com/note": ESCAPES });
    }
    clone["unread"] = json!([ESCAPES]);
    fs::write(&file, of_json(&clone.to_string())).unwrap();

    let [today, next] = ["1", "2"].map(Release::of_captains);
    let pty = Pty::open();
    let mut kbr = Command::new(KBR);
    kbr.args(["plan", "--idle=2", "--details", "--clone=hostile.clone"])
        .args(confinement());
    kbr.arg("--install").arg(&next.install);
    kbr.arg("--baseline").arg(captains());
    kbr.arg("--baseline-install").arg(&today.install);
    kbr.arg("--").arg(captains());
    kbr.current_dir(folder.path()).stdin(Stdio::null());
    kbr.env("TERM", "xterm").env_remove("NO_COLOR");
    let mut running = kbr.stdout(pty.end()).stderr(pty.end()).spawn().unwrap();
    // Its ends of the terminal are open no longer than kbr's.
    drop(kbr);
    let output = pty.output();
    let pieces = iter::from_fn(|| output.recv_timeout(Duration::from_secs(180)).ok());
    let shown = String::from_utf8(pieces.flatten().collect()).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(3), "{shown}");
    // Lines with a sign have a color, and nothing else is sent to the terminal.
    assert!(shown.contains("\u{1b}[33m  ~ "), "{shown:?}");
    let plain = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"]
        .iter()
        .fold(shown.clone(), |shown, color| shown.replace(color, ""));
    assert_shown(&plain);
    // The release drops the field, so the report has its value.
    let escaped = "spec.rank   \\u{1b}[2J\\u{7}\\nerror: forged\\u{202e} →";
    assert!(shown.contains(escaped), "{shown}");
}

/// What is in a clone of the cluster.
fn cloned(file: &Path) -> Value {
    let cluster = Cluster::shared();
    let mut kbr = Command::new(KBR);
    kbr.arg("clone").arg("--output").arg(file);
    kbr.arg("--install")
        .arg(&Release::of_captains("1").install)
        .env("KUBECONFIG", cluster.folder.path().join("kubeconfig"));
    let output = kbr.stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let mut text = String::new();
    let mut file = GzDecoder::new(fs::File::open(file).unwrap());
    file.read_to_string(&mut text).unwrap();
    serde_json::from_str(text.split_once('\n').unwrap().1).unwrap()
}
