//! `config/` of a generated project renders in every state, and is consistent.

mod consistent;
mod own_namespace;
mod policy;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;

use consistent::{check, named, of_kind, text};

const COMPONENTS: [&str; 4] = [
    "prometheus",
    "network-policy",
    "namespaced",
    "high-availability",
];
const DEFAULT: &str = "config/default/kustomization.yaml";
const CRD: &str = "config/crd/bases/crew.example.com_captains.yaml";

#[test]
fn a_project_without_a_kind_renders() {
    let project = init();
    check(&render(&project, "config/default"), "captains-system");
}

#[test]
fn components_can_be_in_any_order() {
    let project = create_api(init());
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    for subset in subsets() {
        let mut first = None;
        // In both directions, so that each of any two components comes first once.
        let backwards = subset.iter().rev().copied().collect();
        for order in [subset, backwards] {
            enable(&project, &default, &order);
            let objects = render(&project, "config/default");
            check(&objects, "captains-system");
            check_components(&objects, &order);
            let texts: BTreeSet<_> = objects.iter().map(Value::to_string).collect();
            let first = first.get_or_insert_with(|| texts.clone());
            assert_eq!(first, &texts, "{order:?}");
        }
    }
}

#[test]
fn both_certificate_components_render_with_every_other_component() {
    let project = create_webhooks(create_api(init()));
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    let self_signed = "  - ../webhook-self-signed\n";
    assert!(default.contains(self_signed), "{default}");
    let default = default.replace(self_signed, "");
    for certificate in ["webhook-self-signed", "webhook-certmanager"] {
        for mut on in subsets() {
            on.push(certificate);
            // First, and last.
            for order in [on.clone(), on.iter().rev().copied().collect()] {
                enable(&project, &default, &order);
                let objects = render(&project, "config/default");
                check(&objects, "captains-system");
                check_components(&objects, &order);
                check_webhooks(&objects, certificate, "captains-system");
            }
        }
    }
}

#[test]
fn an_overlay_moves_webhooks_to_another_namespace() {
    let project = create_webhooks(create_api(init()));
    let overlay = "namespace: fleet\nresources: [../default]\n";
    write(&project, "config/fleet/kustomization.yaml", overlay);
    let objects = render(&project, "config/fleet");
    check(&objects, "fleet");
    check_webhooks(&objects, "webhook-self-signed", "fleet");
}

#[test]
fn the_overlay_in_the_docs_moves_the_namespace_for_cert_manager() {
    let project = create_conversion(create_webhooks(create_api(init())));
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    let default = default.replace("../webhook-self-signed", "../webhook-certmanager");
    write(&project, DEFAULT, &default);
    let overlay = documented("source: { kind: Certificate");
    write(&project, "config/fleet/kustomization.yaml", overlay);
    let objects = render(&project, "config/fleet");
    check(&objects, "fleet");
    check_webhooks(&objects, "webhook-certmanager", "fleet");
    let all = objects.iter().map(Value::to_string).collect::<String>();
    assert!(!all.contains("captains-system"), "{all}");
}

