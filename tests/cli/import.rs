//! `kbr import`: what a project in Go says arrives, and what does not is listed.

mod matched;
mod safe;

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

/// The folder with the project in Go and the imported one, `new`; what the command said.
fn imported() -> (TempDir, String) {
    let folder = folder();
    let said = import_whole(&folder, &[]);
    (folder, said)
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
    let printed = import_whole(&folder, &[]);
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
        "what the Deployment passes as `--harbour=north`",
        "keep their names in `.finalizer(NAME, cleanup)`: `crew.example.com/ship`",
        "not taken over: `config/default/tide_patch.yaml`",
        "| `src/controllers/captain.rs` | `internal/controller/captain_controller.go` |",
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
    let setup = "func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {\n\treturn ctrl.NewControllerManagedBy(mgr).For(&crewv1.Captain{}).Complete(r)\n}\n\n// Reconcile moves";
    change(&folder, go, "// Reconcile moves", setup);
    let main = folder.path().join("captains/cmd/more.go");
    let more = "const mateFinalizer = Domain + \"/mate\"\nfunc (r *HarbourReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {\n// +kubebuilder:webhook:path=/mate,mutating=true\n";
    fs::write(main, more).unwrap();
    let printed = import_whole(&folder, &[]);
    for text in [
        "imported captains: 2 versions, 2 controllers, 1 webhook",
        "found no CRD of `Settings`, so it is not imported: right for a kind of configuration files",
        "the reconciler `HarbourReconciler` in `cmd/more.go`, because no kind of this project or of Kubernetes is known to be its own",
        "webhooks in `cmd/more.go`, because it is not for a kind of this project or of Kubernetes that has none yet; create each with `kbr create webhook`: `/mate`",
        "these are only a part of the name: `/mate`",
        "not taken over: `config/crd/others/patch.yaml`",
        "| `src/controllers/captain.rs` | `internal/controller/captain_controller.go` |",
    ] {
        assert!(printed.contains(text), "{text:?} is not in:\n{printed}");
    }
    assert!(!printed.contains("others/mates.yaml"), "{printed}");
    has(&folder, "api/src/crew/v1/mate.rs", &["pub ship: String"]);
}

/// Imports the project; what the command printed and wrote into `IMPORT.md`.
fn import_whole(folder: &TempDir, args: &[&str]) -> String {
    let args = [&["captains", "--directory", "new"], args].concat();
    let output = import(folder.path(), &args);
    let printed = support::stderr(&output, folder.path());
    assert!(output.status.success(), "{printed}");
    let report = fs::read_to_string(folder.path().join("new/IMPORT.md")).unwrap();
    // Text has escapes, and code has none.
    format!("{printed}\n{}", report.replace('\\', ""))
}

#[test]
fn the_folder_of_the_crds_is_found_or_named() {
    let folder = folder();
    let crds = folder.path().join("captains/config/crd");
    let others = folder.path().join("captains/deploy/crds");
    fs::create_dir(folder.path().join("captains/deploy")).unwrap();
    fs::rename(crds.join("bases"), &others).unwrap();
    let printed = import_whole(&folder, &[]);
    let note = "note: the CRDs come from `deploy/crds`; `--crds` names another folder";
    assert!(printed.contains(note), "{printed}");
    has(&folder, "api/src/crew/v1/captain.rs", &["pub ship: String"]);

    fs::remove_dir_all(folder.path().join("new")).unwrap();
    fs::rename(others, folder.path().join("crds")).unwrap();
    let printed = import_whole(&folder, &["--crds", "crds"]);
    assert!(!printed.contains("the CRDs come from"), "{printed}");
    has(&folder, "api/src/crew/v1/captain.rs", &["pub ship: String"]);

    fs::remove_dir_all(folder.path().join("new")).unwrap();
    let args = ["captains", "--directory", "new", "--crds", "captains/cmd"];
    let output = import(folder.path(), &args);
    let printed = support::stderr(&output, folder.path());
    assert!(
        printed.contains("found no CRD in the folder of `--crds`"),
        "{printed}"
    );
}

