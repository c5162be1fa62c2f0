//! `kbr upgrade` as a user runs it: reports, conflicts in git, and the ways back.

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use support::{repository, shell, stderr, stdout, tree};

/// A project of an earlier release in a git repository, with a kind and its controller.
struct Project {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    fn new() -> Self {
        Project::of("0.1.0")
    }

    fn of(release: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("captains");
        fs::create_dir(&root).expect("a folder");
        let recorded = format!("tests/releases/{release}/a_first_kind/PROJECT");
        let recorded = repository().join(recorded);
        fs::copy(recorded, root.join("PROJECT")).expect("a copy");
        let project = Project {
            _folder: folder,
            root,
        };
        project.runs(&format!(
            "kbr faults-render {release} . && git init --quiet ."
        ));
        project.commits();
        project
    }

    fn output(&self, script: &str) -> Output {
        shell(&self.root, script)
    }

    /// Runs a script that succeeds; returns what it prints.
    fn runs(&self, script: &str) -> String {
        let output = self.output(script);
        let printed = stdout(&output, &self.root) + &stderr(&output, &self.root);
        assert!(output.status.success(), "{script}: {printed}");
        printed
    }

    /// Runs a script that fails; returns what it prints.
    fn fails(&self, script: &str) -> String {
        let output = self.output(script);
        let printed = stdout(&output, &self.root) + &stderr(&output, &self.root);
        assert!(!output.status.success(), "{script}: {printed}");
        printed
    }

    fn commits(&self) {
        self.runs(
            "git add --all && git -c user.name=a -c user.email=a@b.c commit --quiet --message all",
        );
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).expect("a file")
    }

    /// Replaces `from`, which occurs once, and commits that.
    fn edits(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert_eq!(text.matches(from).count(), 1, "`{from}` is in {path} once");
        fs::write(self.root.join(path), text.replace(from, to)).expect("a writable file");
        self.commits();
    }

    /// Both changed the same line.
    fn conflicts(&self) {
        self.edits(
            "src/main.rs",
            "async fn main() -> anyhow::Result<()>",
            "async fn main() -> Mine",
        );
    }
}

/// Every file but those of git and cargo.
fn files(root: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut files = tree(root);
    files.retain(|path, _| !path.starts_with(".git/"));
    files
}

#[test]
fn a_project_without_edits_becomes_a_fresh_one_and_is_up_to_date() {
    let project = Project::new();
    let report = project.runs("kbr upgrade --no-check");
    assert!(report.contains("remove manager (101 files)"), "{report}");
    assert!(
        report.contains("create third_party/kbr-manager (kbr-manager "),
        "{report}"
    );
    is_fresh(&project);
    let project = Project::of("0.2.0");
    project.runs("kbr upgrade --no-check");
    is_fresh(&project);
}

/// The project is what this release creates, and up to date.
fn is_fresh(project: &Project) {
    let fresh = tempfile::tempdir().expect("a folder");
    let fresh = fresh.path().join("captains");
    fs::create_dir(&fresh).expect("a folder");
    let create = "kbr init --domain example.com && kbr create api --group crew --version v1 --kind Captain --resource --controller";
    assert!(shell(&fresh, create).status.success());
    assert_eq!(files(&project.root), files(&fresh));
    let report =
        project.runs("kbr upgrade --check && kbr upgrade --allow-dirty && kbr upgrade --dry-run");
    let nothing = "nothing to do: the project already uses kbr 0.3.0\n";
    assert_eq!(report, nothing.repeat(3));
}

#[test]
fn the_edits_of_a_project_of_0_2_0_are_kept() {
    let project = Project::of("0.2.0");
    project.runs("kbr upgrade --no-check --dry-run");
    let edits = [
        ("src/main.rs", "// mine\n"),
        ("Makefile", "\nmine:\n\techo mine\n"),
        ("config/manager/manager.yaml", "# mine\n"),
    ];
    for (path, text) in edits {
        fs::write(project.root.join(path), project.read(path) + text).expect("a writable file");
    }
    project.commits();
    let report = project.runs("kbr upgrade --no-check");
    for (path, text) in edits {
        assert!(project.read(path).ends_with(text), "{path}: {report}");
    }
    let nothing = project.runs("kbr upgrade --check --allow-dirty");
    assert_eq!(
        nothing,
        "nothing to do: the project already uses kbr 0.3.0\n"
    );
}

