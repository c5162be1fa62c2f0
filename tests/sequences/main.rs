//! Invariants of every sequence of commands, tested with random sequences.
//!
//! `KBR_SEQUENCES` sets the number of sequences (10), `KBR_SEED` the first seed (1).

mod project;
mod random;
#[path = "../support/mod.rs"]
mod support;
mod tables;

use std::path::Path;

use project::{Project, Tree, assert_same};
use random::{Random, create, init};
use support::{shell, stderr, write};
use tables::{create_of, delete_of, tables};

fn sequence(random: &mut Random) -> Project {
    let mut project = Project::empty();
    let init = init(random);
    project.run(&init);
    project.commands.push(init);
    for _ in 0..8 {
        let command = create(random);
        project.try_run(&command);
    }
    project
}

fn each_sequence(check: impl Fn(&Project, &mut Random)) {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let first = number("KBR_SEED", 1);
    for seed in first..first + number("KBR_SEQUENCES", 10) {
        let mut random = Random(seed);
        let project = sequence(&mut random);
        println!("seed {seed}: {} commands", project.commands.len());
        check(&project, &mut random);
    }
}

/// Edits some files as a user does: other line endings, more lines.
fn edit(project: &Project, random: &mut Random) {
    for (path, text) in project.tree() {
        let name = Path::new(&path);
        let is = |extension: &str| name.extension().is_some_and(|it| it == extension);
        let skipped = ["PROJECT", "Cargo.lock"].contains(&path.as_str());
        if skipped || name.starts_with("third_party") || is("json") {
            continue;
        }
        let text = String::from_utf8(text).expect("text");
        let sign = if is("rs") { "//" } else { "#" };
        let edited = match random.below(8) {
            0 => text.replace('\n', "\r\n"),
            1 => format!("{text}{sign} mine\n"),
            2 => text.trim_end().to_owned(),
            // Above a marker for blocks, a blank line of the user's and one of kbr's look the same.
            3 if !path.contains("webhooks/") => {
                let lines = text.split_inclusive('\n').map(|line| {
                    let indent = &line[..line.len() - line.trim_start().len()];
                    if line.contains("+kbr:scaffold:") {
                        format!("{indent}{sign} mine\n{line}")
                    } else {
                        line.to_owned()
                    }
                });
                lines.collect()
            }
            _ => continue,
        };
        write(&project.root().join(path), edited.as_bytes());
    }
}

/// Deletes the tables of PROJECT that `before` does not have, in the order in which that is possible.
fn delete_new(project: &Project, before: &[u8]) {
    let known = tables(before);
    loop {
        let mut new = tables(&project.tree()["PROJECT"]);
        new.retain(|table| !known.contains(table));
        let Some(last) = new.last() else {
            return;
        };
        let delete = |table| shell(&project.root(), &delete_of(table));
        if !new.iter().any(|table| delete(table).status.success()) {
            let output = delete(last);
            panic!(
                "`{}`: {}",
                delete_of(last),
                stderr(&output, &project.root())
            );
        }
    }
}

/// Whether the file is owned by `init`, and is neither a choice nor a file of the user.
fn is_owned_by_init(path: &str, init: &Tree) -> bool {
    let users = ["README.md", "LICENSE", ".gitignore", "PROJECT"];
    let generated = [
        "config/rbac/role.yaml",
        "config/namespaced/cluster_role.yaml",
        "config/namespaced/role/role.yaml",
    ];
    init.contains_key(path) && !users.contains(&path) && !generated.contains(&path)
}

#[test]
fn project_describes_every_file_and_deleted_files_come_back() {
    each_sequence(|project, random| {
        let whole = project.tree();

        // All commands at once: each file comes from PROJECT, not from earlier commands.
        let fresh = Project::with(&whole["PROJECT"]);
        fresh.repeat(&project.commands);
        assert_same(&fresh.tree(), &whole, "from PROJECT alone", project);

        for path in whole.keys().filter(|path| *path != "PROJECT") {
            if random.below(2) == 0 {
                std::fs::remove_file(project.root().join(path)).expect("a file");
            }
        }
        project.repeat(&project.commands);
        assert_same(&project.tree(), &whole, "after files were deleted", project);

        project.run("kbr init --force");
        assert_same(&project.tree(), &whole, "after `init --force`", project);
    });
}

#[test]
fn init_with_force_overwrites_only_its_own_files() {
    each_sequence(|project, random| {
        let whole = project.tree();
        let fresh = Project::empty();
        fresh.run(&project.commands[0]);
        let init = fresh.tree();

        let mut expected = whole.clone();
        for (path, text) in &whole {
            if path == "PROJECT" || random.below(2) == 0 {
                continue;
            }
            let edited = [text.as_slice(), b"\n"].concat();
            write(&project.root().join(path), &edited);
            let is_external = String::from_utf8_lossy(&whole["PROJECT"]).contains("\ndependency");
            let is_users_lock = path == "Cargo.lock" && is_external;
            if !is_owned_by_init(path, &init) || is_users_lock {
                expected.insert(path.clone(), edited);
            }
        }
        project.run("kbr init --force");
        assert_same(&project.tree(), &expected, "after `init --force`", project);
    });
}

#[test]
fn repeating_all_commands_changes_nothing() {
    each_sequence(|project, _| {
        let whole = project.tree();
        project.repeat(&project.commands);
        assert_same(
            &project.tree(),
            &whole,
            "after the same commands again",
            project,
        );
    });
}

#[test]
fn creating_and_deleting_leaves_every_byte_as_it_was() {
    each_sequence(|project, random| {
        for edited in [false, true] {
            if edited {
                edit(project, random);
            }
            for _ in 0..4 {
                let before = project.tree();
                let command = create(random);
                if !shell(&project.root(), &command).status.success() {
                    continue;
                }
                delete_new(project, &before["PROJECT"]);
                let what = format!("after `{command}` and its deletion (edited: {edited})");
                assert_same(&project.tree(), &before, &what, project);
            }
        }
    });
}

#[test]
fn everything_can_be_deleted_in_any_order() {
    each_sequence(|project, random| {
        let fresh = Project::empty();
        fresh.run(&project.commands[0]);
        let mut left = tables(&project.tree()["PROJECT"]);
        let mut half = left.len() / 2;
        while !left.is_empty() {
            // Some are needed by others: the first that can be deleted, from a random one on.
            let at = random.below(left.len());
            left.rotate_left(at);
            let before = project.tree();
            let deleted = left.iter().any(|table| {
                let is_deleted = shell(&project.root(), &delete_of(table)).status.success();
                assert!(
                    is_deleted || project.tree() == before,
                    "`{}`",
                    delete_of(table)
                );
                is_deleted
            });
            assert!(deleted, "none of {left:?} can be deleted");
            left = tables(&project.tree()["PROJECT"]);
            if left.len() <= half {
                half = 0;
                let whole = project.tree();
                let fresh = Project::with(&whole["PROJECT"]);
                fresh.run(&project.commands[0]);
                for table in &left {
                    fresh.run(&create_of(table));
                }
                assert_same(
                    &whole,
                    &fresh.tree(),
                    "from what is left of PROJECT",
                    project,
                );
            }
        }
        assert_same(
            &project.tree(),
            &fresh.tree(),
            "after everything was deleted",
            project,
        );
    });
}
