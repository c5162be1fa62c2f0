//! Invariants of every sequence of commands, tested with random sequences.
//!
//! `KBR_SEQUENCES` sets the number of sequences (10), `KBR_SEED` the first seed (1).

mod support;

use std::collections::BTreeMap;

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
