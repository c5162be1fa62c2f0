//! Upgrades of projects that their users have edited: what stays, and what is lost only if they say so.

use std::fs;

use crate::{Project, files};

#[test]
fn edits_are_kept() {
    let project = Project::new();
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
fn a_changed_name_of_the_library_is_changed_in_the_users_code() {
    let project = Project::golden("a_first_webhook");
    let webhooks = "src/webhooks/crew_v1_captain.rs";
    let mine = "/// Mine.\nfn mine() -> Result<(), webhook::Refusal> {\n    Ok(())\n}\n";
    project.edits(webhooks, "#[cfg(test)]", &format!("{mine}\n#[cfg(test)]"));
    let own = "use manager::webhook::{Refusal, Request};\n\nfn own(_: Request<()>) -> Refusal {}\n";
    fs::write(project.root.join("src/own.rs"), own).expect("a writable folder");
    project.commits();

    let report = project.runs("kbr upgrade --no-check");
    assert!(report.contains("merge src/own.rs\n"), "{report}");
    assert_eq!(
        project.read("src/own.rs"),
        own.replace("{Refusal", "{Rejection as Refusal")
    );
    let code = project.read(webhooks);
    assert!(
        code.contains(&mine.replace("Refusal", "Rejection")),
        "{code}"
    );
    assert!(!code.contains("Refusal"), "{code}");
}

#[test]
fn entries_of_a_manifest_are_merged_where_lines_would_conflict() {
    let project = Project::new();
    let testing = "kbr-testing = { workspace = true }\n";
    project.edits(
        "Cargo.toml",
        testing,
        &format!("{testing}tempfile = \"3\"\n"),
    );
    project.edits(
        "Cargo.toml",
        "[\"api\", \"tools\"]",
        "[\"api\", \"tools\", \"mine\"]",
    );
    project.runs("kbr upgrade --no-check");
    let manifest = project.read("Cargo.toml");
    for lines in [
        "members = [\"api\", \"mine\"]\n",
        "kbr-testing = { workspace = true, features = [\"simulate\"] }\ntempfile = \"3\"\n",
    ] {
        assert!(manifest.contains(lines), "{lines}: {manifest}");
    }
}

#[test]
fn a_webhook_keeps_the_users_lines_and_the_change_beside_them_is_shown() {
    let project = Project::golden("a_first_webhook");
    let webhooks = "src/webhooks/crew_v1_captain.rs";
    let mine = "        mine(new)?;\n        validate(new, cx.name())\n";
    project.edits(webhooks, "        validate(new, cx.name())\n", mine);
    let report = project.runs("kbr upgrade --no-check");
    let code = project.read(webhooks);
    assert!(code.contains(mine), "{code}");
    let shown = "you and kbr 0.3.0 changed the same lines; kept yours. kbr's changes since 0.2.9:\n\nsrc/webhooks/crew_v1_captain.rs\n@@\n-        validate(new, cx.name())\n+        check(new, cx.name())\n";
    assert!(report.contains(shown), "{report}");
    // Changes elsewhere in the file are merged.
    assert!(
        code.contains("// Validates new and changed objects, with defaults set.\n"),
        "{code}"
    );
}

#[test]
fn what_is_left_to_the_user_is_listed_and_changed_behaviour_stays_off() {
    let project = Project::new();
    project.conflicts();
    let own = "use k8s_openapi::api::apps::v1::Deployment;\nuse manager::Trigger;\n\nfn a(trigger: &Trigger) {\n    trigger.wake(\"a\");\n}\n";
    fs::write(project.root.join("src/own.rs"), own).expect("a writable folder");
    project.commits();
    let left = "left for you to do:\n  config/manager/manager.yaml: the operator still has 30 s to stop: to give it 45 s, write that here\n  src/own.rs:5: `Trigger::wake` is now `Trigger::enqueue`\n";
    for (command, succeeds) in [
        ("kbr upgrade --dry-run", true),
        ("kbr upgrade --no-check", false),
    ] {
        let report = if succeeds {
            project.runs(command)
        } else {
            project.fails(command)
        };
        assert!(report.contains(left), "{command}: {report}");
    }
    let manager = project.read("config/manager/manager.yaml");
    assert!(
        manager.contains("terminationGracePeriodSeconds: 30\n"),
        "{manager}"
    );
    // Until the end of the upgrade, the user may have done some of it.
    fs::write(
        project.root.join("src/own.rs"),
        own.replace("wake", "enqueue"),
    )
    .expect("a file");
    project.runs("git checkout --quiet --ours src/main.rs");
    let report = project.runs("kbr upgrade --continue --no-check");
    assert!(
        report.contains("left for you to do:\n  config/manager/manager.yaml: "),
        "{report}"
    );
    assert!(!report.contains("Trigger"), "{report}");
}

#[test]
fn files_added_to_the_library_are_shown() {
    let project = Project::new();
    project.runs("echo '// mine' >third_party/kbr-manager/src/mine.rs");
    project.commits();
    let error = project.fails("kbr upgrade --no-check");
    assert!(
        error.contains("+++ b/third_party/kbr-manager/src/mine.rs\n"),
        "{error}"
    );
    let report = project.runs("kbr upgrade --no-check --discard-library-changes");
    assert!(
        report.contains("keep third_party/kbr-manager/src/mine.rs (kbr 0.3.0 does not use it"),
        "{report}"
    );
}

#[test]
fn an_edited_library_is_shown_and_replaced_only_if_its_changes_may_be_lost() {
    let project = Project::new();
    let library = "third_party/kbr-manager/src";
    project.runs(&format!(
        "echo '// mine' | tee -a {library}/lib.rs >>{library}/names/mod.rs"
    ));
    project.commits();
    let before = files(&project.root);
    let error = project.fails("kbr upgrade --no-check");
    assert!(
        error.contains(&format!("--- a/{library}/lib.rs\n+++ b/{library}/lib.rs\n")),
        "{error}"
    );
    assert!(
        error.contains(
            "error: the upgrade would overwrite your changes to `third_party/kbr-manager`"
        ),
        "{error}"
    );
    assert_eq!(files(&project.root), before);
    project.runs("kbr upgrade --no-check --discard-library-changes");
    let text = project.read(&format!("{library}/lib.rs"));
    assert!(!text.ends_with("// mine\n"), "{text}");
    assert!(!project.root.join(library).join("names/mod.rs").exists());
}

#[test]
fn a_deleted_file_stays_deleted_and_an_edited_one_that_is_not_needed_stays() {
    let project = Project::new();
    project.runs("git rm --quiet Dockerfile && echo mine >>HACKING.md");
    project.commits();
    let report = project.runs("kbr upgrade --no-check");
    assert!(
        report.contains("skip Dockerfile (you deleted it)\n"),
        "{report}"
    );
    assert!(!project.root.join("Dockerfile").exists());
    let kept = "keep HACKING.md (kbr 0.3.0 does not use it; kept because you edited it)\n";
    assert!(report.contains(kept), "{report}");
    assert!(project.read("HACKING.md").ends_with("mine\n"));
}
