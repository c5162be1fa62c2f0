//! Which programs a command runs in a folder that a stranger has sent: what SECURITY.md says of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::sent::{COMMANDS, Kind, READING, Sent};

/// Programs of a user, which may run what the folder names: cargo and rustc by `rust-toolchain.toml`.
const PROGRAMS: [&str; 9] = [
    "cargo",
    "rustc",
    "rustup",
    "git",
    "go",
    "kubectl",
    "sh",
    "etcd",
    "kube-apiserver",
];

/// The programs that `command` runs.
fn programs(sent: &Sent, command: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let (bin, ran) = (folder.path().join("bin"), folder.path().join("ran"));
    fs::create_dir(&bin).unwrap();
    fs::create_dir(&ran).unwrap();
    for name in PROGRAMS {
        let script = format!("#!/bin/sh\n: >{}\nexit 1\n", ran.join(name).display());
        fs::write(bin.join(name), script).unwrap();
        fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    sent.run(
        &format!(
            "export PATH={0}:$PATH KUBEBUILDER_ASSETS={0}; {command}",
            bin.display()
        ),
        command,
    );
    let ran = fs::read_dir(ran).unwrap().map(|it| it.unwrap().file_name());
    let mut ran: Vec<_> = ran.map(|it| it.into_string().unwrap()).collect();
    ran.sort();
    ran
}

#[test]
fn the_commands_for_any_folder_run_nothing_but_git() {
    for command in COMMANDS.into_iter().chain(READING) {
        let sent = Sent::new(Kind::Old);
        fs::create_dir(sent.root.join(".git")).unwrap();
        let ran = programs(&sent, command);
        assert!(ran.iter().all(|name| name == "git"), "{command}: {ran:?}");
        let may_run = command.starts_with("kbr upgrade");
        assert!(may_run || ran.is_empty(), "{command}: {ran:?}");
    }
}

#[test]
fn the_commands_that_run_programs_are_those_that_security_md_names() {
    let security = concat!(env!("CARGO_MANIFEST_DIR"), "/SECURITY.md");
    let security = fs::read_to_string(security).unwrap();
    let (_, not_promised) = security.split_once("Not promised:").unwrap();
    let (not_promised, _) = not_promised.split_once("\n## ").unwrap();
    for (command, program) in [
        ("manifests", "cargo"),
        ("manifests finalizers", "cargo"),
        ("manifests compare main", "cargo"),
        ("chart", "cargo"),
        ("bundle", "cargo"),
        ("import --check", "kubectl"),
        ("upgrade", "cargo"),
    ] {
        let kind = if command == "upgrade" {
            Kind::Old
        } else {
            Kind::Current
        };
        let sent = Sent::new(kind);
        let ran = programs(&sent, &format!("kbr {command}"));
        assert!(ran.contains(&program.to_owned()), "{command}: {ran:?}");
        let named = command.trim_end_matches(" main");
        assert!(
            not_promised.contains(&format!("`{named}"))
                || not_promised.contains(&format!("`kbr {named}")),
            "SECURITY.md does not name `kbr {named}`"
        );
    }
}
