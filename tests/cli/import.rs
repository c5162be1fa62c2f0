//! `kbr import`: what a project in Go says arrives, and what does not is listed.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::support;

/// A folder with the project in Go, `captains`, beside which others can be written.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let fixture = support::repository().join("tests/cli/import/captains");
    support::copy(&fixture, &folder.path().join("captains"));
    folder
}

fn import(folder: &Path, args: &[&str]) -> Output {
    let kbr = Command::new(env!("CARGO_BIN_EXE_kbr"))
        .arg("import")
        .args(args)
        .current_dir(folder)
        .output();
    kbr.unwrap()
}

/// The folder with the project in Go and the imported one, `new`; what the command printed.
fn imported() -> (TempDir, String) {
    let folder = folder();
    let output = import(folder.path(), &["captains", "--directory", "new"]);
    let printed = support::stderr(&output, folder.path());
    assert!(output.status.success(), "{printed}");
    (folder, printed)
}

fn has(folder: &TempDir, path: &str, texts: &[&str]) {
    let file = fs::read_to_string(folder.path().join("new").join(path)).unwrap();
    for text in texts {
        assert!(file.contains(text), "{path} has no {text:?}:\n{file}");
    }
}

#[test]
fn kinds_controllers_and_permissions_of_a_project_in_go_are_taken_over() {
    let (folder, _) = imported();
    has(
        &folder,
        "PROJECT",
        &[
            "name = \"captains\"",
            "imported = true",
            "name = \"deployment\"",
            "validation = \"/check\"",
        ],
    );
    has(
        &folder,
        "api/src/crew/v1/captain.rs",
        &["pub ship: String", "shortname = \"cap\""],
    );
    has(
        &folder,
        "api/imported/crew.example.com_captains.yaml",
        &["minLength: 1"],
    );
    has(
        &folder,
        "src/controllers/captain.rs",
        &[
            "// +kbr:rbac:groups=core,resources=configmaps,verbs=get;create;delete\n",
            "`internal/controller/captain_controller.go`",
            "kbr_testing::simulate(register).run();",
            "\n// func (r *CaptainReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {\n//     return",
        ],
    );
    has(
        &folder,
        "src/main.rs",
        &["// +kbr:rbac:groups=coordination.example.com,resources=berths,verbs=list\n"],
    );
    has(
        &folder,
        "src/webhooks/crew_v1_captain.rs",
        &[
            "failurePolicy=ignore,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create,versions=v1,name=mcaptain-v1.kb.io",
            "timeoutSeconds=5",
        ],
    );
}

#[test]
fn the_deployment_can_take_over_from_the_one_in_go() {
    let (folder, _) = imported();
    has(
        &folder,
        "config/manager/manager.yaml",
        &[
            "    matchLabels:\n      control-plane: controller-manager\n      team: crew\n",
            "        team: crew\n    spec:",
            "  replicas: 2\n",
            "            - {\"name\":\"TIDE\",\"value\":\"high\"}\n",
            "            limits: {\"memory\":\"256Mi\"}\n",
        ],
    );
    has(
        &folder,
        "src/main.rs",
        &[
            "const LEASE: &str = \"3f7a1c2e.example.com\";\n",
            ".get_or_insert_with(|| LEASE.to_owned());\n",
            "    manager.take_over(\"manager\");\n    manager.take_over(\"harbour\");\n",
        ],
    );
    has(
        &folder,
        "config/rbac/leader_election_role.yaml",
        &["resourceNames: [\"3f7a1c2e.example.com\"]"],
    );
    has(
        &folder,
        "Makefile",
        &["IMG ?= registry.example.com/crew/captains:v7\n"],
    );
    has(
        &folder,
        "config/samples/crew_v1_captain.yaml",
        &["ship: Nautilus"],
    );
}

