//! What a Pod in Go has besides ours, and which Pod Security Standard it meets.

use serde_json::{Value, json};

use super::super::manifests::container;
use super::{PROXY, besides, is_empty, list, put};

/// Volumes with certificates that the operator has itself, and with the configuration of old releases of kubebuilder.
const REPLACED: [&str; 6] = [
    "cert",
    "certs",
    "manager-config",
    "metrics-certs",
    "webhook-cert",
    "webhook-certs",
];

/// The patch of our Pod, whose operator is in the container `name`.
pub fn pod_patch(pod: &Value, name: &str) -> Value {
    let mut patch = besides(
        pod,
        &[
            "containers",
            "initContainers",
            "serviceAccount",
            "serviceAccountName",
            "automountServiceAccountToken",
            "volumes",
            "securityContext",
            "terminationGracePeriodSeconds",
        ],
    );
    let grace = &pod["terminationGracePeriodSeconds"];
    if grace.as_u64().is_some_and(|seconds| seconds > 45) {
        put(&mut patch, "terminationGracePeriodSeconds", grace.clone());
    }
    let is_replaced = |it: &Value| it.as_str().is_some_and(|it| REPLACED.contains(&it));
    let volumes = list(&pod["volumes"]).filter(|it| !is_replaced(&it["name"]));
    put(&mut patch, "volumes", volumes.cloned().collect());
    let context = &pod["securityContext"];
    let mut security = besides(context, &["runAsNonRoot", "seccompProfile"]);
    if context["runAsNonRoot"] == false || context["runAsUser"] == 0 {
        put(&mut security, "runAsNonRoot", false.into());
    }
    put(&mut patch, "securityContext", security);
    put(&mut patch, "initContainers", pod["initContainers"].clone());
    let manager = container(pod);
    let others = list(&pod["containers"]);
    let others = others.filter(|it| *it != manager && it["name"] != PROXY);
    let mut containers: Vec<_> = others.cloned().collect();
    let ours = container_patch(manager, &is_replaced);
    if !is_empty(&ours) {
        let mut ours = ours;
        put(&mut ours, "name", name.into());
        containers.insert(0, ours);
    }
    put(&mut patch, "containers", containers.into());
    patch
}

fn container_patch(theirs: &Value, is_replaced: &dyn Fn(&Value) -> bool) -> Value {
    let mut patch = besides(
        theirs,
        &[
            "name",
            "image",
            "command",
            "args",
            "env",
            "ports",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "resources",
            "securityContext",
            "volumeMounts",
            "imagePullPolicy",
        ],
    );
    let mounts = list(&theirs["volumeMounts"]).filter(|it| !is_replaced(&it["name"]));
    put(&mut patch, "volumeMounts", mounts.cloned().collect());
    if theirs["imagePullPolicy"] != "IfNotPresent" {
        put(
            &mut patch,
            "imagePullPolicy",
            theirs["imagePullPolicy"].clone(),
        );
    }
    // The handlers are ours.
    for (probe, initial, period) in [("livenessProbe", 15, 20), ("readinessProbe", 0, 5)] {
        let mut times = besides(&theirs[probe], &HANDLERS);
        if let Some(times) = times.as_object_mut() {
            times.retain(|key, value| match key.as_str() {
                "periodSeconds" => *value != period,
                "initialDelaySeconds" => *value != initial && probe == "livenessProbe",
                _ => true,
            });
        }
        put(&mut patch, probe, times);
    }
    let mut startup = besides(&theirs["startupProbe"], &HANDLERS);
    if !is_empty(&startup) {
        put(
            &mut startup,
            "httpGet",
            json!({ "path": "/healthz", "port": "probes" }),
        );
        put(&mut patch, "startupProbe", startup);
    }
    let ports = list(&theirs["ports"]);
    let is_other = |it: &&Value| {
        let port = it["containerPort"].as_u64();
        port.is_some_and(|port| !KNOWN_PORTS.contains(&port))
    };
    let mut ports: Vec<_> = ports.filter(is_other).cloned().collect();
    for port in &mut ports {
        // Two ports of a container cannot have one name.
        if let Some(port) = port.as_object_mut() {
            port.retain(|key, name| key != "name" || KNOWN_NAMES.iter().all(|it| name != it));
        }
    }
    put(&mut patch, "ports", ports.into());
    let context = &theirs["securityContext"];
    let mut security = besides(
        context,
        &[
            "allowPrivilegeEscalation",
            "capabilities",
            "readOnlyRootFilesystem",
            "runAsNonRoot",
            "seccompProfile",
        ],
    );
    for (key, weaker) in [
        ("allowPrivilegeEscalation", true),
        ("readOnlyRootFilesystem", false),
        ("runAsNonRoot", false),
    ] {
        if context[key] == weaker {
            put(&mut security, key, weaker.into());
        }
    }
    let add = &context["capabilities"]["add"];
    if !is_empty(add) {
        put(&mut security, "capabilities", json!({ "add": add }));
    }
    put(&mut patch, "securityContext", security);
    patch
}

/// Ports of kubebuilder, which have others here, or the same.
const KNOWN_PORTS: [u64; 4] = [8080, 8081, 8443, 9443];

/// The names of our ports.
const KNOWN_NAMES: [&str; 3] = ["metrics", "probes", "webhook"];

/// What a probe does, apart from when.
const HANDLERS: [&str; 4] = ["exec", "grpc", "httpGet", "tcpSocket"];

/// The Pod Security Standard that the Pod meets, and why it does not meet `restricted`; `None` if it does.
/// <https://kubernetes.io/docs/concepts/security/pod-security-standards/>
pub fn standard(pod: &Value) -> Option<(&'static str, &'static str)> {
    let containers = || list(&pod["containers"]).chain(list(&pod["initContainers"]));
    let has = |test: &dyn Fn(&Value) -> bool| containers().any(|it| test(&it["securityContext"]));
    let host = ["hostNetwork", "hostPID", "hostIPC"];
    if host.iter().any(|key| pod[key] == true) {
        return Some(("privileged", "it uses namespaces of the host"));
    }
    if list(&pod["volumes"]).any(|it| it["hostPath"].is_object()) {
        return Some(("privileged", "it mounts a path of the host"));
    }
    if has(&|it| it["privileged"] == true) {
        return Some(("privileged", "a container is privileged"));
    }
    if has(&|it| list(&it["capabilities"]["add"]).any(|it| it != "NET_BIND_SERVICE")) {
        return Some(("privileged", "a container has capabilities"));
    }
    if has(&|it| it["allowPrivilegeEscalation"] == true) {
        return Some(("baseline", "a container may gain privileges"));
    }
    let context = &pod["securityContext"];
    let is_root = |it: &Value| it["runAsUser"] == 0 || it["runAsNonRoot"] == false;
    if is_root(context) || has(&is_root) {
        return Some(("baseline", "it runs as root"));
    }
    let manager = container(pod);
    let is_unsafe = |it: &&Value| {
        let context = &it["securityContext"];
        *it != manager
            && it["name"] != PROXY
            && !(context["allowPrivilegeEscalation"] == false
                && list(&context["capabilities"]["drop"]).any(|it| it == "ALL"))
    };
    if containers().any(|it| is_unsafe(&it)) {
        return Some(("baseline", "another container may gain privileges"));
    }
    None
}
