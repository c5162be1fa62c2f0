//! The policy of a deployed operator with webhooks, on a real API server.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::project::{CRD, create_api, create_conversion, create_webhooks, init, write};

const KBR: &str = env!("CARGO_BIN_EXE_kbr");

#[test]
fn the_operator_may_change_nothing_but_its_ca_bundles() {
    check(&mut Command::new(KBR));
}

#[test]
#[ignore = "`make test-release` runs it: it builds another version of Kubernetes"]
fn the_operator_may_change_nothing_but_its_ca_bundles_on_the_older_version_of_kubernetes() {
    let kubernetes = kbr_envtest::modules::versions().last().unwrap();
    let build = ["envtest", "build", "--kubernetes", kubernetes];
    let assets = stdout(Command::new(KBR).args(build));
    let printed = check(Command::new(KBR).env("KUBEBUILDER_ASSETS", assets.trim_end()));
    let version = format!(r#""gitVersion": "v{kubernetes}""#);
    assert!(printed.contains(&version), "{printed}");
}

/// Deployed as rendered, upgraded, and moved to another namespace: `policy.sh` acts as the operator with its permissions. Returns what
/// the script printed.
#[track_caller]
fn check(kbr: &mut Command) -> String {
    let project = create_conversion(create_webhooks(create_api(init())));
    write(&project, CRD, &crd().to_string());
    let documents = ["Mutating", "Validating"].map(|kind| configuration(kind).to_string());
    let manifests = documents.join("\n---\n");
    write(&project, "config/webhook/manifests.yaml", &manifests);
    let overlay = "namespace: fleet\nresources: [../default]\n";
    write(&project, "config/fleet/kustomization.yaml", overlay);
    let overlay = "namePrefix: x-\nresources: [../fleet]\n";
    write(&project, "config/prefixed/kustomization.yaml", overlay);

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kustomize/policy.sh");
    let empty = tempfile::tempdir().unwrap();
    kbr.args(["envtest", "run", "--", "sh", "-e"])
        .args([&script, project.path()])
        .current_dir(empty.path());
    stdout(kbr)
}

#[track_caller]
fn stdout(kbr: &mut Command) -> String {
    let output = kbr.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}\n{stderr}");
    stdout
}

/// A configuration with two webhooks.
fn configuration(kind: &str) -> Value {
    let webhook = |name: &str| {
        json!({
            "name": format!("{name}.crew.example.com"),
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": client(&format!("/{name}")),
            "rules": [{
                "apiGroups": ["crew.example.com"], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": ["captains"],
            }],
        })
    };
    let name = kind.to_lowercase();
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": format!("{kind}WebhookConfiguration"),
        "metadata": { "name": format!("captains-{name}-webhook-configuration") },
        "webhooks": [webhook("a"), webhook("b")],
    })
}

fn crd() -> Value {
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": { "openAPIV3Schema": { "type": "object" } },
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "captains.crew.example.com" },
        "spec": {
            "group": "crew.example.com",
            "scope": "Namespaced",
            "names": { "kind": "Captain", "plural": "captains" },
            "versions": [version("v1", true), version("v2", false)],
            "conversion": { "strategy": "Webhook", "webhook": {
                "clientConfig": client("/convert"), "conversionReviewVersions": ["v1"],
            } },
        },
    })
}

fn client(path: &str) -> Value {
    json!({ "service": {
        "name": "captains-webhook", "namespace": "captains-system", "path": path, "port": 443,
    } })
}
