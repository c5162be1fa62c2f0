//! Mistakes on the command line: the answer says what is wrong and what to type instead.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn kbr(folder: &Path, command: &str) -> Output {
    let line = format!("\"$KBR\" {command}");
    Command::new("sh")
        .args(["-c", &line])
        .env("KBR", env!("CARGO_BIN_EXE_kbr"))
        .env("XDG_DATA_HOME", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// A project with the domain `example.com` after these commands.
fn project(commands: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let init = "init --domain example.com --project-name captains";
    for command in [&[init], commands].concat() {
        let output = kbr(folder.path(), command);
        assert!(output.status.success(), "{command}: {output:?}");
    }
    folder
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Checks that the command fails with this code and with all of these texts.
fn fails(folder: &Path, command: &str, code: i32, texts: &[&str]) {
    let output = kbr(folder, command);
    let printed = printed(&output);
    assert_eq!(output.status.code(), Some(code), "{command}: {printed}");
    for text in texts {
        assert!(printed.contains(text), "{command}: {printed}");
    }
}

const CAPTAIN: &str = "create api --group crew --version v1 --kind Captain --yes";

#[test]
fn a_group_that_ends_with_the_domain_is_the_full_group() {
    let folder =
        project(&["create api --group crew.example.com --version v1 --kind Captain --yes"]);
    let project = std::fs::read_to_string(folder.path().join("PROJECT")).unwrap();
    assert!(
        project.contains("group = \"crew\"\nfull_group = \"crew.example.com\"\n"),
        "{project}"
    );
    let again = kbr(folder.path(), CAPTAIN);
    assert!(printed(&again).contains("nothing to do"), "{again:?}");
}

#[test]
fn a_group_with_another_domain_is_noted() {
    let folder = project(&[]);
    let output = kbr(
        folder.path(),
        "create api --group crew.other.io --version v1 --kind Captain --yes",
    );
    let text = "note: the full group is `crew.other.io.example.com`; if you meant `crew.other.io`, pass `--domain ''`";
    assert!(printed(&output).contains(text), "{output:?}");
}

#[test]
fn a_built_in_kind_is_not_created_unasked() {
    let folder = project(&[]);
    let command = "create api --group apps --version v1 --kind Deployment --yes";
    let texts = [
        "`Deployment` of `apps/v1` is a built-in kind; nothing was written",
        "`kbr create api --group apps --version v1 --kind Deployment --resource=false --controller`",
        "to create a kind of your own in `apps.example.com`, pass `--resource`",
    ];
    fails(folder.path(), command, 1, &texts);
    let output = kbr(folder.path(), &format!("{command} --resource"));
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_kind_that_only_another_crate_can_define_is_not_asked_about() {
    let folder = project(&[]);
    let command = "create api --group cert-manager.io --version v1 --kind Certificate --controller";
    let texts = [
        "no kind `Certificate` found in `cert-manager.io/v1`",
        "pass `--external-crate` and `--external-type`",
    ];
    fails(folder.path(), command, 1, &texts);
}

#[test]
fn files_in_the_folder_of_a_new_project_are_kept_as_the_help_says() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let help = printed(&kbr(folder.path(), "init --help"));
    assert!(help.contains("Keeps all files of the folder"), "{help}");
    let output = kbr(
        folder.path(),
        "init --domain example.com --project-name captains",
    );
    assert!(output.status.success(), "{output:?}");
    let notes = std::fs::read_to_string(folder.path().join("notes.txt")).unwrap();
    assert_eq!(notes, "mine");
}

#[test]
fn a_deletion_of_a_controller_names_every_way_to_select_one() {
    let folder = project(&[CAPTAIN]);
    let ways = "pass `--controller-name`, or `--group`, `--version` and `--kind`";
    let known = "controllers in PROJECT: `captain`";
    for flags in [
        "",
        "--group crew",
        "--kind Captain --version v1",
        "--controller-name captain --group crew",
    ] {
        let command = format!("delete controller {flags}");
        fails(folder.path(), &command, 1, &[ways, known]);
    }
}

#[test]
fn a_spoke_that_does_not_exist_yet_is_answered_with_a_complete_command() {
    let folder = project(&[CAPTAIN]);
    let command = "create webhook --group crew --version v1 --kind Captain --conversion";
    let create = |version: &str| {
        format!(
            "`kbr create api --group crew --version {version} --kind Captain --resource --controller=false`"
        )
    };
    fails(folder.path(), command, 1, &[&create("v2")]);
    fails(
        folder.path(),
        &format!("{command} --spoke v9"),
        1,
        &[&create("v9")],
    );
    fails(
        folder.path(),
        &format!("{command} --spoke v1"),
        1,
        &[&create("v2")],
    );
}

#[test]
fn a_webhook_with_other_flags_names_those_that_differ() {
    let webhook = "create webhook --group crew --version v1 --kind Captain --validation";
    let folder = project(&[CAPTAIN, &format!("{webhook} --timeout 5")]);
    let command = format!("{webhook} --timeout 7 --failure-policy Ignore --validation-path /other");
    let texts = [
        "its path is `/validate-crew-example-com-v1-captain`, not `/other`",
        "`--failure-policy` is `Fail`, not `Ignore`",
        "`--timeout` is `5`, not `7`",
    ];
    fails(folder.path(), &command, 1, &texts);
}

#[test]
fn a_cluster_that_does_not_exist_cannot_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let texts = [
        "no cluster `nosuch` found",
        "to start one, run `kbr cluster start`",
    ];
    fails(folder.path(), "cluster stop nosuch", 1, &texts);
}

#[test]
fn a_command_of_another_tool_is_answered_with_that_of_kbr() {
    let folder = project(&[CAPTAIN]);
    for (command, text) in [
        ("new captains", "`kbr init --directory captains`"),
        ("create api -g crew", "write `--group`"),
        (
            "create controller",
            "`kbr create api … --resource=false --controller`",
        ),
        (
            "delete captain",
            "did you mean `kbr delete api --group crew --version v1 --kind Captain`?",
        ),
        (
            "delete captain",
            "did you mean `kbr delete controller --controller-name captain`?",
        ),
        ("delete nothing", "pass `api`, `controller` or `webhook`"),
        ("cluster list", "run `kbr cluster status`"),
        (
            "create api crew v1 Mate",
            "did you mean `--group crew --version v1 --kind Mate`?",
        ),
        (
            "create api --group crew v1 --yes",
            "pass `--group`, `--version` and `--kind`",
        ),
        (
            "delete controller captain",
            "did you mean `--controller-name captain`?",
        ),
        (
            "envtest run --cluster cargo test",
            "did you mean `kbr envtest run --cluster -- cargo test`?",
        ),
        ("version --json", "pass `--output json`"),
    ] {
        fails(folder.path(), command, 2, &[text]);
    }
}

#[test]
fn enter_selects_the_answer_that_the_question_shows() {
    let folder = project(&[]);
    let output = kbr(
        folder.path(),
        "create api --group crew --version v1 --kind Captain <<END\n\nn\nEND",
    );
    let printed = printed(&output);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("Create Resource [Y/n]"), "{printed}");
    assert!(folder.path().join("api/src/crew/v1/captain.rs").exists());
    assert!(!folder.path().join("src/controllers/captain.rs").exists());
}