#[test]
fn a_namespaced_project_has_its_permissions_in_its_namespace_only() {
    let folder = folder();
    let change = |path: &str, from: &str, to: &str| {
        let path = folder.path().join("captains").join(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replace(from, to)).unwrap();
    };
    change("PROJECT", "projectName:", "namespaced: true\nprojectName:");
    let go = "internal/controller/captain_controller.go";
    change(go, "groups=core,", "groups=core,namespace=captains-system,");
    change(
        go,
        "=crew.example.com,",
        "=crew.example.com,namespace=fleet,",
    );
    let watched = "        - name: WATCH_NAMESPACE\n          value: a,b\n        resources:\n";
    change(
        "config/manager/manager.yaml",
        "        resources:\n",
        watched,
    );
    let output = import(folder.path(), &["captains", "--directory", "new"]);
    let printed = support::stderr(&output, folder.path());
    assert!(output.status.success(), "{printed}");
    let note = "the operator in Go watches the namespaces `a,b`: add them to `config/namespaced`";
    assert!(printed.contains(note), "{printed}");
    has(
        &folder,
        "src/controllers/captain.rs",
        &[
            "// +kbr:rbac:groups=core,resources=configmaps,verbs=get;create;delete\n",
            "// +kbr:rbac:groups=crew.example.com,namespace=fleet,",
        ],
    );
    let component = "  - ../namespaced\n";
    has(&folder, "config/default/kustomization.yaml", &[component]);
    let manager = fs::read_to_string(folder.path().join("new/config/manager/manager.yaml"));
    let manager = manager.unwrap();
    // The component sets it.
    assert!(!manager.contains("WATCH_NAMESPACE"), "{manager}");
}

#[test]
fn what_is_not_taken_over_is_listed_with_where_it_belongs() {
    let (_folder, printed) = imported();
    for text in [
        "imported captains: 1 version, 2 controllers, 1 webhook",
        "`Certificate` is a kind of another project: `kbr create api --group cert-manager.io --version v1 --kind Certificate",
        "`Issuer` is a kind of another project: `kbr create webhook --group cert-manager.io --version v1 --kind Issuer --validation --external-crate CRATE --external-type TYPE`",
        "the flag `--harbour=north`",
        "`.finalizer(\"crew.example.com/ship\", cleanup)`",
        "not taken over: `config/default/tide_patch.yaml`",
        "port src/controllers/captain.rs, which has internal/controller/captain_controller.go as a comment",
    ] {
        assert!(printed.contains(text), "{text:?} is not in:\n{printed}");
    }
}

/// Changes a file of the project in Go.
fn change(folder: &TempDir, path: &str, from: &str, to: &str) {
    let path = folder.path().join("captains").join(path);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(&path, text.replace(from, to)).unwrap();
}

#[test]
fn a_project_whose_files_differ_from_its_project_file_is_taken_over_whole() {
    let folder = folder();
    // A second kind that PROJECT does not name, a kind of configuration files, and one without its `api`.
    let crd = folder.path().join("captains/config/crd/bases");
    let captain = fs::read_to_string(crd.join("crew.example.com_captains.yaml")).unwrap();
    let mate = captain
        .replace("Captain", "Mate")
        .replace("captain", "mate")
        .replace("[cap]", "[]");
    let others = folder.path().join("captains/config/crd/others");
    fs::create_dir(&others).unwrap();
    fs::write(others.join("mates.yaml"), mate).unwrap();
    let patch = "kind: CustomResourceDefinition\nmetadata: {name: captains.crew.example.com}\n";
    fs::write(others.join("patch.yaml"), patch).unwrap();
    change(
        &folder,
        "PROJECT",
        "- api:\n    crdVersion: v1\n    namespaced: true\n  controllers:",
        "- controllers:",
    );
    let config =
        "resources:\n- api: {crdVersion: v1}\n  group: config\n  kind: Settings\n  version: v1\n";
    change(&folder, "PROJECT", "resources:\n", config);
    // Its name says nothing, but its file does.
    let go = "internal/controller/captain_controller.go";
    change(&folder, go, "*CaptainReconciler", "*Reconciler");
    let setup = "package controller\n// ctrl.NewControllerManagedBy(mgr).For(&crewv1.Captain{}).Complete(r)\n";
    change(&folder, go, "package controller\n", setup);
    let main = folder.path().join("captains/cmd/more.go");
    let more = "const mateFinalizer = Domain + \"/mate\"\nfunc (r *MateReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {\n// +kubebuilder:webhook:path=/mate,mutating=true\n";
    fs::write(main, more).unwrap();
    let output = import(folder.path(), &["captains", "--directory", "new"]);
    let printed = support::stderr(&output, folder.path());
    assert!(output.status.success(), "{printed}");
    for text in [
        "imported captains: 2 versions, 2 controllers, 1 webhook",
        "no CRD of `Settings`, so it is not imported: right for a kind of configuration files",
        "the reconciler `MateReconciler` in `cmd/more.go`, of which `PROJECT` names no controller",
        "the webhook at `/mate` in `cmd/more.go`, which `PROJECT` does not name",
        "a finalizer of which `/mate` is a part: keep its whole name",
        "not taken over: `config/crd/others/patch.yaml`",
        "port src/controllers/captain.rs, which has internal/controller/captain_controller.go",
    ] {
        assert!(printed.contains(text), "{text:?} is not in:\n{printed}");
    }
    assert!(!printed.contains("others/mates.yaml"), "{printed}");
    has(&folder, "api/src/crew/v1/mate.rs", &["pub ship: String"]);
}