/// The only YAML block of the page on webhooks that contains `part`.
fn documented(part: &str) -> &'static str {
    let page = include_str!("../../docs/webhooks.md");
    let blocks = page.split("```yaml\n").skip(1);
    let blocks = blocks.map(|block| block.split_once("```").unwrap().0);
    let found: Vec<_> = blocks.filter(|block| block.contains(part)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

#[test]
fn a_project_with_only_conversion_renders() {
    let project = create_conversion(create_api(init()));
    check(&render(&project, "config/default"), "captains-system");
    let overlay = "namespace: fleet\nresources: [../default]\n";
    write(&project, "config/fleet/kustomization.yaml", overlay);
    check(&render(&project, "config/fleet"), "fleet");
}

#[test]
fn an_overlay_moves_all_objects_to_another_namespace() {
    let project = create_api(init());
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    let overlay = "namespace: fleet\nresources: [../default]\n";
    write(&project, "config/fleet/kustomization.yaml", overlay);
    for subset in subsets() {
        enable(&project, &default, &subset);
        check(&render(&project, "config/fleet"), "fleet");
    }
}

#[test]
fn a_second_namespace_is_a_folder_and_two_lines() {
    let project = create_api(init());
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    enable(&project, &default, &["namespaced"]);
    let read = |path: &str| fs::read_to_string(project.path().join(path)).unwrap();

    let folder = read("config/namespaced/captains-system/kustomization.yaml");
    let folder = folder.replace("namespace: captains-system", "namespace: team-a");
    write(
        &project,
        "config/namespaced/team-a/kustomization.yaml",
        &folder,
    );
    let path = "config/namespaced/kustomization.yaml";
    let component = read(path)
        .replace("  - captains-system\n", "  - captains-system\n  - team-a\n")
        .replace("value: $(POD_NAMESPACE)", "value: $(POD_NAMESPACE),team-a");
    write(&project, path, &component);

    let objects = render(&project, "config/default");
    let roles: Vec<_> = objects
        .iter()
        .filter(|object| named(object, "Role", "captains-manager-role"))
        .map(|object| text(object, "/metadata/namespace"))
        .collect();
    assert_eq!(roles, ["captains-system", "team-a"]);
    for object in objects
        .iter()
        .filter(|object| text(object, "/kind") == "RoleBinding")
    {
        let subject = text(object, "/subjects/0/namespace");
        assert_eq!(subject, "captains-system", "{object}");
    }
}

#[test]
fn samples_render() {
    let project = create_api(init());
    let samples = render(&project, "config/samples");
    let [sample] = &samples[..] else {
        panic!("{samples:?}")
    };
    assert_eq!(text(sample, "/apiVersion"), "crew.example.com/v1");
    assert_eq!(text(sample, "/kind"), "Captain");
}

fn init() -> TempDir {
    let project = tempfile::tempdir().unwrap();
    kbr(
        &project,
        "init --domain example.com --project-name captains --yes",
    );
    project
}

/// Adds a kind, and the CRD that `kbr manifests` would generate.
fn create_api(project: TempDir) -> TempDir {
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
fn create_webhooks(project: TempDir) -> TempDir {
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
fn create_conversion(project: TempDir) -> TempDir {
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

/// The webhooks use an existing Service, and a certificate with exactly one manager and a CA bundle.
#[track_caller]
fn check_webhooks(objects: &[Value], certificate: &str, namespace: &str) {
    let find = |kind: &str, name: &str| {
        let found: Vec<_> = objects
            .iter()
            .filter(|object| named(object, kind, name))
            .collect();
        assert_eq!(found.len(), 1, "{kind} {name}");
        found[0]
    };
    let service = find("Service", "captains-webhook");
    assert_eq!(text(service, "/metadata/namespace"), namespace);
    let self_managed = certificate == "webhook-self-signed";
    for (kind, name) in [
        (
            "MutatingWebhookConfiguration",
            "captains-mutating-webhook-configuration",
        ),
        (
            "ValidatingWebhookConfiguration",
            "captains-validating-webhook-configuration",
        ),
    ] {
        let configuration = find(kind, name);
        let called = &configuration["webhooks"][0]["clientConfig"]["service"];
        assert_eq!(
            (&called["name"], &called["namespace"]),
            (&json!("captains-webhook"), &json!(namespace))
        );
        let injected =
            configuration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"].as_str();
        let wanted = format!("{namespace}/captains-webhook");
        assert_eq!(injected, (!self_managed).then_some(wanted.as_str()));
    }
    for kind in ["Role", "ClusterRole"] {
        let role = find(kind, "captains-webhook-certificate-role");
        let none = role["rules"].as_array().is_none_or(Vec::is_empty);
        assert_eq!(none, !self_managed, "{role}");
    }
    assert_eq!(of_kind(objects, "Certificate").is_empty(), self_managed);
    for certificate in of_kind(objects, "Certificate") {
        // It must not be the Secret of the other component.
        let secret = text(certificate, "/spec/secretName");
        assert_eq!(secret, "captains-webhook-certmanager");
        let pod = &of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"];
        assert_eq!(text(pod, "/volumes/0/secret/secretName"), secret);
    }
    let container = &of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0];
    let arguments = container["args"].to_string();
    assert_eq!(
        arguments.contains("--webhook-certificate=self-managed"),
        self_managed
    );
    assert_eq!(arguments.contains("--webhook-cert-path="), !self_managed);
    let ports = container["ports"].as_array().into_iter().flatten();
    let ports: Vec<_> = ports.filter(|port| port["name"] == "webhook").collect();
    let [port] = &ports[..] else {
        panic!("expected one port for webhooks: {container}")
    };
    // The port of the Pod, not of the Service; open to all sources, because the API server is not a Pod.
    for policy in of_kind(objects, "NetworkPolicy") {
        let open = json!({ "ports": [{ "port": port["containerPort"] }] });
        let rules = policy["spec"]["ingress"].as_array();
        assert!(rules.is_some_and(|rules| rules.contains(&open)), "{policy}");
    }
    let all = objects.iter().map(Value::to_string).collect::<String>();
    for placeholder in ["SERVICE_NAME", "SERVICE_NAMESPACE", "CERTIFICATE_"] {
        assert!(!all.contains(placeholder), "{placeholder}");
    }
}

#[track_caller]
fn kbr(project: &TempDir, command: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_kbr"))
        .args(command.split(' '))
        .current_dir(project.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kbr {command}: {stderr}");
}

fn write(project: &TempDir, path: &str, text: &str) {
    let path = project.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Writes the lines of `components` into `default`, in this order.
fn enable(project: &TempDir, default: &str, components: &[&str]) {
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
fn render(project: &TempDir, folder: &str) -> Vec<Value> {
    let output = Command::new(kubectl())
        .args(["kustomize", folder])
        .current_dir(project.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kustomize {folder}: {stderr}");
    String::from_utf8(output.stdout)
        .unwrap()
        .split("\n---\n")
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

/// The kustomize (`kubectl kustomize`) of the local control plane.
fn kubectl() -> PathBuf {
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

/// The objects of each component exist if and only if it is on.
#[track_caller]
fn check_components(objects: &[Value], on: &[&str]) {
    let marks = [
        ("prometheus", "ServiceMonitor"),
        ("network-policy", "NetworkPolicy"),
        ("high-availability", "PodDisruptionBudget"),
    ];
    for (component, kind) in marks {
        let there = !of_kind(objects, kind).is_empty();
        assert_eq!(there, on.contains(&component), "{component} in {on:?}");
    }
    let namespaced = on.contains(&"namespaced");
    let bound = of_kind(objects, "ClusterRoleBinding")
        .into_iter()
        .filter(|binding| binding.pointer("/subjects/0").is_some());
    let bound: Vec<_> = bound
        .map(|binding| text(binding, "/metadata/name"))
        .collect();
    let all = [
        "captains-manager-rolebinding",
        "captains-metrics-auth-rolebinding",
        "captains-webhook-certificate-rolebinding",
    ];
    let last = 2 + usize::from(on.contains(&"webhook-self-signed"));
    assert_eq!(bound, all[..last], "{on:?}");
    let role = objects
        .iter()
        .find(|object| named(object, "ClusterRole", "captains-manager-role"));
    let plurals = role.map(|role| &role["rules"][0]["resources"]);
    let expected = if namespaced {
        json!(["nodes"])
    } else {
        json!(["captains", "nodes"])
    };
    assert_eq!(plurals, Some(&expected), "{on:?}");

    let deployment = of_kind(objects, "Deployment")[0];
    let available = on.contains(&"high-availability");
    let replicas = if available { 2 } else { 1 };
    assert_eq!(deployment["spec"]["replicas"], replicas, "{on:?}");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let mut args = container["args"].as_array().unwrap().iter();
    let warm = args.any(|arg| arg == "--warm-standby");
    assert_eq!(warm, available, "{on:?}");
    let env = &container["env"];
    let names: Vec<_> = env
        .as_array()
        .unwrap()
        .iter()
        .map(|var| text(var, "/name"))
        .collect();
    // In this order: Kubernetes expands $(POD_NAMESPACE) only after its definition.
    let all = ["POD_NAME", "POD_NAMESPACE", "WATCH_NAMESPACE"];
    assert_eq!(names, all[..2 + usize::from(namespaced)], "{on:?}");
}

fn subsets() -> Vec<Vec<&'static str>> {
    let subset = |bits: usize| {
        let chosen = COMPONENTS
            .iter()
            .enumerate()
            .filter(move |(at, _)| bits >> at & 1 == 1);
        chosen.map(|(_, component)| *component).collect()
    };
    (0..1 << COMPONENTS.len()).map(subset).collect()
}