#[test]
fn the_users_tests_use_the_crate_that_the_module_testing_became() {
    for (release, source) in [
        ("0.1.0", "path = \"manager\""),
        ("0.2.0", "workspace = true"),
    ] {
        let project = Project::of(release);
        let edit = |path: &str, from: &str, to: &str| {
            let text = project.read(path);
            assert!(text.contains(from), "{path}: {text}");
            fs::write(project.root.join(path), text.replace(from, to)).expect("a writable file");
        };
        let dependency = format!("manager = {{ {source}, features = [\"testing\"] }}\n");
        edit(
            "Cargo.toml",
            &dependency,
            &format!("{dependency}tempfile = \"3\"\n"),
        );
        let import = "use manager::testing::{FakeApi, is_ready};\n";
        let edited =
            "use manager::{\n        Key,\n        testing::{FakeApi, Run, is_ready},\n    };\n";
        edit("src/controllers/captain.rs", import, edited);
        let own = "use std::io;\n\nuse kube::Api;\nuse manager::testing::Cluster;\n\n// manager::testing::eventually\n";
        fs::write(project.root.join("tests/integration/own.rs"), own).expect("a writable folder");
        project.commits();

        let report = project.runs("kbr upgrade --no-check");
        assert!(
            report.contains("create third_party/kbr-testing (kbr-testing "),
            "{report}"
        );
        let manifest = project.read("Cargo.toml");
        let dependencies =
            "[dev-dependencies]\nkbr-testing = { workspace = true }\ntempfile = \"3\"\n";
        assert!(manifest.contains(dependencies), "{release}: {manifest}");
        let controller = project.read("src/controllers/captain.rs");
        let imports = "    use kbr_testing::{FakeApi, Run, is_ready};\n    use manager::Key;\n";
        assert!(controller.contains(imports), "{release}: {controller}");
        let own = "use std::io;\n\nuse kbr_testing::Cluster;\nuse kube::Api;\n\n// kbr_testing::eventually\n";
        assert_eq!(project.read("tests/integration/own.rs"), own);
        let left = project.output("git grep -n 'manager::testing' -- src api tests");
        assert_eq!(stdout(&left, &project.root), "", "{release}");
        let nothing = project.runs("kbr upgrade --check --allow-dirty");
        assert_eq!(
            nothing,
            "nothing to do: the project already uses kbr 0.3.0\n"
        );
    }
}

#[test]
fn other_commands_name_the_upgrade_in_a_project_of_another_release() {
    let project = Project::new();
    let before = files(&project.root);
    let kind = "--group crew --version v1 --kind Captain";
    for command in [
        "init".to_owned(),
        "create api --group crew --version v1 --kind Mate --yes".to_owned(),
        format!("create webhook {kind} --defaulting"),
        format!("delete api {kind}"),
    ] {
        let error = project.fails(&format!("kbr {command}"));
        let text = "error: PROJECT says kbr 0.1.0, but this is kbr 0.3.0; nothing was written";
        assert!(error.contains(text), "{command}: {error}");
        assert!(
            error.contains("help: run `kbr upgrade`; `kbr upgrade --dry-run` shows"),
            "{command}: {error}"
        );
    }
    assert_eq!(files(&project.root), before);
}

#[test]
fn what_is_not_committed_is_not_mixed_with_the_upgrade() {
    let project = Project::new();
    fs::write(project.root.join("notes"), "mine").expect("a writable folder");
    let before = files(&project.root);
    let error = project.fails("kbr upgrade --no-check");
    assert!(
        error.contains("the project has uncommitted changes; nothing was written\n    ?? notes\n"),
        "{error}"
    );
    assert_eq!(files(&project.root), before);
    project.runs("kbr upgrade --no-check --allow-dirty");
    assert_eq!(project.read("notes"), "mine");
}

#[test]
fn a_preview_writes_nothing_and_a_check_fails() {
    let project = Project::new();
    project.conflicts();
    let before = files(&project.root);
    let report = project.runs("kbr upgrade --dry-run");
    assert!(report.contains("conflict src/main.rs\n"), "{report}");
    assert!(
        report.contains("--- a/Makefile\n+++ b/Makefile\n"),
        "{report}"
    );
    let report = project.fails("kbr upgrade --check");
    assert!(
        report.contains("conflicts: 1\nhelp: run `kbr upgrade`"),
        "{report}"
    );
    let json = project.fails("kbr upgrade --check --output json");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        (&json["from"], &json["to"]),
        (&"0.1.0".into(), &"0.3.0".into())
    );
    let changes = json["changes"].as_array().expect("a list");
    let main = serde_json::json!({"path": "src/main.rs", "verb": "conflict"});
    assert!(changes.contains(&main), "{json}");
    assert_eq!(files(&project.root), before);
}

