//! The workflows of kbr, of generated projects and of the recipe for plans: what they run is pinned, what they build has no token, and their scripts do their job.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Map, Value, json};
use support::{repository, shell, stderr, stdout, write};

const INSTALL: &str = "set the repository variable KBR_INSTALL to a command that installs kbr";

/// The workflows in a folder, by name.
fn workflows(folder: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(folder.join(".github/workflows")).unwrap();
    let read = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        (name.to_owned(), fs::read_to_string(path).unwrap())
    };
    files.map(|file| read(&file.unwrap().path())).collect()
}

/// The workflows of a new project.
fn generated() -> BTreeMap<String, String> {
    let project = tempfile::tempdir().unwrap();
    let output = shell(project.path(), "kbr init --project-name captains");
    assert!(
        output.status.success(),
        "{}",
        stderr(&output, project.path())
    );
    workflows(project.path())
}

/// The workflows of the recipe for plans.
fn recipe() -> BTreeMap<String, String> {
    let page = fs::read_to_string(repository().join("docs/recipes/plan.md")).unwrap();
    let blocks = page.split("```yaml\n# .github/workflows/").skip(1);
    let workflow = |block: &str| {
        let (name, text) = block.split_once('\n').unwrap();
        (
            name.to_owned(),
            text.split("```").next().unwrap().to_owned(),
        )
    };
    blocks.map(workflow).collect()
}

/// All of them, with their names.
fn all() -> impl Iterator<Item = (String, String)> {
    workflows(repository())
        .into_iter()
        .chain(generated())
        .chain(recipe())
}

/// The jobs of a workflow, by name.
fn jobs(text: &str) -> Map<String, Value> {
    let parsed: Value = serde_saphyr::from_str(text).unwrap();
    assert_eq!(parsed["permissions"], json!({}), "{text}");
    parsed["jobs"].as_object().unwrap().clone()
}

fn steps(job: &Value) -> &[Value] {
    job["steps"].as_array().unwrap()
}

