//! The values of kubebuilder's charts, as helm/v2-alpha of kubebuilder 4.16 documents them: each arrives, or is refused by name.

use serde_json::{Value, json};

use crate::home;
use crate::peer::{Rendered, render};

/// The Pod's and the container's place in the Deployment.
const POD: &str = "/spec/template/spec";
const CONTAINER: &str = "/spec/template/spec/containers/0";

/// A value, what it is set to, where it arrives in the Deployment (below the Pod or the container: `P` or `C`), and as what if that differs.
/// `-` is the last item of a list.
const ARRIVING: &str = r#"
manager/replicas | 3 | /spec/replicas
manager/strategy | {"type":"Recreate"} | /spec/strategy
manager/labels | {"a":"b"} | /metadata/labels/a | "b"
manager/annotations | {"a":"b"} | /metadata/annotations/a | "b"
manager/pod/labels | {"a":"b"} | /spec/template/metadata/labels/a | "b"
manager/pod/annotations | {"a":"b"} | /spec/template/metadata/annotations/a | "b"
manager/image | {"repository":"r.io/x","tag":"v2"} | C/image | "r.io/x:v2"
manager/image/repository | "r.io/x@sha256:0" | C/image
manager/image/pullPolicy | "Always" | C/imagePullPolicy
manager/args | ["--leader-election-namespace={{ .Release.Namespace }}"] | C/args/- | "--leader-election-namespace=release-namespace"
manager/healthProbe/port | 8082 | C/args/2 | "--health-probe-bind-address=:8082"
manager/env | [{"name":"A","value":"b"}] | C/env/- | {"name":"A","value":"b"}
manager/imagePullSecrets | [{"name":"registry"}] | P/imagePullSecrets
manager/podSecurityContext | {"runAsUser":1000} | P/securityContext/runAsUser | 1000
manager/podSecurityContext/runAsNonRoot | false | P/securityContext/runAsNonRoot
manager/securityContext/readOnlyRootFilesystem | false | C/securityContext/readOnlyRootFilesystem
manager/resources/limits/cpu | "500m" | C/resources/limits/cpu
manager/affinity | {"nodeAffinity":{}} | P/affinity
manager/nodeSelector | {"disktype":"ssd"} | P/nodeSelector
manager/tolerations | [{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":6000}] | P/tolerations
manager/priorityClassName | "high" | P/priorityClassName
manager/topologySpreadConstraints | [{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}] | P/topologySpreadConstraints
manager/terminationGracePeriodSeconds | 10 | P/terminationGracePeriodSeconds
manager/extraVolumes | [{"name":"v","emptyDir":{}}] | P/volumes/- | {"name":"v","emptyDir":{}}
manager/extraVolumeMounts | [{"name":"v","mountPath":"/v"}] | C/volumeMounts/- | {"name":"v","mountPath":"/v"}
metrics/port | 8444 | C/args/1 | "--metrics-bind-address=:8444"
metrics/enabled | false | C/ports/0/name | "probes"
webhook/port | 9444 | C/args/- | "--webhook-port=9444"
certManager/enabled | true | C/args/3 | "--webhook-cert-path=/etc/webhook-certificate"
fullnameOverride | "other" | /metadata/name | "other-controller-manager"
nameOverride | "other" | /metadata/name | "other-controller-manager"
"#;

/// [`ARRIVING`] as values, places and what is there.
fn arriving() -> Vec<(Value, String, Value)> {
    let row = |line: &str| {
        let parts: Vec<&str> = line.split(" | ").collect();
        let value: Value = serde_json::from_str(parts[1]).unwrap();
        let expected = parts.get(3).map(|it| serde_json::from_str(it).unwrap());
        let place = parts[2].replacen("C/", &format!("{CONTAINER}/"), 1);
        let place = place.replacen("P/", &format!("{POD}/"), 1);
        (values(parts[0], &value), place, expected.unwrap_or(value))
    };
    ARRIVING.trim().lines().map(row).collect()
}

/// Values that decide whether objects exist: a value, a kind, a part of its name, and whether such an object is there.
const OBJECTS: [(&str, bool, &str, &str, bool); 9] = [
    ("rbac/namespaced", true, "Role", "home-manager-role", true),
    ("rbac/namespaced", false, "Role", "home-manager-role", false),
    (
        "rbac/helpers/enabled",
        true,
        "ClusterRole",
        "home-ajd-home-viewer-role",
        true,
    ),
    (
        "rbac/helpers/enabled",
        false,
        "ClusterRole",
        "home-ajd-home-viewer-role",
        false,
    ),
    (
        "crd/enabled",
        false,
        "CustomResourceDefinition",
        "homes.ajd.my.domain",
        false,
    ),
    (
        "crd/keep",
        true,
        "CustomResourceDefinition",
        "homes.ajd.my.domain",
        true,
    ),
    ("metrics/enabled", false, "Service", "home-metrics", false),
    (
        "prometheus/enabled",
        true,
        "ServiceMonitor",
        "home-metrics",
        true,
    ),
    (
        "networkPolicy/enabled",
        true,
        "NetworkPolicy",
        "home-controller-manager",
        true,
    ),
];

/// Values without a counterpart, and the words by which Helm refuses them.
fn refused() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("manager/enabled", json!(false), "'enabled'"),
        (
            "manager/envOverrides",
            json!({ "A": "b" }),
            "'envOverrides'",
        ),
        ("metrics/secure", json!(false), "'secure'"),
        (
            "serviceAccount",
            json!({ "enabled": true }),
            "'serviceAccount'",
        ),
        ("prometheus/labels", json!({ "a": "b" }), "'labels'"),
        (
            "prometheus/annotations",
            json!({ "a": "b" }),
            "'annotations'",
        ),
        // Without Roles in other namespaces, there is nothing to move.
        (
            "rbac/roleNamespaces",
            json!({ "manager-role-a": "b" }),
            "'roleNamespaces'",
        ),
    ]
}