#[test]
fn the_crds_decide_where_project_says_otherwise() {
    for (from, to) in [
        (
            "  domain: example.com\n  group: crew\n",
            "  domain: crew.example.com\n  group: crew.example.com\n",
        ),
        ("  domain: example.com\n  group: crew\n", "  group: core\n"),
        ("domain: example.com\nlayout:\n- go.kubebuilder.io/v4\n", ""),
    ] {
        let folder = folder();
        change(&folder, "PROJECT", from, to);
        let printed = import_whole(&folder, &[]);
        let summary = "imported captains: 1 version, 2 controllers, 1 webhook";
        assert!(printed.contains(summary), "{printed}");
        has(&folder, "PROJECT", &["domain = \"example.com\""]);
    }
    // A kind without a CRD is left out, whatever code PROJECT names for it.
    let folder = folder();
    let ship = "resources:\n- {api: {}, controller: true, domain: example.com, group: crew, kind: Ship, version: v1}\n";
    change(&folder, "PROJECT", "resources:\n", ship);
    let printed = import_whole(&folder, &[]);
    assert!(printed.contains("found no CRD of `Ship`"), "{printed}");
    assert!(
        !printed.contains("`Ship` is a kind of another project"),
        "{printed}"
    );
}

#[test]
fn kinds_of_the_kubernetes_project_can_be_imported() {
    let folder = folder();
    let project = fs::read_to_string(folder.path().join("captains/PROJECT")).unwrap();
    let project = project.replace("example.com\n", "kubernetes.io\n");
    fs::write(folder.path().join("captains/PROJECT"), project).unwrap();
    let crd = "config/crd/bases/crew.example.com_captains.yaml";
    change(
        &folder,
        crd,
        "group: crew.example.com",
        "group: crew.kubernetes.io",
    );
    import_whole(&folder, &[]);
    has(&folder, "PROJECT", &["domain = \"kubernetes.io\""]);
    fs::remove_dir_all(folder.path().join("new")).unwrap();
    import_whole(&folder, &["--domain", "example.com"]);
    has(&folder, "PROJECT", &["domain = \"example.com\""]);
}

#[test]
fn a_project_of_version_2_is_named_after_its_module() {
    let folder = folder();
    let project = "domain: example.com\nresources:\n- {group: crew, kind: Captain, version: v1}\nversion: \"2\"\n";
    fs::write(folder.path().join("captains/PROJECT"), project).unwrap();
    let named = |name: &str| {
        let printed = import_whole(&folder, &[]);
        let note = format!(
            "note: `PROJECT` has no project name: the new project is `{name}`; `--project-name` changes it"
        );
        assert!(printed.contains(&note), "{printed}");
        let summary = format!("imported {name}: 1 version, 1 controller, 1 webhook");
        assert!(printed.contains(&summary), "{printed}");
        fs::remove_dir_all(folder.path().join("new")).unwrap();
    };
    named("captains");
    let module = "module example.com/sea/crew-operator/v2\n\ngo 1.24\n";
    fs::write(folder.path().join("captains/go.mod"), module).unwrap();
    named("crew-operator");
}

#[test]
fn what_is_not_taken_over_is_one_line_for_a_folder() {
    let folder = folder();
    for name in ["a", "b/c", "d/e", "f"] {
        let path = format!("captains/config/overlays/{name}.yaml");
        support::write(&folder.path().join(path), b"a: 1\n");
    }
    // A label of each kind that is left out.
    let crd = folder
        .path()
        .join("captains/config/crd/bases/crew.example.com_captains.yaml");
    let text = fs::read_to_string(&crd).unwrap();
    let labels = text.replace(
        "metadata:\n  annotations:",
        "metadata:\n  labels: {a: b}\n  annotations:",
    );
    assert_ne!(text, labels);
    let mates = labels
        .replace("Captain", "Mate")
        .replace("captain", "mate")
        .replace("[cap]", "[]");
    fs::write(&crd, labels).unwrap();
    fs::write(crd.with_file_name("mates.yaml"), mates).unwrap();
    let printed = import_whole(&folder, &[]);
    let note = "not taken over: files in `config/overlays`; a folder of yours";
    assert!(printed.contains(note), "{printed}");
    assert_eq!(
        printed
            .matches("- [ ] left out the labels of the CRD: `a`")
            .count(),
        1,
        "{printed}"
    );
}

#[test]
fn each_file_that_agents_are_told_of_exists() {
    let (folder, _) = imported();
    let agents = fs::read_to_string(folder.path().join("new/AGENTS.md")).unwrap();
    let (_, parts) = agents.split_once("```text\n").unwrap();
    let (parts, _) = parts.split_once("```").unwrap();
    let lines = parts.lines().filter(|line| !line.starts_with('#'));
    let files: Vec<_> = lines
        .flat_map(|line| line.split_once(": ").unwrap().1.split(", "))
        .collect();
    assert!(files.len() > 4, "{parts}");
    for file in files {
        assert!(folder.path().join("new").join(file).exists(), "{file}");
    }
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
            "found no CRD of `Captain`",
            "run `make manifests` in the project in Go, or name the folder of its CRDs with `--crds DIR`",
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