#[test]
fn every_action_is_pinned_to_a_commit_with_its_version() {
    let mut count = 0;
    for (name, text) in all() {
        for line in text.lines().filter(|line| line.contains("uses: ")) {
            let (_, action) = line.split_once("uses: ").unwrap();
            let (commit, version) = action
                .split_once('@')
                .unwrap()
                .1
                .split_once(" # v")
                .unwrap();
            let is_commit = commit.len() == 40 && commit.bytes().all(|it| it.is_ascii_hexdigit());
            let is_version = version.split('.').count() == 3;
            assert!(is_commit && is_version, "{name}: {line}");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn a_job_that_builds_may_only_read_and_sees_no_secret() {
    let mut built = Vec::new();
    for (name, text) in all() {
        for (job, value) in jobs(&text) {
            let builds = |step: &Value| {
                let run = step["run"].as_str().unwrap_or_default();
                // What users can name, such as a branch, is not pasted into a script.
                assert!(
                    !run.contains("${{") || run.contains("matrix.target"),
                    "{run}"
                );
                let programs = ["cargo ", "make ", "kbr ", "if kbr ", "eval "];
                run.lines().any(|line| {
                    let line = line.trim_start();
                    programs.iter().any(|program| line.starts_with(program))
                })
            };
            if !steps(&value).iter().any(builds) {
                continue;
            }
            let (at, shown) = (format!("{name}: {job}"), value.to_string());
            for secret in ["secrets.", "github.token", "GH_TOKEN"] {
                assert!(!shown.contains(secret), "{at} has `{secret}`");
            }
            let permissions = &value["permissions"];
            let may_read = *permissions == json!({ "contents": "read" });
            assert!(may_read || *permissions == json!({}), "{at}: {permissions}");
            let is_checkout = |step: &&Value| {
                let uses = step["uses"].as_str().unwrap_or_default();
                uses.starts_with("actions/checkout@")
            };
            for step in steps(&value).iter().filter(is_checkout) {
                assert_eq!(step["with"]["persist-credentials"], false, "{at}");
            }
            built.push(job);
        }
    }
    built.sort();
    assert_eq!(
        built,
        [
            "book",
            "build",
            "kbr",
            "lint",
            "manifests",
            "plan",
            "test",
            "upgrade"
        ]
    );
}

#[test]
fn kbr_is_installed_by_a_variable_of_the_repository_and_an_empty_one_is_reported() {
    let mut installed = 0;
    for (name, text) in generated() {
        assert!(!text.contains("cargo install kbr"), "{name}");
        for job in jobs(&text).values() {
            for step in steps(job) {
                if step["env"]["KBR_INSTALL"] != "${{ vars.KBR_INSTALL }}" {
                    continue;
                }
                let run = step["run"].as_str().unwrap();
                let folder = tempfile::tempdir().unwrap();
                let output = bash(folder.path(), run, &[("KBR_INSTALL", "")]);
                let error = stderr(&output, folder.path());
                assert!(!output.status.success(), "{name}");
                assert!(error.contains(INSTALL), "{error}");
                assert_eq!(error.lines().count(), 1, "{error}");
                let output = bash(folder.path(), run, &[("KBR_INSTALL", "echo installed")]);
                assert_eq!(stdout(&output, folder.path()), "installed\n");
                installed += 1;
            }
        }
    }
    assert_eq!(installed, 3);
}

/// Runs a script as GitHub does.
fn bash(folder: &Path, script: &str, env: &[(&str, &str)]) -> Output {
    let path = format!("{}:/usr/bin:/bin", folder.join("bin").display());
    Command::new("bash")
        .args(["-e", "-c", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder)
        .env("RUNNER_TEMP", folder.join("temp"))
        .env("GITHUB_OUTPUT", folder.join("output"))
        .envs(env.iter().copied())
        .output()
        .unwrap()
}

/// A `kbr` that changes a source and a workflow, and adds a file.
const KBR: &str = r#"#!/bin/sh
case "$*" in
version) echo 'kbr 0.9.0' ;;
'upgrade --check') exit 1 ;;
'upgrade --yes')
  echo new >> a; echo new >> .github/workflows/a.yml; echo b > b; chmod +x b
  test ! -e conflicts || { mkdir -p .kbr/upgrade; exit 1; } ;;
esac
"#;

/// The three jobs of an upgrade, one after another; `prepare` runs between them. Returns the folder of the project, and the output of the last job.
fn upgrade(folder: &Path, token: &str, prepare: &str) -> Output {
    let text = &generated()["upgrade.yml"];
    let jobs = jobs(text);
    let scripts = |job: &str| {
        let runs = steps(&jobs[job]).iter();
        let runs = runs.filter_map(|step| step["run"].as_str());
        let own = runs.filter(|run| !run.contains("rustup") && !run.contains("KBR_INSTALL"));
        own.collect::<Vec<_>>().join("\n")
    };
    write(&folder.join("bin/kbr"), KBR.as_bytes());
    write(&folder.join("bin/gh"), b"#!/bin/sh\necho gh \"$@\"\n");
    let begin = r"chmod +x bin/*; mkdir temp
        git init --quiet --initial-branch main --bare origin
        git clone --quiet origin source; cd source; mkdir -p .github/workflows
        echo old | tee a > .github/workflows/a.yml; echo /.kbr > .gitignore
        git add --all
        git -c user.name=a -c user.email=a@example.com commit --quiet --message a
        git push --quiet origin HEAD:main";
    let (source, build, publish) = (
        scripts("source"),
        scripts("upgrade"),
        scripts("pull-request"),
    );
    let script = format!(
        "({begin}\n{prepare}\n{source}) && mkdir build && (cd build; {build}) && git clone --quiet origin published && (cd published; {publish})"
    );
    bash(folder, &script, &[("OWN_TOKEN", token)])
}

#[test]
fn an_upgrade_becomes_a_pull_request() {
    let folder = tempfile::tempdir().unwrap();
    let output = upgrade(folder.path(), "", "");
    let (out, error) = (
        stdout(&output, folder.path()),
        stderr(&output, folder.path()),
    );
    assert!(output.status.success(), "{out}\n{error}");
    let pull = "gh pr create --head kbr-0.9.0 --title Upgrade to kbr 0.9.0 --body-file ";
    assert!(out.contains(pull), "{out}");
    let changed =
        "cd origin; git diff --summary --name-only main kbr-0.9.0; git ls-tree kbr-0.9.0 b";
    let output = bash(folder.path(), changed, &[]);
    let changed = stdout(&output, folder.path());
    // The workflow is left out, and the new program can be run.
    assert!(changed.starts_with("a\nb\n"), "{changed}");
    assert!(changed.contains("100755 blob"), "{changed}");
    let body = fs::read_to_string(folder.path().join("temp/result/body")).unwrap();
    assert!(body.contains("It has no conflicts."), "{body}");
}

#[test]
fn an_upgrade_includes_workflows_with_a_token_that_may_change_them() {
    let folder = tempfile::tempdir().unwrap();
    let output = upgrade(folder.path(), "token", "touch conflicts; git add conflicts");
    let out = stdout(&output, folder.path());
    assert!(
        output.status.success(),
        "{out}\n{}",
        stderr(&output, folder.path())
    );
    assert!(out.contains("gh pr create --draft --head"), "{out}");
    assert!(!out.contains("token"), "{out}");
    let changed = "cd origin; git diff --name-only main kbr-0.9.0";
    let changed = stdout(&bash(folder.path(), changed, &[]), folder.path());
    assert!(
        changed.starts_with(".github/workflows/a.yml\na\nb\n"),
        "{changed}"
    );
    let body = fs::read_to_string(folder.path().join("temp/result/body")).unwrap();
    assert!(body.contains("It has conflicts."), "{body}");
}

/// A `gh` that knows one pull request and its plan, and prints what it is to write.
const GH: &str = r#"#!/bin/sh
case "$*" in
*/pulls*) echo "$NUMBER" ;;
*/artifacts?name=plan*) echo 5 ;;
*/zip) cat plan.txt ;;
'api --paginate'*) echo "$EARLIER" ;;
*) echo gh "$@" ;;
esac
"#;