#[test]
fn conflicts_are_those_of_a_merge_until_they_are_resolved() {
    let project = Project::new();
    project.conflicts();
    let report = project.fails("kbr upgrade --no-check");
    assert!(
        report.contains("git mergetool`:\n  src/main.rs\nthen:\n  kbr upgrade --continue"),
        "{report}"
    );
    let main = project.read("src/main.rs");
    assert!(
        main.contains("<<<<<<< yours\nasync fn main() -> Mine {\n||||||| kbr 0.1.0\n"),
        "{main}"
    );
    assert!(
        main.contains("\n=======\nasync fn main() -> ExitCode {\n>>>>>>> kbr 0.3.0\n"),
        "{main}"
    );
    let status = project.runs("git status --short | grep ^U");
    assert_eq!(status, "UU src/main.rs\n");
    let base = project.runs("git show :1:src/main.rs | grep 'async fn main'");
    assert_eq!(base, "async fn main() -> anyhow::Result<()> {\n");

    // Nothing else writes until then.
    let before = files(&project.root);
    for command in [
        "create api --group crew --version v1 --kind Mate --yes",
        "upgrade --allow-dirty",
        "upgrade --check",
    ] {
        let error = project.fails(&format!("kbr {command}"));
        assert!(
            error
                .contains("the upgrade from kbr 0.1.0 to 0.3.0 is unfinished; nothing was written"),
            "{command}: {error}"
        );
        assert!(
            error.contains("help: resolve the conflicts in `src/main.rs`"),
            "{command}: {error}"
        );
    }
    let error = project.fails("kbr upgrade --continue --no-check");
    assert!(error.contains("src/main.rs:24: <<<<<<< yours\n"), "{error}");
    assert_eq!(files(&project.root), before);

    let resolved = "sed -i -e '/^<<<<<<< /,/^=======$/d' -e '/^>>>>>>> /d' src/main.rs";
    project.runs(resolved);
    let report = project.runs("kbr upgrade --continue --no-check");
    assert_eq!(report, "upgraded the project to kbr 0.3.0\n");
    assert_eq!(project.runs("git status --short | grep ^U || true"), "");
    assert!(!project.root.join(".kbr").exists());
    let error = project.fails("kbr upgrade --continue");
    assert!(error.contains("no unfinished upgrade found"), "{error}");
}

#[test]
fn what_fails_after_an_upgrade_does_not_say_that_nothing_was_written() {
    let project = Project::new();
    let allow = "\n[manifests]\nallow = [\"no-such-rule\"]\n";
    fs::write(
        project.root.join("PROJECT"),
        project.read("PROJECT") + allow,
    )
    .expect("a file");
    project.commits();
    let cargo = "#!/bin/sh\n[ $1 != metadata ] || echo '{\"packages\": []}'\n";
    support::write(&project.root.join("../bin/cargo"), cargo.as_bytes());
    let report = project.runs("chmod +x ../bin/cargo && PATH=$PWD/../bin:$PATH kbr upgrade");
    assert!(
        report.contains("warning: cannot generate the manifests: 1 problem\n")
            && report.contains(
                "help: the upgrade itself is complete; fix this, then run `kbr manifests`"
            ),
        "{report}"
    );
    assert!(!report.contains("nothing was written"), "{report}");
    let error = project.fails("PATH=$PWD/../bin:$PATH kbr manifests");
    assert!(
        error.contains("1 problem, nothing was written\n"),
        "{error}"
    );
}

#[test]
fn an_aborted_upgrade_leaves_the_project_as_it_was() {
    let project = Project::new();
    project.conflicts();
    let before = files(&project.root);
    project.fails("kbr upgrade --no-check");
    let report = project.runs("kbr upgrade --abort");
    assert!(report.ends_with("restored kbr 0.1.0\n"), "{report}");
    assert_eq!(files(&project.root), before);
    assert_eq!(project.runs("git status --short"), "");
    assert!(!project.root.join(".kbr").exists());
}

