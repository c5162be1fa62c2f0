//! Values that turn off or change what is in no component: Helm renders what kustomize does with patches.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::peer::{Rendered, kustomize, render};
use crate::{assert_equal, chart, home, is_on, released, select, support, values};

/// `config/default` with these patches.
fn patched(project: &Path, patches: &[Value]) -> Vec<Value> {
    let overlay = json!({ "resources": ["../default"], "patches": patches });
    support::write(
        &project.join("config/patched/kustomization.yaml"),
        overlay.to_string().as_bytes(),
    );
    let objects = kustomize(project, "config/patched");
    fs::remove_dir_all(project.join("config/patched")).unwrap();
    released(objects, "home")
}

/// Deletes an object.
fn delete(kind: &str, name: &str) -> Value {
    let patch = json!({ "$patch": "delete", "apiVersion": version(kind), "kind": kind, "metadata": { "name": name } });
    json!({ "target": { "kind": kind, "name": name }, "patch": patch.to_string() })
}

fn version(kind: &str) -> &str {
    match kind {
        "Service" => "v1",
        "CustomResourceDefinition" => "apiextensions.k8s.io/v1",
        _ => "rbac.authorization.k8s.io/v1",
    }
}

/// Changes an object.
fn change(kind: &str, name: &str, steps: &Value) -> Value {
    json!({ "target": { "kind": kind, "name": name }, "patch": steps.to_string() })
}

/// The container's path.
const CONTAINER: &str = "/spec/template/spec/containers/0";

fn without_metrics(case: usize) -> Vec<Value> {
    let mut patches = vec![
        delete("Service", "home-metrics"),
        delete("ClusterRole", "home-metrics-auth-role"),
        delete("ClusterRoleBinding", "home-metrics-auth-rolebinding"),
        delete("ClusterRole", "home-metrics-reader"),
    ];
    let steps = json!([
        { "op": "test", "path": format!("{CONTAINER}/args/1"), "value": "--metrics-bind-address=:8443" },
        { "op": "remove", "path": format!("{CONTAINER}/args/1") },
        { "op": "test", "path": format!("{CONTAINER}/ports/0/name"), "value": "metrics" },
        { "op": "remove", "path": format!("{CONTAINER}/ports/0") },
    ]);
    patches.push(change("Deployment", "home-controller-manager", &steps));
    if is_on("networkPolicy", case) {
        let steps = json!([{ "op": "remove", "path": "/spec/ingress/0" }]);
        patches.push(change("NetworkPolicy", "home-controller-manager", &steps));
    }
    patches
}

fn without_helpers(_: usize) -> Vec<Value> {
    ["admin", "editor", "viewer"]
        .map(|who| delete("ClusterRole", &format!("home-ajd-home-{who}-role")))
        .into()
}

fn without_crds(case: usize) -> Vec<Value> {
    let mut patches = vec![delete("CustomResourceDefinition", "homes.ajd.my.domain")];
    if is_on("webhook", case) && !is_on("certManager", case) {
        // It leaves the CRDs of another release alone.
        let resources = json!(["customresourcedefinitions"]);
        let steps = json!([{ "op": "test", "path": "/rules/2/resources", "value": resources }, { "op": "remove", "path": "/rules/2" }]);
        patches.push(change(
            "ClusterRole",
            "home-webhook-certificate-role",
            &steps,
        ));
        let rule = "/spec/matchConstraints/resourceRules/2";
        let steps = json!([{ "op": "test", "path": format!("{rule}/resources"), "value": resources }, { "op": "remove", "path": rule }]);
        let policy = "home-webhook-certificate-policy";
        patches.push(change("ValidatingAdmissionPolicy", policy, &steps));
        let steps = json!([
            { "op": "test", "path": format!("{CONTAINER}/args/3"), "value": "--webhook-certificate=self-managed" },
            { "op": "add", "path": format!("{CONTAINER}/args/4"), "value": "--webhook-conversion=false" },
        ]);
        patches.push(change("Deployment", "home-controller-manager", &steps));
    }
    patches
}

/// The bits of a case, as in `VALUES`.
const PROMETHEUS: usize = 1;
const WEBHOOK: usize = 1 << 4;

