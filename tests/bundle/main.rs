//! `kbr bundle`: OLM's own validators accept it, and it has what the project has.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::{Value, json};
#[path = "../support/mod.rs"]
mod support;

const TABLE: &str = r#"
[bundle]
display_name = "Home"
description = "Describes homes."
provider = "The Home Project"
maintainers = [{ name = "Home Maintainers", email = "home@example.com" }]
links = [{ name = "Home", url = "https://example.com" }]
icon = "icon.svg"
min_kube_version = "1.30.0"
categories = ["Developer Tools"]
capabilities = "Seamless Upgrades"
replaces = "home.v0.3.0"
"#;

fn bundle(project: &Path, args: &[&str]) -> Output {
    let kbr = Command::new(env!("CARGO_BIN_EXE_kbr"))
        .arg("bundle")
        .args(args)
        .current_dir(project)
        .output();
    kbr.unwrap()
}

fn succeeds(project: &Path, args: &[&str]) {
    let output = bundle(project, args);
    assert!(
        output.status.success(),
        "{}",
        support::stderr(&output, project)
    );
}

fn fails(project: &Path, args: &[&str], message: &str) {
    let output = bundle(project, args);
    let printed = support::stderr(&output, project);
    assert!(
        !output.status.success() && printed.contains(message),
        "{printed}"
    );
    assert!(!project.join("bundle").exists());
}

/// Builds `validate/main.go`, once.
fn validator() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bundle-validate");
        let built = Command::new("go")
            .args(["build", "-trimpath", "-buildvcs=false", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(support::repository().join("tests/bundle/validate"))
            .envs([("GOWORK", "off"), ("GOFLAGS", "-mod=readonly")])
            // As for the control plane, whose compiled packages Go uses again.
            .env("CGO_ENABLED", "0")
            .status()
            .expect("Go is not installed; install it from https://go.dev/dl/");
        assert!(built.success());
        program
    })
}

/// The warnings of OLM's validators; fails with their errors.
fn validate(project: &Path) -> Vec<String> {
    let output = Command::new(validator())
        .arg(project.join("bundle"))
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    printed.lines().map(str::to_owned).collect()
}

fn csv(project: &Path, name: &str) -> Value {
    let path = format!("bundle/manifests/{name}.clusterserviceversion.yaml");
    serde_saphyr::from_str(&std::fs::read_to_string(project.join(path)).unwrap()).unwrap()
}

#[test]
fn olm_accepts_a_project_with_webhooks_and_conversion_and_two_runs_are_equal() {
    let project = support::example("home");
    let path = project.path().join("PROJECT");
    let tables = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, tables + TABLE).unwrap();
    support::write(
        &project.path().join("icon.svg"),
        b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
    );
    let digest = format!("registry.example.com/home@sha256:{}", "0".repeat(64));
    let args = [
        "--version",
        "0.4.0",
        "--channels",
        "stable",
        "--image",
        &digest,
        "--use-image-digests",
    ];
    succeeds(project.path(), &args);
    assert_eq!(validate(project.path()), [""; 0]);
    let first = support::tree(project.path());
    succeeds(project.path(), &args);
    assert_eq!(support::tree(project.path()), first);
    succeeds(project.path(), &[&args[..], &["--check"]].concat());

    let spec = &csv(project.path(), "home")["spec"];
    let supported: Vec<_> = spec["installModes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["supported"] == true)
        .collect();
    assert_eq!(
        supported,
        [&json!({ "type": "AllNamespaces", "supported": true })]
    );
    let kinds: Vec<_> = spec["webhookdefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "MutatingAdmissionWebhook",
            "ValidatingAdmissionWebhook",
            "ConversionWebhook"
        ]
    );
    let args = &spec["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"]["containers"]
        [0]["args"];
    assert!(
        args.as_array().unwrap().contains(&json!(
            "--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs"
        )),
        "{args}"
    );
    assert!(!args.to_string().contains("self-managed"), "{args}");
}

#[test]
fn a_project_without_a_table_has_only_the_warnings_that_a_table_would_answer() {
    let project = support::example("guestbook");
    succeeds(project.path(), &[]);
    let warnings = validate(project.path()).join("\n");
    for part in ["minKubeVersion", "Icon", "channel-naming"] {
        assert!(warnings.contains(part), "{warnings}");
    }
    let name = csv(project.path(), "guestbook")["metadata"]["name"].clone();
    assert!(name.as_str().unwrap().starts_with("guestbook.v"), "{name}");
}

#[test]
fn what_olm_does_not_take_is_refused_and_nothing_is_written() {
    let project = support::example("guestbook");
    fails(
        project.path(),
        &["--use-image-digests"],
        "the image `controller:latest` has no digest",
    );
    fails(
        project.path(),
        &["--channels", "a,,b"],
        "a channel has no name",
    );
    let lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  name: guestbook-lease\n  namespace: guestbook-system\n";
    support::write(
        &project.path().join("config/manager/lease.yaml"),
        lease.as_bytes(),
    );
    let path = project.path().join("config/manager/kustomization.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "  - lease.yaml\n").unwrap();
    fails(
        project.path(),
        &[],
        "OLM does not install these objects of `config/default`: Lease `guestbook-lease`",
    );
}

#[test]
fn a_role_of_another_name_is_permitted_and_one_of_another_namespace_is_left_out_with_a_note() {
    let project = support::example("guestbook");
    let role = |kind: &str, at: &str, resource: &str| {
        let head = format!("---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}");
        format!(
            "{head}\nmetadata: {at}\nrules: [{{apiGroups: [apps], resources: [{resource}], verbs: [get]}}]\n{head}Binding\nmetadata: {at}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: extra}}\nsubjects: [{{kind: ServiceAccount, name: guestbook-controller-manager, namespace: guestbook-system}}]\n"
        )
    };
    let path = project.path().join("config/rbac/role.yaml");
    let text = std::fs::read_to_string(&path).unwrap()
        + &role("ClusterRole", "{name: extra}", "replicasets")
        + &role("Role", "{name: extra, namespace: infra}", "statefulsets")
        + &role(
            "Role",
            "{name: extra, namespace: guestbook-system}",
            "daemonsets",
        );
    std::fs::write(&path, text).unwrap();
    let output = bundle(project.path(), &[]);
    let printed = support::stderr(&output, project.path());
    assert!(
        output.status.success() && printed.contains("chooses: `extra` in `infra`."),
        "{printed}"
    );
    let install = &csv(project.path(), "guestbook")["spec"]["install"]["spec"];
    let permitted = |key: &str, resource: &str| install[key].to_string().contains(resource);
    assert!(permitted("clusterPermissions", "replicasets"), "{install}");
    assert!(permitted("permissions", "daemonsets"), "{install}");
    let files = support::tree(project.path());
    let files = format!("{files:?}");
    assert!(
        !install.to_string().contains("statefulsets") && !files.contains("extra_rbac"),
        "{files}"
    );
}

#[test]
fn what_is_not_generated_yet_is_named_with_the_command_that_generates_it() {
    let project = support::example("guestbook");
    std::fs::remove_dir_all(project.path().join("config/crd/bases")).unwrap();
    let output = bundle(project.path(), &[]);
    let printed = support::stderr(&output, project.path());
    assert!(!output.status.success());
    let (first, rest) = printed.split_once('\n').unwrap();
    assert_eq!(
        first,
        "error: `kubectl kustomize config/default` fails; nothing was written"
    );
    assert!(
        rest.contains("bases/webapp.my.domain_guestbooks.yaml"),
        "{rest}"
    );
    assert!(rest.contains("help: run `kbr manifests` first"), "{rest}");
}
