//! Projects to render, and how they are rendered.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;

pub const DEFAULT: &str = "config/default/kustomization.yaml";
pub const CRD: &str = "config/crd/bases/crew.example.com_captains.yaml";

pub fn init() -> TempDir {
    let project = tempfile::tempdir().unwrap();
    kbr(
        &project,
        "init --domain example.com --project-name captains --yes",
    );
    project
}

/// As [`init`], for a project whose objects have names of their own.
pub fn init_with_names() -> TempDir {
    let project = init();
    let text = fs::read_to_string(project.path().join("PROJECT")).unwrap();
    let names = "[names]\nprefix = \"sea\"\nnamespace = \"deep\"\ndeployment = \"kraken\"\nservice_account = \"squid\"\nlease = \"3f.tide.net\"\n";
    fs::remove_dir_all(project.path()).unwrap();
    write(&project, "PROJECT", &(text + names));
    kbr(&project, "init --yes");
    project
}

/// Adds a kind, and the CRD that `kbr manifests` would generate.
pub fn create_api(project: TempDir) -> TempDir {
    let command =
        "create api --group crew --version v1 --kind Captain --resource --controller --yes";
    kbr(&project, command);
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "captains.crew.example.com" },
    });
    write(&project, CRD, &crd.to_string());
    for (path, plurals) in [
        ("rbac/role", &["captains", "nodes"][..]),
        ("namespaced/cluster_role", &["nodes"]),
    ] {
        let path = format!("config/{path}.yaml");
        let role = fs::read_to_string(project.path().join(&path)).unwrap();
        let rules = json!([{ "apiGroups": ["*"], "resources": plurals, "verbs": ["get"] }]);
        write(
            &project,
            &path,
            &role.replace("rules: []", &format!("rules: {rules}")),
        );
    }
    project
}

/// Adds webhooks, and the configurations that `kbr manifests` would generate.
pub fn create_webhooks(project: TempDir) -> TempDir {
    kbr(
        &project,
        "create webhook --group crew --version v1 --kind Captain --defaulting --validation",
    );
    let configuration = |kind: &str, name: &str, path: &str| {
        let service =
            json!({ "name": "captains-webhook", "namespace": "captains-system", "path": path });
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": { "name": format!("captains-{name}-webhook-configuration") },
            "webhooks": [{ "name": "a.b.c", "clientConfig": { "service": service } }],
        })
    };
    let documents = [
        configuration("MutatingWebhookConfiguration", "mutating", "/mutate"),
        configuration("ValidatingWebhookConfiguration", "validating", "/validate"),
    ];
    let text = documents
        .map(|document| document.to_string())
        .join("\n---\n");
    write(&project, "config/webhook/manifests.yaml", &text);
    project
}

/// Adds a second version and its conversion, and the CRD that `kbr manifests` would generate.
pub fn create_conversion(project: TempDir) -> TempDir {
    let kind = "--group crew --version v2 --kind Captain";
    kbr(
        &project,
        &format!("create api {kind} --resource --controller=false"),
    );
    kbr(&project, &format!("create webhook {kind} --conversion"));
    let service =
        json!({ "name": "captains-webhook", "namespace": "captains-system", "path": "/convert" });
    let conversion = json!({ "strategy": "Webhook", "webhook": {
        "clientConfig": { "service": service }, "conversionReviewVersions": ["v1"],
    } });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "captains.crew.example.com" },
        "spec": { "conversion": conversion },
    });
    write(&project, CRD, &crd.to_string());
    for (path, plurals) in [
        ("rbac/role", &["captains", "nodes"][..]),
        ("namespaced/cluster_role", &["nodes"]),
    ] {
        let path = format!("config/{path}.yaml");
        let role = fs::read_to_string(project.path().join(&path)).unwrap();
        let rules = json!([{ "apiGroups": ["*"], "resources": plurals, "verbs": ["get"] }]);
        write(
            &project,
            &path,
            &role.replace("rules: []", &format!("rules: {rules}")),
        );
    }
    project
}

#[track_caller]
pub fn kbr(project: &TempDir, command: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_kbr"))
        .args(command.split(' '))
        .current_dir(project.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kbr {command}: {stderr}");
}

pub fn write(project: &TempDir, path: &str, text: &str) {
    let path = project.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Writes the lines of `components` into `default`, in this order.
pub fn enable(project: &TempDir, default: &str, components: &[&str]) {
    let marker = "  # +kbr:scaffold:components\n";
    assert!(default.contains(marker), "{default}");
    let mut lines: Vec<_> = components
        .iter()
        .map(|component| format!("  - ../{component}\n"))
        .collect();
    lines.push(marker.to_owned());
    write(project, DEFAULT, &default.replace(marker, &lines.concat()));
}

#[track_caller]
pub fn render(project: &TempDir, folder: &str) -> Vec<Value> {
    let rendered = rendered(project, folder);
    let documents = rendered.split("\n---\n");
    documents
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

/// As [`render`], as text.
pub fn rendered(project: &TempDir, folder: &str) -> String {
    let output = Command::new(kubectl())
        .args(["kustomize", folder])
        .current_dir(project.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kustomize {folder}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The kustomize (`kubectl kustomize`) of the local control plane.
pub fn kubectl() -> PathBuf {
    static KUBECTL: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let output = Command::new(env!("CARGO_BIN_EXE_kbr"))
            .args(["envtest", "path"])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let folder = String::from_utf8(output.stdout).unwrap();
        Path::new(folder.trim_end()).join("kubectl")
    };
    KUBECTL.get_or_init(find).clone()
}
