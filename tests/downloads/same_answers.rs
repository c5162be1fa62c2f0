//! kbr gives the answers in `rows.rs`; `setup_envtest.rs` shows that setup-envtest does, too.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::archives::{archive, serve, sha512};
use crate::place::{OFFLINE, Place, text};
use crate::rows::{INSTALLED, PUBLISHED, different, offline, online};
use crate::server::Server;

/// A program with setup-envtest's command line.
pub enum Program {
    Kbr,
    SetupEnvtest(PathBuf),
}

impl Program {
    fn command(&self) -> Command {
        match self {
            Program::Kbr => {
                let mut kbr = Command::new(env!("CARGO_BIN_EXE_kbr"));
                kbr.arg("envtest");
                kbr
            }
            Program::SetupEnvtest(path) => Command::new(path),
        }
    }
}

/// The answer to a row: exit code and standard output with `[store]`.
pub fn answer(program: &Program, place: &Place, index: &str, row: &str) -> (i32, String) {
    let store = place.path("store").display().to_string();
    let mut command = program.command();
    place.isolate(&mut command);
    let mut words = row.split(' ').peekable();
    while let Some((name, value)) = words.peek().and_then(|word| word.split_once('='))
        && name.starts_with(|first: char| first.is_ascii_uppercase())
    {
        command.env(name, value.replace("[store]", &store));
        words.next();
    }
    let words: Vec<_> = words.collect();
    command.args(&words).args(["--bin-dir", &store]);
    for (flag, value) in [("--os", "linux"), ("--arch", "amd64"), ("--index", index)] {
        let given = words
            .iter()
            .any(|word| word.split('=').next() == Some(flag));
        let applies = flag != "--index" || ["use", "list"].contains(&words[0]);
        if !given && applies {
            command.args([flag, value]);
        }
    }
    if words[0] == "sideload" {
        fs::write(place.path("archive"), archive("sideloaded")).unwrap();
        let input = fs::File::open(place.path("archive")).unwrap();
        command.stdin(Stdio::from(input));
    }
    let output = command.output().unwrap();
    let stdout = text(&output.stdout).replace(&store, "[store]");
    (output.status.code().unwrap(), stdout)
}

/// A store with [`INSTALLED`].
pub fn store() -> Place {
    let place = Place::with(&INSTALLED);
    place.write_programs("store/good", "any");
    fs::create_dir_all(place.path("store/bad")).unwrap();
    fs::create_dir_all(place.path("store/k8s/other-1.36.8-linux-amd64")).unwrap();
    fs::write(place.path("store/k8s/1.36.7-linux-amd64"), "a file").unwrap();
    symlink("/", place.path("store/k8s/1.36.6-linux-amd64")).unwrap();
    place
}

/// A server with [`PUBLISHED`].
pub fn server() -> Server {
    let server = Server::new();
    serve(&server, &PUBLISHED);
    server
}

/// The rows to which `program` has another answer.
pub fn wrong_answers(program: &Program) -> Vec<String> {
    let server = server();
    let index = server.url("/index.yaml");
    let offline = offline::ROWS.iter().map(|row| (row, OFFLINE));
    let online = online::ROWS.iter().map(|row| (row, index.as_str()));
    let mut wrong = Vec::new();
    for ((row, code, stdout), index) in offline.chain(online) {
        let place = store();
        let found = answer(program, &place, index, row);
        let mut expected = (*code, (*stdout).to_owned());
        for name in PUBLISHED {
            let placeholder = format!("[sha512 {name}]");
            if expected.1.contains(&placeholder) {
                expected.1 = expected.1.replace(&placeholder, &sha512(&archive(name)));
            }
        }
        if found != expected {
            wrong.push(format!(
                "{row} ({index})\n  expected {expected:?}\n  found    {found:?}"
            ));
        }
    }
    wrong
}

#[test]
fn kbr_answers_as_setup_envtest_does() {
    let wrong = wrong_answers(&Program::Kbr);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn kbr_answers_otherwise_only_where_that_is_documented() {
    for ((row, _, _), code, stdout) in different::ROWS {
        let found = answer(&Program::Kbr, &store(), OFFLINE, row);
        assert_eq!(found, (*code, (*stdout).to_owned()), "{row}");
    }
}

#[test]
fn only_cleanup_removes_versions_and_only_those_that_match() {
    let place = store();
    let found = answer(
        &Program::Kbr,
        &place,
        OFFLINE,
        "cleanup --os * --arch * <=1.36.1",
    );
    assert_eq!(found.0, 0);
    let left = [
        "1.36.2-linux-riscv64",
        "1.36.2-plan9-amd64",
        "1.36.6-linux-amd64",
        "1.36.7-linux-amd64",
        "other-1.36.8-linux-amd64",
    ];
    assert_eq!(place.versions(), left);
}

#[test]
fn a_version_that_setup_envtest_has_made_read_only_is_replaced_and_removed() {
    use std::os::unix::fs::PermissionsExt;
    let server = server();
    let index = server.url("/index.yaml");
    let place = store();
    let folder = place.path("store/k8s/1.35.9-linux-amd64");
    let read_only = || fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    read_only();
    let found = answer(&Program::Kbr, &place, &index, "use --force -p path 1.35.9");
    assert_eq!(found, (0, "[store]/k8s/1.35.9-linux-amd64".to_owned()));
    place.assert_complete("1.35.9-linux-amd64");
    assert!(!place.path("store/.kbr-work").exists());
    read_only();
    let found = answer(&Program::Kbr, &place, &index, "cleanup 1.35.9");
    assert_eq!(found.0, 0);
    assert!(!folder.exists());
}

#[test]
fn an_incomplete_version_is_downloaded_again_instead_of_used() {
    let server = server();
    let index = server.url("/index.yaml");
    let place = store();
    fs::remove_file(place.path("store/k8s/1.35.9-linux-amd64/kubectl")).unwrap();
    let (_, listed) = answer(&Program::Kbr, &place, OFFLINE, "list -i 1.35");
    assert_eq!(listed, "(incomplete)  v1.35.9  linux/amd64\n");
    assert_eq!(answer(&Program::Kbr, &place, OFFLINE, "use -i 1.35").0, 2);
    let found = answer(&Program::Kbr, &place, &index, "use -p path 1.35");
    assert_eq!(found, (0, "[store]/k8s/1.35.9-linux-amd64".to_owned()));
    place.assert_complete("1.35.9-linux-amd64");
}

#[test]
fn a_path_with_quotes_and_spaces_can_be_sourced() {
    let place = Place::new();
    place.write_programs("it's a store/k8s/1.36.0-linux-amd64", "");
    let script = "eval \"$(\"$KBR\" envtest use -i -p env --store \"$1\" --os linux --arch amd64 1.36)\"; printf %s \"$KUBEBUILDER_ASSETS\"";
    let mut shell = Command::new("sh");
    place.isolate(&mut shell);
    let store = place.path("it's a store");
    let output = shell
        .env("KBR", env!("CARGO_BIN_EXE_kbr"))
        .args(["-c", script, "sh"])
        .arg(&store)
        .output()
        .unwrap();
    let expected = store.join("k8s/1.36.0-linux-amd64");
    assert_eq!(text(&output.stdout), expected.display().to_string());
}