#[test]
fn a_repeated_init_counts_the_files_that_are_the_same() {
    let folder = project(&[]);
    let printed = printed(&kbr(folder.path(), "init"));
    assert!(printed.contains("nothing to do"), "{printed}");
    assert!(printed.lines().count() < 12, "{printed}");
}

#[test]
fn the_help_of_create_api_has_headings_and_examples_in_both_lengths() {
    let folder = tempfile::tempdir().unwrap();
    for flag in ["-h", "--help"] {
        let help = printed(&kbr(folder.path(), &format!("create api {flag}")));
        for text in [
            "\nKind:\n",
            "\nExternal kind:\n",
            "\nWhat to create:\n",
            "\nOutput:\n",
            "--namespaced=false",
            "--controller=false",
        ] {
            assert!(help.contains(text), "{flag}: {text}: {help}");
        }
    }
}

#[test]
fn manual_pages_have_the_usage_and_omit_internal_commands() {
    let folder = tempfile::tempdir().unwrap();
    let page = printed(&kbr(folder.path(), "man create api"));
    let usage = ".SH SYNOPSIS\nkbr create api [OPTIONS] \\-\\-group <GROUP> \\-\\-version <VERSION> \\-\\-kind <KIND>\n";
    assert!(page.contains(usage), "{page}");
    let list = printed(&kbr(folder.path(), "man --list"));
    assert!(
        list.contains("envtest run\n") && !list.contains("supervisor"),
        "{list}"
    );
    let complete = "completion bash >script && KBR_COMPLETE=bash _CLAP_COMPLETE_INDEX=2 \"$KBR\" -- kbr envtest ''";
    let words = printed(&kbr(folder.path(), complete));
    assert!(
        words.contains("run") && !words.contains("supervisor"),
        "{words}"
    );
}

