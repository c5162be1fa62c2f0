//! Each trap, in a cluster of few objects.

use serde_json::json;

use super::*;

/// What `config/default` renders.
fn rendered() -> Vec<Value> {
    let webhook = |name: &str| {
        let service = json!({"name": "captains-webhook", "namespace": "captains-system"});
        json!({"name": name, "clientConfig": {"service": service}})
    };
    let mut other = deployment("captains-cache", "captains-system", "cache");
    other["metadata"]["labels"] = json!({});
    vec![
        other,
        deployment("captains-controller-manager", "captains-system", "manager"),
        json!({
            "kind": "Role", "metadata": {"name": "captains-leader-election-role"},
            "rules": [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": ["3f7a.example.com"]}],
        }),
        json!({
            "kind": "ClusterRole", "metadata": {"name": "captains-manager-role"},
            "rules": [
                {"apiGroups": [""], "resources": ["configmaps", "events"], "verbs": ["create", "patch"]},
                {"apiGroups": ["crew.example.com"], "resources": ["captains", "captains/status"], "verbs": ["patch"]},
                {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]},
            ],
        }),
        json!({
            "kind": "ClusterRoleBinding", "metadata": {"name": "captains-manager-rolebinding"},
            "roleRef": {"kind": "ClusterRole", "name": "captains-manager-role"},
            "subjects": [{
                "kind": "ServiceAccount", "name": "captains-controller-manager", "namespace": "captains-system",
            }],
        }),
        crd(),
        json!({
            "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "captains-validating"},
            "webhooks": [webhook("vcaptain.kb.io")],
        }),
    ]
}

/// A Deployment whose Pods have this container.
fn deployment(name: &str, namespace: &str, container: &str) -> Value {
    let labels = json!({"control-plane": "controller-manager"});
    json!({
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"spec": {
                "serviceAccountName": "captains-controller-manager",
                "containers": [{"name": container}],
            }},
        },
    })
}

/// A role, and what binds it to the operator in Go.
fn granted(resource: &str, verb: &str) -> [(&'static str, Value); 2] {
    let rule = json!({"apiGroups": [""], "resources": [resource], "verbs": [verb]});
    let account = json!({
        "kind": "ServiceAccount", "name": "captains-controller-manager", "namespace": "captains-system",
    });
    [
        (
            "clusterroles.rbac.authorization.k8s.io",
            json!({"kind": "ClusterRole", "metadata": {"name": "old"}, "rules": [rule]}),
        ),
        (
            "clusterrolebindings.rbac.authorization.k8s.io",
            json!({
                "kind": "ClusterRoleBinding", "metadata": {"name": "old"},
                "roleRef": {"kind": "ClusterRole", "name": "old"}, "subjects": [account],
            }),
        ),
    ]
}

fn crd() -> Value {
    json!({
        "kind": "CustomResourceDefinition", "metadata": {"name": "captains.crew.example.com"},
        "spec": {
            "group": "crew.example.com", "scope": "Namespaced",
            "names": {"kind": "Captain", "plural": "captains"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}},
            }}],
        },
        "status": {"storedVersions": ["v1"]},
    })
}

/// What the check prints about this cluster: objects by the first argument of `kubectl get`.
fn report(cluster: &[(&str, Value)], predecessors: &[&str]) -> String {
    report_of(&rendered(), cluster, predecessors)
}

fn report_of(rendered: &[Value], cluster: &[(&str, Value)], predecessors: &[&str]) -> String {
    let predecessors: Vec<_> = predecessors.iter().map(|it| (*it).to_owned()).collect();
    let project = Successor {
        role: "captains-manager-role",
        id: "captains.example.com",
        namespace: "captains-system",
        rendered,
        finalizers: &["captains.crew.example.com=crew.example.com/ship".to_owned()].into(),
        predecessors: &predecessors,
    };
    let get = |arguments: &[&str]| {
        let of = cluster.iter().filter(|(kind, _)| *kind == arguments[0]);
        Ok(of.map(|(_, object)| object.clone()).collect())
    };
    let lines = check(&project, &get).unwrap();
    lines.iter().map(ToString::to_string).collect()
}

const LEASES: &str = "leases.coordination.k8s.io";
const DEPLOYMENTS: &str = "deployments.apps";
const CRDS: &str = "customresourcedefinitions.apiextensions.k8s.io";
const CAPTAINS: &str = "captains.crew.example.com";
const WEBHOOKS: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

