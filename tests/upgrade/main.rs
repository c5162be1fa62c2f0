//! `kbr upgrade` as a user runs it: reports, conflicts in git, and the ways back.

mod aborted;
mod conflicts;
mod edited;
#[path = "../support/mod.rs"]
mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use kbr_scaffold::predecessor::VERSION;
use support::{repository, shell, stderr, stdout, tree};

/// A project of an earlier release in a git repository, with a kind and its controller.
struct Project {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    fn new() -> Self {
        Project::golden("a_first_kind")
    }

    /// The project that the golden test of this name has recorded.
    fn golden(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("captains");
        fs::create_dir(&root).expect("a folder");
        let recorded = format!("tests/golden/{name}/out/PROJECT");
        let recorded = repository().join(recorded);
        fs::copy(recorded, root.join("PROJECT")).expect("a copy");
        let project = Project {
            _folder: folder,
            root,
        };
        project.runs(&format!(
            "kbr faults-render {VERSION} . && git init --quiet ."
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
    for line in [
        "create third_party/kbr-manager (kbr-manager 0.3.0, 1 file)\n",
        "remove third_party/kbr-manager (1 file)\n",
        "update third_party/kbr-manager (kbr-manager 0.3.0, 3 files)\n",
        "update third_party/kbr-testing (kbr-testing 0.3.0, 2 files)\n",
        "create .github/workflows/audit.yml\n",
        "remove HACKING.md\n",
        "update src/controllers/captain.rs\n",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
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
        let text = "error: PROJECT says kbr 0.2.9, but this is kbr 0.3.0; nothing was written";
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
        (&VERSION.into(), &"0.3.0".into())
    );
    let changes = json["changes"].as_array().expect("a list");
    let main = serde_json::json!({"path": "src/main.rs", "verb": "conflict"});
    assert!(changes.contains(&main), "{json}");
    assert_eq!(files(&project.root), before);
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
fn what_follows_an_upgrade_is_generated_compiled_and_fixed() {
    let project = Project::new();
    let cargo = r#"#!/bin/sh
echo "$*" >>"$PWD/../calls"
case $1 in
metadata) echo '{"packages": []}' ;;
check)
    [ ! -e ../fixed ] || exit 0
    printf '%s\n' '{"reason":"compiler-message","message":{"rendered":"unused `mut`\n","spans":[{"suggestion_applicability":"MachineApplicable"}]}}'
    exit 1 ;;
fix) touch ../fixed ;;
esac
"#;
    support::write(&project.root.join("../bin/cargo"), cargo.as_bytes());
    let report = project.runs("chmod +x ../bin/cargo && PATH=$PWD/../bin:$PATH kbr upgrade --yes");
    assert!(report.contains("unused `mut`\n"), "{report}");
    assert!(!report.contains("warning"), "{report}");
    let calls = fs::read_to_string(project.root.join("../calls")).expect("cargo was called");
    let commands: Vec<&str> = calls
        .split_whitespace()
        .filter(|it| ["update", "metadata", "check", "fix"].contains(it))
        .collect();
    assert_eq!(commands, ["update", "metadata", "check", "fix", "check"]);
}

#[test]
fn the_difference_between_two_releases_is_shown_for_this_project() {
    let project = Project::new();
    let diff = project.runs("kbr upgrade --diff 0.2.9..0.3.0");
    assert!(
        diff.contains("--- a/src/controllers/captain.rs\n"),
        "{diff}"
    );
    let created = "--- /dev/null\n+++ b/.github/workflows/audit.yml\n";
    assert!(diff.contains(created), "{diff}");
    let removed = "--- a/HACKING.md\n+++ /dev/null\n";
    assert!(diff.contains(removed), "{diff}");
    assert!(!diff.contains("b/third_party/"), "the library is left out");
    assert_eq!(project.runs("kbr upgrade --diff 0.3.0..0.3.0"), "");
    let error = project.fails("kbr upgrade --diff 0.2.9");
    assert!(
        error.contains("expected two releases, not `0.2.9`\nhelp: pass two releases"),
        "{error}"
    );
    let error = project.fails("kbr upgrade --diff 0.0.9..0.3.0");
    assert!(error.contains("does not know the release 0.0.9"), "{error}");
}
