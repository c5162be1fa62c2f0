//! Repositories that are configured to run programs, or to use other folders.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::git::OPENED;
use crate::odd::{Choice, odd};
use crate::sent::Sent;

/// A repository that is configured to run programs or to use other folders.
pub fn repository(sent: &Sent, choice: &mut Choice) -> String {
    let git = |arguments: &str| {
        let script = format!("git -c user.name=a -c user.email=a@b.c {arguments}");
        let mut command = std::process::Command::new("sh");
        let command = command.args(["-c", &script]).current_dir(&sent.root);
        command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command.status().unwrap();
    };
    if !sent.clear(".git") {
        return "no .git".to_owned();
    }
    sent.write("tracked", "before");
    git("init --quiet && git add tracked");
    git("commit --quiet --message all");
    // git compares only files that may have changed.
    sent.write("tracked", "changed");
    let run = |name: &str| {
        format!(
            "touch {}",
            sent.outside.path().join("ran").join(name).display()
        )
    };
    let victim = sent.victim();
    let which = choice.below(12);
    match which {
        0 => git(&format!("config core.fsmonitor '{} #'", run("fsmonitor"))),
        1 => {
            sent.write(".gitattributes", "* filter=x\n");
            git(&format!("config filter.x.clean '{}; cat'", run("clean")));
        }
        2 => {
            sent.write(".gitattributes", "* filter=x\n");
            git(&format!("config filter.x.process '{}'", run("process")));
        }
        3 => hooks(sent, ".git/hooks", &run("hook")),
        4 => {
            hooks(sent, "hooks", &run("hooks-path"));
            git("config core.hooksPath hooks");
        }
        5 => git(&format!("config core.worktree {}", victim.display())),
        6 => git("config include.path /dev/zero"),
        7 => {
            git(&format!("config diff.external '{}'", run("diff")));
            git(&format!("config core.pager '{}'", run("pager")));
            git(&format!("config core.sshCommand '{}'", run("ssh")));
        }
        8 => {
            sent.clear(".git");
            sent.write(
                ".git",
                format!("gitdir: {}\n", victim.join("repository/.git").display()),
            );
        }
        _ => {
            return odd(
                sent,
                if choice.below(8) == 0 {
                    ".git"
                } else {
                    choice.of(&OPENED)
                },
                choice,
            );
        }
    }
    format!("git: {which}")
}

fn hooks(sent: &Sent, folder: &str, run: &str) {
    for hook in [
        "post-index-change",
        "fsmonitor-watchman",
        "post-checkout",
        "pre-commit",
    ] {
        let path = format!("{folder}/{hook}");
        sent.write(&path, format!("#!/bin/sh\n{run}\n"));
        fs::set_permissions(sent.root.join(path), PermissionsExt::from_mode(0o755)).unwrap();
    }
}
