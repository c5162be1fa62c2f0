//! Folders that once led to damage, one by one.

use std::fs;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::nested::{FORMS, nested};
use crate::sent::{COMMANDS, Kind, Sent};

/// The commands that write.
fn writing() -> impl Iterator<Item = &'static str> {
    COMMANDS
        .into_iter()
        .filter(|command| command.starts_with("kbr"))
}

#[test]
fn a_part_of_kbrs_folder_that_is_a_link_is_reported_and_left_alone() {
    for part in ["staged", "before", "upgrade-draft", "upgrade", "commit"] {
        for command in writing() {
            let sent = Sent::new(Kind::Current);
            sent.link(&format!(".kbr/{part}"), "../../victim/tree");
            let ran = sent.run(command, &format!("{part}: {command}"));
            assert!(!ran.success, "{command}: {}", ran.printed);
            let text = format!("`.kbr/{part}` is a link, so kbr leaves it alone");
            assert!(ran.printed.contains(&text), "{command}: {}", ran.printed);
            assert!(sent.root.join(".kbr").join(part).is_symlink());
        }
    }
}

#[test]
fn a_clone_does_not_bring_an_unfinished_command() {
    let record =
        "format = 3\nfolders = []\nemptied = []\n\n[[file]]\npath = \"README.md\"\nmode = 420\n";
    for command in writing() {
        let sent = Sent::new(Kind::Current);
        sent.write(".kbr/commit", record);
        let before = fs::read(sent.root.join("README.md")).unwrap();
        let ran = sent.run(command, command);
        assert!(!ran.success, "{command}: {}", ran.printed);
        let text = "`.kbr/commit` was not written by this kbr in this folder";
        assert!(ran.printed.contains(text), "{command}: {}", ran.printed);
        assert_eq!(fs::read(sent.root.join("README.md")).unwrap(), before);
        assert!(sent.root.join(".kbr/commit").exists());
    }
}

#[test]
fn an_aborted_upgrade_restores_no_file_from_elsewhere() {
    let sent = Sent::new(Kind::Current);
    let record = "format = 1\nfrom = \"0.2.9\"\nto = \"0.3.0\"\nunresolved = []\nindex = \"\"\n\n[[file]]\npath = \"key\"\nexisted = true\n";
    sent.write(".kbr/upgrade/record", record);
    sent.link(".kbr/upgrade/0", "../../../victim/key");
    sent.mark();
    let ran = sent.run("kbr upgrade --abort", "abort");
    assert!(
        ran.printed.contains("`.kbr/upgrade/0` is a link"),
        "{}",
        ran.printed
    );
    assert!(!sent.root.join("key").exists());
}

#[test]
fn each_path_of_a_record_stays_in_the_project() {
    for path in [
        "../victim/empty",
        "/tmp",
        ".git/hooks/a",
        "src/../../victim",
    ] {
        for name in ["commit", "undo"] {
            for (folder, emptied, file) in [(path, "a", "a"), ("a", path, "a"), ("a", "a", path)] {
                let sent = Sent::new(Kind::Current);
                let record = format!(
                    "format = 3\nfolders = [{folder:?}]\nemptied = [{emptied:?}]\n\n[[file]]\npath = {file:?}\nmode = 420\n"
                );
                sent.write(&format!(".kbr/{name}"), record);
                sent.mark();
                let ran = sent.run("kbr init --yes", path);
                let text = format!("`.kbr/{name}` is not a record of this kbr");
                assert!(ran.printed.contains(&text), "{path}: {}", ran.printed);
            }
        }
    }
}

#[test]
fn control_characters_of_a_folder_are_shown_and_not_sent_to_the_terminal() {
    let sent = Sent::new(Kind::Current);
    sent.write("PROJECT", "layout = \"\\u001b[2Jv9\"\n");
    let ran = sent.run("kbr init --yes", "escape");
    assert!(ran.printed.contains("`\\u{1b}[2Jv9`"), "{}", ran.printed);
}

#[test]
fn a_source_without_an_end_is_skipped_and_named() {
    let sent = Sent::new(Kind::Old);
    sent.link("src/endless.rs", "/dev/zero");
    let ran = sent.run("kbr upgrade --check", "endless");
    let text = "note: skipped: `src/endless.rs` cannot be used: the link `src/endless.rs` leads out of the project";
    assert!(ran.printed.contains(text), "{}", ran.printed);
    assert!(ran.printed.contains("kbr upgrade"), "{}", ran.printed);
}