#[track_caller]
fn check_line(cluster: &[(&str, Value)], expected: &str) {
    let report = report(cluster, &["manager"]);
    assert!(report.contains(expected), "{expected}\nis not in\n{report}");
}

#[test]
fn the_lease_is_that_of_the_running_operator() {
    let lease = |name: &str, holder: &str| {
        let meta = json!({"name": name, "namespace": "captains-system"});
        let lease = json!({"metadata": meta, "spec": {"holderIdentity": holder}});
        [(LEASES, lease)]
    };
    let holder = "captains-controller-manager-1_2";
    check_line(
        &lease("3f7a.example.com", holder),
        "note  the Lease `3f7a.example.com` is held by `captains-controller-manager-1_2`",
    );
    check_line(
        &lease("3f7a.example.com", ""),
        "ok  the Lease `3f7a.example.com` is free",
    );
    check_line(
        &lease("other", holder),
        "wrong  `captains-controller-manager-1_2` leads by the Lease `other`",
    );
    check_line(
        &lease("other", "someone"),
        "note  `captains-system` has no Lease `3f7a.example.com`",
    );
}

#[test]
fn the_lease_is_in_the_namespace_of_the_project() {
    let meta = json!({"name": "3f7a.example.com", "namespace": "old-system"});
    let lease = json!({"metadata": meta, "spec": {"holderIdentity": "old_1"}});
    check_line(
        &[(LEASES, lease)],
        "wrong  `old_1` leads by the Lease `3f7a.example.com` in `old-system`",
    );
}

const OURS: &str = "captains-controller-manager";

#[test]
fn the_deployment_is_replaced_in_place() {
    let there = |name| [(DEPLOYMENTS, deployment(name, "captains-system", "manager"))];
    check_line(
        &there(OURS),
        "ok  the Deployment `captains-controller-manager` has the same selector",
    );
    let mut other = there(OURS);
    other[0].1["spec"]["selector"]["matchLabels"]["control-plane"] = json!("x");
    check_line(
        &other,
        "wrong  the selector of the Deployment `captains-controller-manager` is {\"control-plane\":\"x\"}",
    );
    check_line(
        &there("old"),
        "wrong  the operator in Go is the Deployment `old`",
    );
    check_line(&[], "note  `captains-system` has no Deployment");
    check_line(
        &[(DEPLOYMENTS, deployment(OURS, "old-system", "manager"))],
        "wrong  the Deployment `captains-controller-manager` runs in the namespace `old-system`, and this project in `captains-system`",
    );
}

