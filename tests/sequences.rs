//! Invariants of every sequence of commands, tested with random sequences.
//!
//! `KBR_SEQUENCES` sets the number of sequences (10), `KBR_SEED` the first seed (1).

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use support::{shell, stderr, tree, write};

type Tree = BTreeMap<String, Vec<u8>>;

/// Pseudo-random numbers, the same for the same seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        usize::try_from(mixed % end as u64).expect("a small number")
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// Some of `all`, in their order.
    fn some_of(&mut self, all: &[&str]) -> String {
        let mut some = String::new();
        for text in all {
            if self.below(3) == 0 {
                some += " ";
                some += text;
            }
        }
        some
    }
}

fn init(random: &mut Random) -> String {
    let license = random.one_of(&["", " --license mit", " --license none"]);
    let rest = random.some_of(&[
        "--owner 'The \"Crew\"'",
        "--repo github.com/crew/fleet",
        "--project-name fleet-operator",
    ]);
    format!("kbr init --domain example.com{license}{rest}")
}

/// A kind: the project's own, a built-in or an external one.
fn kind(random: &mut Random) -> String {
    match random.below(8) {
        0 => random.one_of(&["--group apps --version v1 --kind Deployment", "--group core --version v1 --kind Pod"]).to_owned(),
        1 => random
            .one_of(&[
                "--group gateway.networking.k8s.io --version v1 --kind HTTPRoute --external-crate gateway-api@0.20 --external-type gateway_api::httproutes::HTTPRoute",
                "--group gateway.networking.k8s.io --version v1 --kind Gateway --external-crate gateway-api@0.20 --external-type gateway_api::gateways::Gateway",
                "--group cert-manager.io --version v1 --kind Certificate --external-crate cert-manager@0.5 --external-type cert_manager::v1::Certificate",
            ])
            .to_owned(),
        _ => own_kind(random),
    }
}

fn own_kind(random: &mut Random) -> String {
    let group = random.one_of(&["crew", "crew", "galley"]);
    let version = random.one_of(&["v1", "v1", "v2", "v1alpha1"]);
    let kind = random.one_of(&["Captain", "Captain", "Type", "Context"]);
    format!("--group {group} --version {version} --kind {kind}")
}

fn create(random: &mut Random) -> String {
    match random.below(6) {
        0 => {
            let kind = kind(random);
            let name = random.one_of(&[
                "",
                " --controller-name second",
                " --controller-name rollouts",
            ]);
            format!("kbr create api {kind} --resource=false --controller{name}")
        }
        1 | 2 => {
            let kind = kind(random);
            let which =
                random.one_of(&["--defaulting", "--validation", "--defaulting --validation"]);
            let calls = random.some_of(&[
                "--timeout 3",
                "--failure-policy ignore",
                "--namespace-selector 'team in (a,b)'",
                "--object-selector '!old'",
                "--match-condition 'a=true'",
            ]);
            format!("kbr create webhook {kind} {which}{calls}")
        }
        3 => {
            let kind = own_kind(random);
            let which = random.some_of(&["--defaulting"]);
            format!("kbr create webhook {kind} --conversion{which}")
        }
        _ => {
            let kind = own_kind(random);
            let controller = random.one_of(&["--controller", "--controller=false"]);
            let names = random.some_of(&["--short-name cap", "--namespaced=false"]);
            format!("kbr create api {kind} --resource {controller}{names}")
        }
    }
}

/// A folder in which the commands of one sequence have run; its name is the project's name.
struct Project {
    folder: tempfile::TempDir,
    /// The commands that succeeded.
    commands: Vec<String>,
}

