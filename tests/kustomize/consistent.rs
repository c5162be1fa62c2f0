//! Checks that rendered objects are consistent.

use std::collections::BTreeSet;

use serde_json::Value;

/// The text at `pointer`, or the empty string.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Whether the object has this kind and name.
pub fn named(object: &Value, kind: &str, name: &str) -> bool {
    text(object, "/kind") == kind && text(object, "/metadata/name") == name
}

/// Every object exists once, in `namespace` or in none, and all references resolve.
#[track_caller]
pub fn check(objects: &[Value], namespace: &str) {
    let ids: Ids = objects.iter().map(id).collect();
    assert_eq!(ids.len(), objects.len(), "duplicate object");
    assert!(has(&ids, "Namespace", "", namespace));
    let [deployment] = &of_kind(objects, "Deployment")[..] else {
        panic!("expected one Deployment")
    };
    let pod = &deployment["spec"]["template"];
    let services = of_kind(objects, "Service");
    for object in objects {
        let own = text(object, "/metadata/namespace");
        assert!(own.is_empty() || own == namespace, "{object}");
        let found = match text(object, "/kind") {
            "RoleBinding" | "ClusterRoleBinding" => binds(object, &ids),
            "Deployment" => {
                has(
                    &ids,
                    "ServiceAccount",
                    own,
                    text(pod, "/spec/serviceAccountName"),
                ) && selects(object, "/spec/selector/matchLabels", pod)
            }
            "Service" => selects(object, "/spec/selector", pod) && has_port(pod, object),
            "PodDisruptionBudget" => selects(object, "/spec/selector/matchLabels", pod),
            "NetworkPolicy" => selects(object, "/spec/podSelector/matchLabels", pod),
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
                let webhooks = object["webhooks"].as_array().into_iter().flatten();
                let mut clients = webhooks.map(|webhook| &webhook["clientConfig"]);
                clients.all(|client| is_served(client, &ids))
            }
            "CustomResourceDefinition" => object
                .pointer("/spec/conversion/webhook/clientConfig")
                .is_none_or(|client| is_served(client, &ids)),
            "ServiceMonitor" => services
                .iter()
                .any(|service| selects(object, "/spec/selector/matchLabels", service)),
            _ => true,
        };
        assert!(found, "dangling reference: {object}");
    }
}

/// Kind, namespace and name of each object.
type Ids<'a> = BTreeSet<(&'a str, &'a str, &'a str)>;

fn id(object: &Value) -> (&str, &str, &str) {
    let part = |pointer| text(object, pointer);
    (
        part("/kind"),
        part("/metadata/namespace"),
        part("/metadata/name"),
    )
}

fn has(ids: &Ids, kind: &str, namespace: &str, name: &str) -> bool {
    ids.contains(&(kind, namespace, name))
}

/// Whether the role and every subject exist.
fn binds(binding: &Value, ids: &Ids) -> bool {
    let kind = text(binding, "/roleRef/kind");
    let at = match kind {
        "Role" => text(binding, "/metadata/namespace"),
        _ => "",
    };
    let mut subjects = binding["subjects"].as_array().into_iter().flatten();
    has(ids, kind, at, text(binding, "/roleRef/name"))
        && subjects.all(|subject| {
            let part = |pointer| text(subject, pointer);
            has(ids, part("/kind"), part("/namespace"), part("/name"))
        })
}

/// Whether the Service that the API server calls exists.
fn is_served(client: &Value, ids: &Ids) -> bool {
    let part = |pointer| text(client, pointer);
    has(
        ids,
        "Service",
        part("/service/namespace"),
        part("/service/name"),
    )
}

/// Whether the Pod has the target port of the Service.
fn has_port(pod: &Value, service: &Value) -> bool {
    let ports = pod["spec"]["containers"][0]["ports"].as_array();
    let target = &service["spec"]["ports"][0]["targetPort"];
    ports
        .into_iter()
        .flatten()
        .any(|port| port["name"] == *target)
}

/// Whether there are labels at `pointer`, and `other` has all of them.
fn selects(object: &Value, pointer: &str, other: &Value) -> bool {
    let labels = &other["metadata"]["labels"];
    let selector = object.pointer(pointer).and_then(Value::as_object);
    selector.is_some_and(|selector| {
        !selector.is_empty() && selector.iter().all(|(key, value)| labels[key] == *value)
    })
}

/// The objects of a kind.
pub fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects
        .iter()
        .filter(|object| object["kind"] == kind)
        .collect()
}