type Part = (&'static str, fn(usize) -> Vec<Value>);

const PARTS: [Part; 3] = [
    ("/metrics/enabled", without_metrics),
    ("/rbac/helpers/enabled", without_helpers),
    ("/crd/enabled", without_crds),
];

/// Sets a value at a path such as `/metrics/enabled`.
fn set(values: &mut Value, path: &str, value: Value) {
    let place = path
        .split('/')
        .skip(1)
        .fold(values, |values, key| &mut values[key]);
    *place = value;
}

#[test]
fn helm_renders_what_kustomize_does_without_parts_of_it() {
    let project = home();
    // With webhooks, since without them the CRDs are another release's. Everything that reads metrics needs them.
    let sets = (0..64).filter(|case| case & WEBHOOK != 0 && case & PROMETHEUS == 0);
    let cases: Vec<(usize, usize)> = sets
        .enumerate()
        // Each part alone, in turn, and all parts together.
        .flat_map(|(number, case)| [(case, 1 << (number % 3)), (case, 0b111)])
        .collect();
    let all: Vec<Value> = cases
        .iter()
        .map(|(case, off)| {
            let mut values = values(*case);
            for (number, (path, _)) in PARTS.iter().enumerate() {
                set(&mut values, path, json!(off & (1 << number) == 0));
            }
            values
        })
        .collect();
    let rendered = render(&project.path().join("dist/chart"), &all);
    for (((case, off), rendered), values) in cases.iter().zip(&rendered).zip(&all) {
        let Rendered::Objects(objects) = rendered else {
            panic!("{values}: {rendered:?}")
        };
        select(project.path(), *case);
        // The patches of metrics come last, because they move what others find by its position.
        let parts = PARTS.iter().enumerate().rev();
        let parts = parts.filter(|(number, _)| off & (1 << number) != 0);
        let patches: Vec<Value> = parts.flat_map(|(_, (_, patches))| patches(*case)).collect();
        assert_equal(
            &values.to_string(),
            objects,
            &patched(project.path(), &patches),
        );
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_sentence() {
    let project = home();
    let cases = [
        json!({ "webhook": { "enabled": false } }),
        json!({ "prometheus": { "enabled": true }, "metrics": { "enabled": false } }),
        json!({ "metrics": { "port": 9443 } }),
        json!({ "webhook": { "enabled": false }, "crd": { "enabled": false } }),
    ];
    let rendered = render(&project.path().join("dist/chart"), &cases);
    for (number, part) in [
        "the API server converts homes.ajd.my.domain through the operator's webhook",
        "`prometheus.enabled` needs `metrics.enabled`",
        "`metrics.port` and `webhook.port` must differ",
    ]
    .iter()
    .enumerate()
    {
        assert!(
            matches!(&rendered[number], Rendered::Error(error) if error.contains(part)),
            "{:?}",
            rendered[number]
        );
    }
    assert!(
        matches!(&rendered[3], Rendered::Objects(_)),
        "{:?}",
        rendered[3]
    );
}

/// Replaces text in all files of `config`.
fn replace(project: &Path, from: &str, to: &str) {
    for (path, text) in support::tree(&project.join("config")) {
        let text = String::from_utf8(text).unwrap().replace(from, to);
        support::write(&project.join("config").join(path), text.as_bytes());
    }
}

#[test]
fn another_port_is_everywhere_where_the_port_is() {
    let project = home();
    let mut values = values(0b01_1111);
    set(&mut values, "/metrics/port", json!(9001));
    set(&mut values, "/webhook/port", json!(9002));
    values["manager"] = json!({ "healthProbe": { "port": 9003 } });
    let rendered = render(&project.path().join("dist/chart"), &[values]);
    let Rendered::Objects(objects) = &rendered[0] else {
        panic!("{rendered:?}")
    };
    select(project.path(), 0b01_1111);
    replace(project.path(), "8443", "9001");
    replace(project.path(), "9443", "9002");
    replace(project.path(), "8081", "9003");
    let steps = json!([{ "op": "add", "path": format!("{CONTAINER}/args/-"), "value": "--webhook-port=9002" }]);
    let patch = change("Deployment", "home-controller-manager", &steps);
    assert_equal("ports", objects, &patched(project.path(), &[patch]));
}

#[test]
fn a_role_in_another_namespace_can_be_moved() {
    let project = support::example("home");
    let namespaced = project.path().join("config/namespaced");
    support::copy(&namespaced.join("home-system"), &namespaced.join("team"));
    let path = namespaced.join("team/kustomization.yaml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("namespace: home-system", "namespace: team"),
    )
    .unwrap();
    let path = namespaced.join("kustomization.yaml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("  - home-system\n", "  - home-system\n  - team\n"),
    )
    .unwrap();
    chart(project.path());

    let namespaced = 0b01_0100;
    let mut moved = values(namespaced);
    let role_namespaces =
        json!({ "manager-role-team": "other", "manager-rolebinding-team": "other" });
    set(&mut moved, "/rbac/roleNamespaces", role_namespaces);
    let rendered = render(
        &project.path().join("dist/chart"),
        &[values(namespaced), moved],
    );
    select(project.path(), namespaced);
    let mut expected = patched(project.path(), &[]);
    for (rendered, namespace) in rendered.iter().zip(["team", "other"]) {
        let Rendered::Objects(objects) = rendered else {
            panic!("{rendered:?}")
        };
        for object in &mut expected {
            if object["metadata"]["namespace"] == "team" {
                object["metadata"]["namespace"] = json!(namespace);
            }
        }
        assert_equal(namespace, objects, &expected);
    }
}

/// The strings of an object, with the keys of mappings.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(parts) => parts.values().for_each(|part| texts(part, found)),
        _ => {}
    }
}

#[test]
fn a_second_release_shares_no_name_with_the_first() {
    let project = home();
    let second = |case| {
        let mut values = values(case);
        values["fullnameOverride"] = json!("second");
        values["crd"]["enabled"] = json!(false);
        values
    };
    let all = [second(0b01_1111), second(0b11_1111)];
    for rendered in render(&project.path().join("dist/chart"), &all) {
        let Rendered::Objects(objects) = rendered else {
            panic!("{rendered:?}")
        };
        for object in &objects {
            let mut found = Vec::new();
            // Descriptions of alerts mention the operator, whatever the release is called.
            if object["kind"] != "PrometheusRule" {
                texts(object, &mut found);
            }
            found.retain(|text| {
                text.starts_with("home-") || text == "home" || text == "home.my.domain"
            });
            assert_eq!(found, [""; 0], "{object:#}");
        }
        let deployment = objects
            .iter()
            .find(|it| it["kind"] == "Deployment")
            .unwrap();
        let flags = deployment["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
        assert!(
            flags.contains("--leader-election-id=second.my.domain"),
            "{flags}"
        );
        let managed = flags.contains("self-managed");
        assert_eq!(flags.contains("--webhook-name=second"), managed, "{flags}");
        assert_eq!(
            flags.contains("--webhook-conversion=false"),
            managed,
            "{flags}"
        );
    }
}
