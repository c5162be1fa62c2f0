//! Repositories that a stranger has sent: git ends, and uses none but the one that kbr has checked.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::Command;
use std::thread;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::sent::{Kind, Sent};

/// Files that git opens without looking at what they are. `*` is the object of the commit.
pub const OPENED: [&str; 21] = [
    ".git/HEAD",
    ".git/config",
    ".git/index",
    ".git/packed-refs",
    ".git/shallow",
    ".git/commondir",
    ".git/refs/heads/main",
    ".git/info/attributes",
    ".git/info/exclude",
    ".git/info/grafts",
    ".git/info/sparse-checkout",
    ".git/objects/*",
    ".git/objects/info/alternates",
    ".git/objects/info/commit-graph",
    ".git/objects/info/commit-graphs/commit-graph-chain",
    ".git/objects/pack/multi-pack-index",
    ".gitattributes",
    ".gitignore",
    ".gitmodules",
    "src/.gitattributes",
    "nested/.git/HEAD",
];

/// A project in a repository of its own, after these commands in it.
fn repository(commands: &str) -> Sent {
    let sent = Sent::new(Kind::Old);
    let commit = "git init --quiet --initial-branch main && git add --all && git -c user.name=a -c user.email=a@b.c commit --quiet --message all";
    shell(
        &sent,
        &format!("{commit} && git config core.sparseCheckout true && {commands}"),
    );
    sent
}

fn shell(sent: &Sent, script: &str) {
    let mut shell = Command::new("sh");
    let done = shell.args(["-ec", script]).current_dir(&sent.root).status();
    assert!(done.unwrap().success(), "{script}");
}

#[test]
fn git_ends_whatever_is_in_the_place_of_a_file_that_it_reads() {
    thread::scope(|scope| {
        for path in OPENED {
            scope.spawn(move || {
                for form in ["a pipe", "a device", "larger than any memory"] {
                    ends(path, form);
                }
            });
        }
    });
}

fn ends(path: &str, form: &str) {
    let sent = repository("mkdir -p nested/.git/objects nested/.git/refs");
    let object = Command::new("git")
        .args(["rev-parse", "HEAD"])
        .current_dir(&sent.root)
        .output();
    let object = String::from_utf8(object.unwrap().stdout).unwrap();
    let path = path.replace('*', &format!("{}/{}", &object[..2], object[2..].trim_end()));
    assert!(sent.clear(&path), "{path}");
    let at = sent.root.join(&path);
    match form {
        "a pipe" => mknodat(CWD, &at, FileType::Fifo, Mode::RWXU, 0).unwrap(),
        "a device" => symlink("/dev/zero", &at).unwrap(),
        _ => File::create(&at).unwrap().set_len(1 << 40).unwrap(),
    }
    let context = format!("`{path}` is {form}");
    for command in [
        "kbr upgrade --no-check --dry-run",
        "kbr upgrade --no-check --allow-dirty",
    ] {
        sent.run(command, &context);
    }
}

#[test]
fn git_uses_no_repository_but_the_one_that_was_checked() {
    let filter = |sent: &Sent| {
        let ran = sent.outside.path().join("ran/filter");
        format!(
            "git -C .. config filter.x.clean 'touch {}; cat' && echo '* filter=x' >../.git/info/attributes && touch Makefile",
            ran.display()
        )
    };
    for hide in [
        // git goes on to the folder above.
        "mkdir .git",
        "echo >.git",
        // A bare repository is the folder itself.
        "mv ../.git/* .. && rmdir ../.git && git config --file ../config core.bare false && git config --file ../config core.worktree \"$(realpath ..)\"",
        // The configuration of another folder counts.
        "mkdir .git && cp -r ../.git/HEAD ../.git/index ../.git/refs .git && mkdir .git/objects && mv ../.git ../common && git config --file ../common/config core.worktree \"$(realpath ..)\" && echo ../../common >.git/commondir",
    ] {
        let mut sent = Sent::new(Kind::Old);
        let (root, below) = (sent.root.clone(), sent.root.join("project"));
        let moved = sent.outside.path().join("moved");
        fs::rename(&root, &moved).unwrap();
        fs::create_dir(&root).unwrap();
        fs::rename(&moved, &below).unwrap();
        sent.root = below;
        shell(
            &sent,
            "cd .. && git init --quiet && git add --all && git -c user.name=a -c user.email=a@b.c commit --quiet --message all",
        );
        shell(&sent, &format!("{} && {hide}", filter(&sent)));
        sent.run("kbr upgrade --no-check", hide);
        sent.run("kbr upgrade --no-check --allow-dirty", hide);
    }
}
