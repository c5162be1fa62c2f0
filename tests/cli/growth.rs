//! Files of strangers take neither the machine's memory nor its time: each of these took gigabytes or minutes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::support;

/// Within 2 GB of memory and 100 seconds of processor time, of which each needs a tenth. Not the time that passes: machines are busy.
fn kbr(folder: &Path, args: &[&str]) -> Output {
    let limits = "ulimit -v 2000000 -t 100; exec \"$0\" \"$@\"";
    let mut sh = Command::new("sh");
    sh.args(["-c", limits, env!("CARGO_BIN_EXE_kbr")]);
    sh.args(args).current_dir(folder).output().unwrap()
}

fn import(folder: &Path) -> (bool, String) {
    let output = kbr(folder, &["import", "go", "--directory", "new"]);
    (output.status.success(), support::stderr(&output, folder))
}

/// A project in Go with this text at the end of PROJECT, and these files.
fn project(more: &str, files: impl IntoIterator<Item = (String, String)>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let head = "version: '3'\nlayout: [go.kubebuilder.io/v4]\nprojectName: captains\ndomain: example.com\nrepo: example.com/captains\n";
    let write = |path: &str, text: &str| {
        support::write(&folder.path().join("go").join(path), text.as_bytes());
    };
    write("PROJECT", &(head.to_owned() + more));
    for (path, text) in files {
        write(&path, &text);
    }
    folder
}

/// Resources with a controller of a kind that Kubernetes has.
fn controllers(count: usize) -> String {
    let name = |at: usize| format!("- {{name: deployment-{at}}}\n");
    let names: String = (0..count).map(|at| "    ".to_owned() + &name(at)).collect();
    format!("resources:\n- group: apps\n  version: v1\n  kind: Deployment\n  controllers:\n{names}")
}

#[test]
fn a_go_file_with_many_reconcilers_is_carried_once() {
    let receiver = |at: usize| {
        format!(
            "// +kubebuilder:rbac:groups=g{at},resources=a,verbs=get\nfunc (r *Deployment{at}Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {{\n"
        )
    };
    let text: String = (0..12_000).map(receiver).collect();
    let folder = project(&controllers(30), [("a.go".to_owned(), text)]);
    let (success, printed) = import(folder.path());
    assert!(success, "{printed}");
    let written = support::tree(&folder.path().join("new/src/controllers"));
    let sizes = written.values().map(Vec::len);
    let (large, small): (Vec<usize>, Vec<usize>) = sizes.partition(|size| *size > 1_000_000);
    assert_eq!(large.len(), 1);
    assert!(small.iter().all(|size| *size < 10_000), "{small:?}");
    let second = String::from_utf8(written["deployment_7.rs"].clone()).unwrap();
    let place =
        "// The reconciler in Go is in the comment at the end of `src/controllers/deployment_0.rs`";
    assert!(second.contains(place), "{second}");
    // Those that PROJECT names are not all; the others fill no screen.
    let other = (0..12_000).map(|at| format!("func (r *Other{at}Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {{\n"));
    let other = ("b.go".to_owned(), other.collect());
    let (success, printed) = import(project("", [other]).path());
    assert!(success, "{printed}");
    let note = "the reconcilers `Other0Reconciler`, `Other1Reconciler`, `Other2Reconciler` and 11997 more in `b.go`";
    assert!(printed.contains(note), "{printed}");
}

#[test]
fn aliases_that_repeat_more_than_they_say_are_left_out() {
    let repeat = |at: usize| format!("l{at}: &l{at} [{}]\n", format!("*l{}, ", at - 1).repeat(6));
    let text: String = "l0: &l0 [a, a, a]\n".to_owned() + &(1..9).map(repeat).collect::<String>();
    let sample = |at: usize| (format!("config/samples/{at}.yaml"), text.clone());
    let (success, printed) = import(project("", (0..100).map(sample)).path());
    assert!(success, "{printed}");
}

#[test]
fn more_than_a_project_can_have_is_an_error_that_names_the_limit() {
    let list = format!("a: [{}]\n", "a, ".repeat(40_000));
    let values = (0..26).map(|at| (format!("config/samples/{at}.yaml"), list.clone()));
    let crd = |at: usize| {
        let text = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: a{at}s.x.io}}\nspec: {{group: x.io, scope: Namespaced, names: {{kind: A{at}, plural: a{at}s}}, versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}\n"
        );
        (format!("config/crd/bases/{at}.yaml"), text)
    };
    let webhooks = "// +kubebuilder:webhook:path=/a,mutating=true\n".repeat(1001);
    for (folder, part) in [
        (project("", values), "its YAML has too many values"),
        (
            project("", (0..1001).map(crd)),
            "it has 1001 versions of kinds, but an import takes at most 1000",
        ),
        (
            project("", [("a.go".to_owned(), webhooks)]),
            "it has 1001 `+kubebuilder:webhook` comments",
        ),
        (
            project(&controllers(1001), []),
            "it has 1001 controllers and webhooks",
        ),
    ] {
        let (success, printed) = import(folder.path());
        assert!(!success && printed.contains(part), "{part}: {printed}");
        assert!(
            printed.contains("nothing was written") && printed.contains("help: "),
            "{printed}"
        );
        assert!(!folder.path().join("new").exists());
    }
}

/// Runs `kbr create api --from-crd` with a CRD that has this schema of `spec` and these versions.
fn create(spec: &str, versions: usize) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let init = [
        "init",
        "--domain",
        "example.com",
        "--project-name",
        "captains",
    ];
    assert!(kbr(folder.path(), &init).status.success());
    let version = |at: usize| {
        let is_stored = at == 1;
        format!(
            "  - {{name: v{at}, served: true, storage: {is_stored}, schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {spec}}}}}}}}}\n"
        )
    };
    let versions: String = (1..=versions).map(version).collect();
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: ships.x.io}}\nspec:\n  group: x.io\n  scope: Namespaced\n  names: {{kind: Ship, plural: ships}}\n  versions:\n{versions}"
    );
    fs::write(folder.path().join("crd.yaml"), crd).unwrap();
    let output = kbr(
        folder.path(),
        &[
            "create",
            "api",
            "--from-crd",
            "crd.yaml",
            "--controller=false",
        ],
    );
    (
        output.status.success(),
        support::stderr(&output, folder.path()),
    )
}

#[test]
fn a_definition_with_many_values_fields_or_versions_is_read_or_refused() {
    let list = |count: usize, one: fn(usize) -> String| {
        let all: Vec<String> = (0..count).map(one).collect();
        all.join(", ")
    };
    let values = list(8000, |at| format!("value{at}"));
    let (success, printed) = create(
        &format!("{{type: object, properties: {{a: {{type: string, enum: [{values}]}}}}}}"),
        1,
    );
    assert!(success, "{printed}");
    let fields = list(2000, |at| format!("f{at}: {{type: string}}"));
    let names = list(2000, |at| format!("f{at}"));
    let (success, printed) = create(
        &format!("{{type: object, required: [{names}], properties: {{{fields}}}}}"),
        1,
    );
    assert!(success, "{printed}");
    let (success, printed) = create("{type: object}", 101);
    assert!(
        !success && printed.contains("the CRD has 101 versions, but kbr takes at most 100"),
        "{printed}"
    );
    let long = format!("{{type: object, description: {}}}", "long ".repeat(700_000));
    let (success, printed) = create(&long, 1);
    assert!(
        !success && printed.contains("KiB as JSON, but an API server reads at most 3072"),
        "{printed}"
    );
}