/// What an author of an operator in Go sees, whose project has a PROJECT of kubebuilder.
#[test]
fn a_plan_outside_of_a_project_of_kbr_asks_for_a_command_and_never_names_cargo() {
    let folder = tempfile::tempdir().unwrap();
    let texts = [
        "the current folder is not in a project of kbr",
        "`kbr plan --install release.yaml -- ./manager",
    ];
    let account = ["nothing says which ServiceAccount", "--service-account"];
    for project in [None, Some("layout:\n- go.kubebuilder.io/v4\n")] {
        if let Some(project) = project {
            std::fs::write(folder.path().join("PROJECT"), project).unwrap();
        }
        for flags in ["", "--context prod", "--against v1", "--baseline ./manager"] {
            fails(folder.path(), &format!("plan {flags}"), 1, &texts);
        }
        fails(folder.path(), "plan -- ./manager", 1, &account);
        // 2 would mean that the release changes something.
        fails(folder.path(), "plan --nosuch", 1, &["unexpected argument"]);
        let output = kbr(folder.path(), "plan --install missing.yaml -- ./manager");
        assert!(!printed(&output).to_lowercase().contains("cargo"));
    }
}

const INSTALLER: &str = r#"
{ apiVersion: apps/v1, kind: Deployment, metadata: { name: crew, namespace: crew }, spec: { template: { spec: { serviceAccountName: crew, containers: [{ name: manager }] } } } }
---
{ apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: { name: crew }, rules: [{ apiGroups: [""], resources: [pods], verbs: [get] }] }
---
{ apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: { name: crew }, roleRef: { kind: ClusterRole, name: crew }, subjects: [{ kind: ServiceAccount, name: crew, namespace: crew }] }
"#;

#[test]
fn a_plan_of_a_file_that_is_not_executable_says_so_before_it_reads_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("manager"), "").unwrap();
    std::fs::write(folder.path().join("install.yaml"), INSTALLER).unwrap();
    let texts = ["`./manager` is not executable", "chmod +x ./manager"];
    fails(
        folder.path(),
        "plan --install install.yaml -- ./manager",
        1,
        &texts,
    );
}

#[test]
fn a_plan_of_an_overlay_that_the_earlier_release_lacks_says_so_before_it_builds() {
    let folder = project(&[]);
    let git = "git -c user.name=a -c user.email=a@example.com";
    let commit = format!(
        "version && git init --quiet && git add . && {git} commit --quiet --message a && git tag v1"
    );
    let committed = kbr(folder.path(), &commit);
    assert!(committed.status.success(), "{committed:?}");
    let overlay = folder.path().join("config/prod");
    std::fs::create_dir(&overlay).unwrap();
    std::fs::write(
        overlay.join("kustomization.yaml"),
        "resources: [../default]",
    )
    .unwrap();
    // kubectl is in the store of the user.
    let plan = "version && KUBEBUILDER_ASSETS=$(env -u XDG_DATA_HOME \"$KBR\" envtest path) \"$KBR\" plan --overlay config/prod";
    let texts = ["the release `v1` has no `config/prod`", "--against"];
    fails(folder.path(), plan, 1, &texts);
}
