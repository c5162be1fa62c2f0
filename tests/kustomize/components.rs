//! What is rendered with each component.

use serde_json::{Value, json};

use crate::consistent::{named, of_kind, text};

/// The webhooks use an existing Service, and a certificate with exactly one manager and a CA bundle.
#[track_caller]
pub fn check_webhooks(objects: &[Value], certificate: &str, namespace: &str) {
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

/// The objects of each component exist if and only if it is on.
#[track_caller]
pub fn check_components(objects: &[Value], on: &[&str]) {
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