impl Project {
    fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("captains")).expect("a folder");
        Project {
            folder,
            commands: Vec::new(),
        }
    }

    /// A new folder with nothing but PROJECT.
    fn with(project: &[u8]) -> Self {
        let new = Project::empty();
        write(&new.root().join("PROJECT"), project);
        new
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("captains")
    }

    fn tree(&self) -> Tree {
        tree(&self.root())
    }

    /// Runs a command, which succeeds or changes nothing.
    fn try_run(&mut self, command: &str) {
        let before = self.tree();
        let output = shell(&self.root(), command);
        if output.status.success() {
            self.commands.push(command.to_owned());
        } else {
            assert_eq!(
                output.status.code(),
                Some(1),
                "`{command}`: {}",
                stderr(&output, &self.root())
            );
            assert!(
                self.tree() == before,
                "`{command}` failed and changed something"
            );
        }
    }

    fn run(&self, command: &str) {
        let output = shell(&self.root(), command);
        assert!(
            output.status.success(),
            "`{command}`: {}",
            stderr(&output, &self.root())
        );
    }

    /// Runs all commands again.
    fn repeat(&self, commands: &[String]) {
        for command in commands {
            self.run(command);
        }
    }
}

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

#[track_caller]
fn assert_same(found: &Tree, expected: &Tree, what: &str, project: &Project) {
    let paths = found.keys().chain(expected.keys());
    let mut differing: Vec<_> = paths
        .filter(|path| found.get(*path) != expected.get(*path))
        .collect();
    differing.sort_unstable();
    differing.dedup();
    let commands = project.commands.join("\n");
    assert!(
        differing.is_empty(),
        "{what}: {differing:?} differ after\n{commands}"
    );
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

/// The tables of PROJECT, each with its name, in any order.
fn tables(project: &[u8]) -> Vec<(String, toml::Table)> {
    let text = std::str::from_utf8(project).expect("text");
    let parsed: toml::Table = text.parse().expect("TOML");
    let arrays = ["api", "controller", "webhook"].map(|name| (name, parsed.get(name)));
    let mut tables = Vec::new();
    for (name, array) in arrays {
        for table in array.and_then(toml::Value::as_array).into_iter().flatten() {
            let table = table.as_table().expect("a table").clone();
            tables.push((name.to_owned(), table));
        }
    }
    tables
}

fn word<'a>(table: &'a toml::Table, key: &str) -> &'a str {
    table.get(key).and_then(toml::Value::as_str).unwrap_or("")
}

/// The flags that select the kind of a table.
fn kind_of(table: &toml::Table) -> String {
    let group = match word(table, "full_group") {
        "" => "core",
        group => group,
    };
    let (version, kind) = (word(table, "version"), word(table, "kind"));
    format!("--group {group} --domain '' --version {version} --kind {kind}")
}

/// The flags for the webhooks of a table.
fn webhooks_of(table: &toml::Table) -> String {
    let admission = ["defaulting", "validation"].into_iter();
    let admission = admission.filter(|name| table.contains_key(*name));
    let flags = admission.fold(String::new(), |flags, name| flags + " --" + name);
    let spokes = table.get("spokes").and_then(toml::Value::as_array);
    let spokes = spokes.into_iter().flatten().filter_map(toml::Value::as_str);
    let spokes: Vec<&str> = spokes.collect();
    if spokes.is_empty() {
        return flags;
    }
    format!("{flags} --conversion --spoke {}", spokes.join(","))
}

/// The command that deletes a table.
fn delete_of((name, table): &(String, toml::Table)) -> String {
    match name.as_str() {
        "api" => format!("kbr delete api {}", kind_of(table)),
        "controller" => format!(
            "kbr delete controller --controller-name {}",
            word(table, "name")
        ),
        _ => format!(
            "kbr delete webhook {}{}",
            kind_of(table),
            webhooks_of(table)
        ),
    }
}

/// The command that has created a table.
fn create_of((name, table): &(String, toml::Table)) -> String {
    let kind = kind_of(table);
    match name.as_str() {
        "api" => format!("kbr create api {kind} --resource --controller=false"),
        "controller" => {
            let name = word(table, "name");
            let of = external_of(table);
            format!(
                "kbr create api {kind} --resource=false --controller --controller-name {name}{of}"
            )
        }
        _ => format!(
            "kbr create webhook {kind}{}{}",
            webhooks_of(table),
            external_of(table)
        ),
    }
}

fn external_of(table: &toml::Table) -> String {
    match word(table, "external_crate") {
        "" => String::new(),
        name => format!(
            " --external-crate {name} --external-type {}",
            word(table, "type")
        ),
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
