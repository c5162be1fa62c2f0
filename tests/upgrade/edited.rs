//! Upgrades of projects that their users have edited: what stays, and what is lost only if they say so.

use std::fs;

use crate::support::stdout;
use crate::{Project, files};

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
        let dependencies = "[dev-dependencies]\nkbr-testing = { workspace = true, features = [\"simulate\"] }\ntempfile = \"3\"\n";
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
fn the_users_webhooks_are_called_as_before_with_the_parameters_that_they_name() {
    for release in ["0.1.0", "0.2.0"] {
        let project = Project::recorded(release, "a_first_webhook");
        let webhooks = "src/webhooks/crew_v1_captain.rs";
        project.edits(webhooks, "name.len() > 63", "name.len() > 40");
        let result = "        Ok(())\n";
        let default =
            format!("        object.spec.message = Some(cx.name().to_owned());\n{result}");
        project.edits(webhooks, result, &default);

        let report = project.runs("kbr upgrade --no-check");
        let code = project.read(webhooks);
        for line in [
            "        object: &mut Captain,\n        cx: &webhook::Request<Captain>,\n",
            "        check(object, cx.name())\n",
            "        check(new, cx.name())\n",
            "    let mut errors = webhook::FieldErrors::default();\n",
            "    if name.len() > 40 {\n",
            &default,
        ] {
            assert!(code.contains(line), "{release}: {line}: {report}{code}");
        }
    }
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