fn values(path: &str, value: &Value) -> Value {
    let keys = path.split('/').rev();
    keys.fold(value.clone(), |value, key| json!({ key: value }))
}

#[test]
fn each_value_of_kubebuilder_arrives_or_is_refused_by_name() {
    let project = home();
    let (arriving, refused) = (arriving(), refused());
    let mut all: Vec<Value> = arriving.iter().map(|(values, ..)| values.clone()).collect();
    all.extend(
        OBJECTS
            .iter()
            .map(|(path, on, ..)| values(path, &json!(on))),
    );
    all.extend(refused.iter().map(|(path, value, _)| values(path, value)));
    let rendered = render(&project.path().join("dist/chart"), &all);
    let mut rendered = rendered.iter();

    for (values, place, expected) in &arriving {
        let deployment = object(rendered.next().unwrap(), "Deployment", "");
        let deployment = deployment.unwrap_or_else(|| panic!("{values}"));
        let found = match place.strip_suffix("/-") {
            Some(list) => deployment
                .pointer(list)
                .and_then(|it| it.as_array()?.last()),
            None => deployment.pointer(place),
        };
        assert_eq!(found, Some(expected), "{values}: {deployment:#}");
    }
    for (path, on, kind, name, exists) in OBJECTS {
        let found = object(rendered.next().unwrap(), kind, name);
        assert_eq!(found.is_some(), exists, "{path}: {on}");
    }
    for (path, _, words) in &refused {
        let rendered = rendered.next().unwrap();
        assert!(
            matches!(rendered, Rendered::Error(error) if error.contains(words)),
            "{path}: {rendered:?}"
        );
    }
}

/// The object of a kind with a name; with any, if that is empty.
fn object<'a>(rendered: &'a Rendered, kind: &str, name: &str) -> Option<&'a Value> {
    let Rendered::Objects(objects) = rendered else {
        panic!("{rendered:?}")
    };
    let is = |object: &&Value| {
        object["kind"] == kind && (name.is_empty() || object["metadata"]["name"] == name)
    };
    objects.iter().find(is)
}