#[test]
fn a_folder_that_cannot_be_imported_is_an_error_with_the_cure() {
    let folder = folder();
    let fails = |args: &[&str], texts: &[&str]| {
        let output = import(folder.path(), args);
        let printed = support::stderr(&output, folder.path());
        assert!(!output.status.success(), "{printed}");
        for text in texts {
            assert!(
                printed.contains(text),
                "{args:?}: {text:?} is not in:\n{printed}"
            );
        }
        assert!(printed.contains("nothing was written"), "{printed}");
    };
    fails(
        &["captains", "--directory", "captains/rust"],
        &["a folder beside the one in Go"],
    );
    fails(&["captains"], &["a folder beside the one in Go"]);
    std::os::unix::fs::symlink("captains", folder.path().join("link")).unwrap();
    for inside in [
        "link/new",
        "link/a/b",
        "captains/../captains/new",
        "a/../captains/new",
    ] {
        fails(
            &["captains", "--directory", inside],
            &["a folder beside the one in Go"],
        );
        fails(
            &["link", "--directory", inside],
            &["a folder beside the one in Go"],
        );
    }
    fails(
        &["nowhere", "--directory", "new"],
        &["cannot read `nowhere`"],
    );
    fails(
        &["captains/config", "--directory", "new"],
        &["no file `PROJECT`", "pass the root"],
    );
    let webhook = folder
        .path()
        .join("captains/internal/webhook/v1/captain_webhook.go");
    let text = fs::read_to_string(&webhook).unwrap();
    fs::write(&webhook, text.replace("path=/check", "path=/a\");x(\"")).unwrap();
    fails(
        &["captains", "--directory", "new"],
        &["is not a webhook path"],
    );
    fs::remove_dir_all(folder.path().join("captains/config/crd")).unwrap();
    fails(
        &["captains", "--directory", "new"],
        &[
            "`config/crd` has no CRD of `Captain`",
            "run `make manifests` in the project in Go, or copy the CRD",
        ],
    );
    assert!(!folder.path().join("new").exists());
}

#[cfg(unix)]
#[test]
fn a_link_in_the_project_is_not_followed() {
    let folder = folder();
    let secret = folder.path().join("secret.go");
    fs::write(
        &secret,
        "// +kubebuilder:rbac:groups=secret,resources=secrets,verbs=get\n",
    )
    .unwrap();
    std::os::unix::fs::symlink(&secret, folder.path().join("captains/cmd/link.go")).unwrap();
    let output = import(folder.path(), &["captains", "--directory", "new"]);
    assert!(output.status.success(), "{output:?}");
    let main = fs::read_to_string(folder.path().join("new/src/main.rs")).unwrap();
    assert!(!main.contains("groups=secret"), "{main}");
}