#[test]
fn an_abort_keeps_what_was_edited_since_and_the_file_before() {
    let project = Project::new();
    project.conflicts();
    let before = files(&project.root);
    let main = project.read("src/main.rs");
    project.fails("kbr upgrade --no-check");
    fs::write(project.root.join("src/main.rs"), "// half resolved\n").expect("a writable file");
    let report = project.fails("kbr upgrade --abort");
    let copy = report
        .split("src/main.rs (before the upgrade: `")
        .nth(1)
        .expect("the copy");
    let copy = copy.split('`').next().expect("its path");
    assert_eq!(project.read(copy), main);
    assert_eq!(project.read("src/main.rs"), "// half resolved\n");
    let mut after = files(&project.root);
    after.retain(|path, _| !path.starts_with(".kbr/") && path != "src/main.rs");
    let mut expected = before;
    expected.remove("src/main.rs");
    assert_eq!(after, expected);
    // The upgrade has ended, so another one can begin.
    project.runs("git checkout --quiet . && kbr upgrade --dry-run");
}

#[test]
fn an_abort_takes_back_the_release_of_an_edited_project_file() {
    let project = Project::new();
    project.conflicts();
    project.fails("kbr upgrade --no-check");
    project.runs("sed -i '1i # mine' PROJECT");
    let report = project.fails("kbr upgrade --abort");
    assert!(
        report.contains("  PROJECT (before the upgrade: `.kbr/before-upgrade-1/"),
        "{report}"
    );
    let text = project.read("PROJECT");
    assert!(
        text.starts_with("# mine\n") && text.contains("\nkbr = \"0.1.0\"\n"),
        "{text}"
    );
    project.runs("kbr upgrade --dry-run");
}

#[test]
fn kept_copies_outlive_the_next_upgrade() {
    let project = Project::new();
    project.conflicts();
    let main = project.read("src/main.rs");
    project.fails("kbr upgrade --no-check || echo mine >>src/main.rs; kbr upgrade --abort");
    let copy = fs::read_dir(project.root.join(".kbr/before-upgrade-1"))
        .expect("copies")
        .next();
    let copy = copy.expect("a copy").expect("a file").path();
    assert_eq!(fs::read_to_string(&copy).expect("a file"), main);
    project.fails("kbr upgrade --no-check --allow-dirty");
    project.runs("kbr upgrade --abort");
    assert_eq!(fs::read_to_string(&copy).expect("a file"), main);
}

#[test]
fn an_upgrade_that_was_stashed_is_still_unfinished() {
    let project = Project::new();
    project.conflicts();
    let before = files(&project.root);
    project.fails("kbr upgrade --no-check");
    let git = "git -c user.name=a -c user.email=a@b.c";
    project.runs(&format!("git add --all && {git} stash --quiet"));
    let error = project.fails("kbr create api --group crew --version v1 --kind Mate --yes");
    assert!(error.contains("is unfinished"), "{error}");
    let error = project.fails("kbr upgrade --continue --no-check");
    assert!(
        error.contains("PROJECT says kbr 0.1.0: this checkout lacks the unfinished upgrade"),
        "{error}"
    );
    project.runs(&format!("{git} stash pop --quiet"));
    project.runs("kbr upgrade --abort");
    assert_eq!(files(&project.root), before);
}

#[test]
fn a_conflict_can_be_resolved_by_deleting_the_file() {
    let project = Project::new();
    project.conflicts();
    project.fails("kbr upgrade --no-check");
    project.runs("rm src/main.rs && kbr upgrade --continue --no-check");
    assert_eq!(project.runs("git ls-files --unmerged"), "");
}

#[test]
fn what_was_staged_before_is_staged_again_after_an_abort() {
    let project = Project::new();
    project.conflicts();
    project.runs(
        "echo '// staged' >>src/main.rs; git add src/main.rs; echo '// not staged' >>src/main.rs",
    );
    let staged = project.runs("git show :src/main.rs");
    project.fails("kbr upgrade --no-check --allow-dirty");
    project.runs("kbr upgrade --abort");
    assert_eq!(project.runs("git show :src/main.rs"), staged);
    assert!(
        project
            .read("src/main.rs")
            .ends_with("// staged\n// not staged\n")
    );
}