/// What the second workflow of the recipe writes for a plan: its last request, and the comment.
fn comment(plan: &str, number: &str, earlier: &str) -> (String, Option<String>) {
    let folder = tempfile::tempdir().unwrap();
    let job = &jobs(&recipe()["plan-comment.yml"])["comment"];
    write(&folder.path().join("bin/gh"), GH.as_bytes());
    write(&folder.path().join("bin/unzip"), b"#!/bin/sh\ncat \"$2\"\n");
    write(&folder.path().join("plan.txt"), plan.as_bytes());
    let script = format!(
        "chmod +x bin/*; mkdir temp\n{}",
        steps(job)[0]["run"].as_str().unwrap()
    );
    let env = [
        ("GITHUB_REPOSITORY", "crew/captains"),
        ("COMMIT", "c0ffee"),
        ("BRANCH", "crew:feature"),
        ("RUN", "3"),
        ("NUMBER", number),
        ("EARLIER", earlier),
    ];
    let output = bash(folder.path(), &script, &env);
    let error = stderr(&output, folder.path());
    assert!(output.status.success(), "{error}");
    let comment = fs::read_to_string(folder.path().join("temp/comment")).ok();
    (stdout(&output, folder.path()), comment)
}

#[test]
fn a_plan_becomes_a_comment_in_which_all_is_code() {
    let hostile = "@everyone\r<img src=x>\n\n```\n    ~~~\n\x1b[2J[link](https://example.com)\n";
    let (request, text) = comment(hostile, "7", "");
    let post = "gh api --silent --method POST repos/crew/captains/issues/7/comments";
    assert!(request.starts_with(post), "{request}");
    assert_eq!(
        text.unwrap(),
        "<!-- kbr plan -->\nWhat c0ffee would change:\n\n    @everyone<img src=x>\n    \n    ```\n        ~~~\n    [2J[link](https://example.com)\n"
    );
    let (request, text) = comment(&"\n".repeat(100_000), "7", "11");
    let patch = "gh api --silent --method PATCH repos/crew/captains/issues/comments/11";
    assert!(request.starts_with(patch), "{request}");
    assert!(text.unwrap().len() < 65_536);
}

#[test]
fn a_plan_of_an_older_commit_is_not_shown() {
    assert_eq!(comment("", "", ""), (String::new(), None));
}