#[test]
fn a_definition_and_a_project_in_go_are_read_only_from_regular_files() {
    let sent = Sent::new(Kind::Current);
    mknodat(CWD, sent.root.join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    sent.link("device", "/dev/zero");
    let sparse = fs::File::create(sent.root.join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    for (name, why) in [
        ("pipe", "it is not a regular file"),
        ("device", "it is not a regular file"),
        ("sparse", "it is larger than 16 MiB"),
        (".", "it is not a regular file"),
    ] {
        let ran = sent.run(&format!("kbr create api --from-crd {name} --yes"), name);
        let text = format!("cannot read `{name}`: {why}");
        assert!(
            !ran.success && ran.printed.contains(&text),
            "{}",
            ran.printed
        );
        for path in ["config/crd/bases/a.yaml", "PROJECT", "main.go", "Makefile"] {
            let go = Sent::new(Kind::Empty);
            assert!(go.clear(path));
            fs::rename(sent.root.join(name), go.root.join(path)).ok();
            go.run(
                "kbr import . --directory ../new --dry-run",
                &format!("{path}: {name}"),
            );
            fs::rename(go.root.join(path), sent.root.join(name)).ok();
        }
    }
    let ran = sent.run("kbr create api --from-crd - --yes </dev/zero", "no end");
    assert!(
        ran.printed.contains("larger than 16 MiB"),
        "{}",
        ran.printed
    );
}

#[test]
fn git_runs_nothing_that_the_repository_configures() {
    let repository = |configure: &str| {
        let sent = Sent::new(Kind::Old);
        let ran = sent.outside.path().join("ran");
        let script = format!(
            "git init --quiet && git add --all && git -c user.name=a -c user.email=a@b.c commit --quiet --message all && {}",
            configure.replace("RUN", &format!("touch {}", ran.join("program").display()))
        );
        let mut shell = std::process::Command::new("sh");
        let done = shell
            .args(["-ec", &script])
            .current_dir(&sent.root)
            .status();
        assert!(done.unwrap().success());
        sent
    };
    for configure in [
        "git config core.fsmonitor 'RUN #'",
        "printf '#!/bin/sh\\nRUN\\n' >.git/hooks/post-index-change; chmod +x .git/hooks/*",
    ] {
        let ran = repository(configure).run("kbr upgrade --no-check", configure);
        assert!(ran.success, "{configure}: {}", ran.printed);
    }
    let filter = "echo '* filter=x' >.git/info/attributes; git config filter.x.clean 'RUN; cat'; touch Makefile";
    let sent = repository(filter);
    let ran = sent.run("kbr upgrade --no-check", filter);
    assert!(!ran.success, "{}", ran.printed);
    assert!(
        ran.printed
            .contains("sets `filter`, which lets the repository choose programs"),
        "{}",
        ran.printed
    );
    let ran = sent.run("kbr upgrade --no-check --allow-dirty", filter);
    assert!(ran.success, "{}", ran.printed);
    assert!(
        ran.printed.contains("warning: upgrading without git"),
        "{}",
        ran.printed
    );
}

#[test]
fn a_project_of_another_user_is_used_only_if_it_is_declared_safe() {
    let sent = Sent::new(Kind::Current);
    let below = sent.root.join("src");
    // Only root may give a file away; any other user is refused root's.
    let project = sent.root.join("PROJECT");
    let other = rustix::process::Uid::from_raw(if rustix::process::geteuid().is_root() {
        65534
    } else {
        0
    });
    if rustix::fs::chown(&project, Some(other), None).is_err() {
        return;
    }
    let create = "kbr create api --group crew --version v1 --kind Mate --yes";
    let ran = sent.run(&format!("cd {} && {create}", below.display()), "owner");
    assert!(!ran.success);
    let text = "PROJECT` belongs to another user (uid 65534); nothing was written";
    assert!(ran.printed.contains(text), "{}", ran.printed);
    let help = format!(
        "`export KBR_SAFE_DIRECTORY={}`",
        sent.root.canonicalize().unwrap().display()
    );
    assert!(ran.printed.contains(&help), "{}", ran.printed);
    let ran = sent.run("kbr init --yes", "owner of a folder to init");
    assert!(ran.printed.contains(text), "{}", ran.printed);
    let ran = sent.run(
        &format!("export KBR_SAFE_DIRECTORY=/x:$PWD; {create}"),
        "safe",
    );
    assert!(ran.success, "{}", ran.printed);
    rustix::fs::chown(&project, Some(other), None).unwrap();
    let ran = sent.run(&format!("export SUDO_UID=65534; {create}"), "sudo");
    assert!(ran.success, "{}", ran.printed);
}

#[test]
fn a_source_that_is_nested_or_chained_too_deep_overflows_no_stack() {
    let paths = [
        "api/src/crew/v1/captain.rs",
        "src/controllers/captain.rs",
        "src/main.rs",
    ];
    let delete = "kbr delete api --group crew --version v1 --kind Captain --force";
    // `crates/scaffold/src/rust/parse/tests.rs` tests them all.
    for form in FORMS.into_iter().step_by(9) {
        for (kind, command) in [
            (Kind::Current, delete),
            (Kind::Old, "kbr upgrade --no-check"),
        ] {
            let sent = Sent::new(kind);
            let text = nested(form, 100_000);
            for path in paths {
                sent.write(path, &text);
            }
            sent.run(command, &format!("{form:?}: {command}"));
        }
    }
}