#[test]
fn an_upgrade_does_not_hide_the_conflicts_of_another_merge() {
    let project = Project::new();
    let git = "git -c user.name=a -c user.email=a@b.c";
    project.runs(&format!(
        "git switch --quiet --create other && echo a >>README.md && {git} commit --quiet --all --message a
        git switch --quiet - && echo b >>README.md && {git} commit --quiet --all --message b; {git} merge --quiet other || true"
    ));
    let before = files(&project.root);
    let error = project.fails("kbr upgrade --no-check --allow-dirty");
    assert!(
        error.contains("unresolved merge conflicts; nothing was written\n    README.md\n"),
        "{error}"
    );
    assert_eq!(files(&project.root), before);
}

#[test]
fn files_added_to_the_library_are_shown() {
    let project = Project::new();
    project.runs("echo '// mine' >manager/src/mine.rs");
    project.commits();
    let error = project.fails("kbr upgrade --no-check");
    assert!(error.contains("+++ b/manager/src/mine.rs\n"), "{error}");
    let report = project.runs("kbr upgrade --no-check --discard-library-changes");
    assert!(
        report.contains("keep manager/src/mine.rs (kbr 0.3.0 does not use it"),
        "{report}"
    );
}

#[test]
fn an_edited_library_is_shown_and_replaced_only_if_its_changes_may_be_lost() {
    let project = Project::new();
    project.runs("echo '// mine' >>manager/src/lib.rs");
    project.commits();
    let before = files(&project.root);
    let error = project.fails("kbr upgrade --no-check");
    assert!(
        error.contains("--- a/manager/src/lib.rs\n+++ b/manager/src/lib.rs\n"),
        "{error}"
    );
    assert!(
        error.contains("error: the upgrade would overwrite your changes to `manager`"),
        "{error}"
    );
    assert_eq!(files(&project.root), before);
    project.runs("kbr upgrade --no-check --discard-library-changes");
    assert!(!project.root.join("manager/src/lib.rs").exists());
}

#[test]
fn a_deleted_file_stays_deleted_and_an_edited_one_that_is_not_needed_stays() {
    let project = Project::new();
    project.runs("git rm --quiet Dockerfile");
    project.commits();
    let report = project.runs("kbr upgrade --no-check");
    assert!(
        report.contains("skip Dockerfile (you deleted it)\n"),
        "{report}"
    );
    assert!(!project.root.join("Dockerfile").exists());
}

#[test]
fn the_difference_between_two_releases_is_shown_for_this_project() {
    let project = Project::new();
    let diff = project.runs("kbr upgrade --diff 0.1.0..0.2.0");
    assert!(
        diff.contains("--- a/src/controllers/captain.rs\n"),
        "{diff}"
    );
    assert!(diff.contains("--- /dev/null\n+++ b/AGENTS.md\n"), "{diff}");
    assert!(
        !diff.contains("+++ b/third_party/kbr-manager/"),
        "the library is left out"
    );
    assert_eq!(project.runs("kbr upgrade --diff 0.3.0..0.3.0"), "");
    let error = project.fails("kbr upgrade --diff 0.2.0");
    assert!(
        error.contains("expected two releases, not `0.2.0`\nhelp: pass two releases"),
        "{error}"
    );
    let error = project.fails("kbr upgrade --diff 0.0.9..0.2.0");
    assert!(error.contains("does not know the release 0.0.9"), "{error}");
}

#[test]
fn a_project_in_a_folder_of_a_repository_is_upgraded_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = Project::new();
    let whole = folder.path().join("whole");
    fs::create_dir(&whole).expect("a folder");
    let script = format!(
        "mv '{}' captains && rm -r captains/.git && echo a >other && git init --quiet . && git add captains && git -c user.name=a -c user.email=a@b.c commit --quiet --message all",
        project.root.display()
    );
    assert!(shell(&whole, &script).status.success());
    let main = whole.join("captains/src/main.rs");
    let text = fs::read_to_string(&main).expect("a file");
    fs::write(
        &main,
        text.replace(
            "async fn main() -> anyhow::Result<()>",
            "async fn main() -> Mine",
        ),
    )
    .expect("a writable file");
    let output = shell(
        &whole,
        "git -c user.name=a -c user.email=a@b.c commit --quiet --all --message mine; cd captains; kbr upgrade --no-check",
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output, &whole));
    let output = shell(&whole, "git status --short | grep ^U");
    assert_eq!(stdout(&output, &whole), "UU captains/src/main.rs\n");
}