#[test]
fn the_pods_have_the_same_container_and_service_account() {
    let there = |container| deployment(OURS, "captains-system", container);
    check_line(
        &[(DEPLOYMENTS, there("operator"))],
        "wrong  the Deployment `captains-controller-manager` has the containers `operator`",
    );
    let mut other = there("manager");
    other["spec"]["template"]["spec"]["serviceAccountName"] = json!("old");
    check_line(
        &[(DEPLOYMENTS, other)],
        "note  the operator in Go runs as the ServiceAccount `old`, and this project as `captains-controller-manager`",
    );
    let mut off = there("manager");
    off["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{"name": "ENABLE_WEBHOOKS", "value": "false"}]);
    check_line(
        &[(DEPLOYMENTS, off)],
        "wrong  the operator in Go runs with `ENABLE_WEBHOOKS=false`",
    );
    assert!(!report(&[(DEPLOYMENTS, there("manager"))], &[]).contains("ENABLE_WEBHOOKS"));
}

#[test]
fn permissions_are_those_of_the_running_operator() {
    let there = |resource, verb| {
        let [role, binding] = granted(resource, verb);
        let running = deployment(OURS, "captains-system", "manager");
        [(DEPLOYMENTS, running), role, binding]
    };
    check_line(
        &there("pods", "delete"),
        "note  the operator in Go has permissions that this project does not have: delete pods",
    );
    for (resource, verb) in [
        ("configmaps", "patch"),
        ("pods", "update"),
        ("events", "create"),
        ("pods/status", "get"),
    ] {
        assert!(!report(&there(resource, verb), &[]).contains("has permissions"));
    }
}

#[test]
fn finalizers_have_a_controller_that_removes_them() {
    let captain = |finalizer: &str| {
        let meta = json!({"name": "hook", "namespace": "sea", "finalizers": [finalizer]});
        [(CRDS, crd()), (CAPTAINS, json!({"metadata": meta}))]
    };
    check_line(
        &captain("crew.example.com/ship"),
        "ok  1 of 1 captains.crew.example.com have the finalizer `crew.example.com/ship`",
    );
    check_line(
        &captain("crew.example.com/old"),
        "wrong  1 of 1 captains.crew.example.com have the finalizer `crew.example.com/old`, as `sea/hook`",
    );
    assert!(!report(&captain("foregroundDeletion"), &[]).contains("finalizer"));
}

#[test]
fn fields_of_children_belong_to_no_one_else() {
    let child = |manager: &str, kind: &str| {
        let owner = json!({"apiVersion": "crew.example.com/v1", "kind": kind});
        let entry = json!({"manager": manager, "operation": "Update"});
        let meta = json!({"name": "map", "ownerReferences": [owner], "managedFields": [entry]});
        [("configmaps", json!({"metadata": meta}))]
    };
    check_line(
        &child("manager", "Captain"),
        "note  1 children of the kind configmaps have fields of `manager`",
    );
    let report = report(&child("manager", "Captain"), &[]);
    assert!(report.contains("wrong  1 children"), "{report}");
    assert!(
        report.contains("manager.take_over(\"manager\");"),
        "{report}"
    );
    let none = "ok  no child has fields of another operator";
    check_line(&child("manager", "Ship"), none);
    check_line(&child("captains.example.com/captain", "Captain"), none);
    check_line(&child("kube-controller-manager", "Captain"), none);
}

#[test]
fn definitions_are_equal_or_compatible() {
    check_line(
        &[(CRDS, crd())],
        "ok  the CRD `captains.crew.example.com` has the same versions and schemas",
    );
    check_line(
        &[],
        "note  the cluster has no CRD `captains.crew.example.com`",
    );
    let mut described = crd();
    described["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] =
        json!("A captain.");
    check_line(
        &[(CRDS, described)],
        "note  the CRD `captains.crew.example.com` differs",
    );
    let mut older = crd();
    older["status"]["storedVersions"] = json!(["v1", "v1alpha1"]);
    check_line(
        &[(CRDS, older)],
        "wrong  objects of `captains.crew.example.com` may be stored as `v1alpha1`",
    );
    let mut converted = crd();
    converted["spec"]["conversion"] = json!({"strategy": "Webhook"});
    check_line(
        &[(CRDS, converted)],
        "wrong  the operator in Go converts the versions",
    );
    let mut project = rendered();
    project[5]["spec"]["conversion"] = json!({"strategy": "Webhook"});
    let report = report_of(&project, &[(CRDS, crd())], &[]);
    assert!(
        report.contains("and this project converts them"),
        "{report}"
    );
}

#[test]
fn webhooks_are_replaced_by_name() {
    let configuration = |name: &str, webhook: &str, annotations: Value| {
        let service = json!({"name": "captains-webhook-service", "namespace": "captains-system"});
        let webhook = json!({"name": webhook, "clientConfig": {"service": service}});
        let meta = json!({"name": name, "annotations": annotations});
        let kind = "ValidatingWebhookConfiguration";
        [(
            WEBHOOKS,
            json!({"kind": kind, "metadata": meta, "webhooks": [webhook]}),
        )]
    };
    let same = configuration(
        "captains-validating",
        "vcaptain.kb.io",
        json!({"cert-manager.io/inject-ca-from": "a/b"}),
    );
    check_line(
        &same,
        "note  the webhook `vcaptain.kb.io` calls the Service `captains-webhook-service`, and later `captains-webhook`",
    );
    check_line(&same, "wrong  cert-manager writes the CA of `a/b`");
    check_line(
        &configuration("captains-validating", "old", Value::Null),
        "wrong  `captains-validating` has the webhook `old`",
    );
    check_line(
        &configuration("other", "old", Value::Null),
        "note  `other` calls `captains-webhook-service`",
    );
    let none = "note  `captains-validating` adds the webhook `vcaptain.kb.io`, which the cluster does not have";
    check_line(&[], none);
    assert!(!report(&same, &[]).contains(none));
}
