//! What a Pod in Go has besides ours, and which Pod Security Standard it meets.

use serde_json::{Value, json};

use super::{Deployed, besides, is_empty, metadata, pruned, put};
use crate::blueprint::Edit;
use crate::golang::Found;
use crate::golang::manifests::container;
use crate::golang::yaml::{list, text};
use crate::project::Head;

/// The container that kubebuilder once put before the metrics.
const PROXY: &str = "kube-rbac-proxy";

impl Deployed {
    /// A patch of our Deployment.
    pub(super) fn patch(&mut self, found: &Found, head: &Head) -> anyhow::Result<()> {
        let theirs = &found.manager.deployment;
        if theirs.is_null() {
            return Ok(());
        }
        let names = head.names();
        let pod = &theirs["spec"]["template"]["spec"];
        if list(&pod["containers"]).any(|it| it["name"] == PROXY) {
            self.running.push(format!(
                "the container `{PROXY}` is left out, because the operator itself serves metrics with TLS and authorization; server-side apply would keep it in the Pod, on the same port: right before you deploy, `kubectl -n {} delete deployment {}`",
                names.namespace, names.deployment
            ));
        }
        let mut patch =
            json!({ "spec": besides(&theirs["spec"], &["replicas", "selector", "template"]) });
        let template = json!({
            "metadata": metadata(&theirs["spec"]["template"]["metadata"], found),
            "spec": pod_patch(pod, &names.container),
        });
        put(&mut patch["spec"], "template", pruned(template));
        put(&mut patch, "metadata", metadata(&theirs["metadata"], found));
        let patch = pruned(patch);
        if is_empty(&patch) {
            return Ok(());
        }
        let mut document = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {} });
        if let (Some(fields), Value::Object(patch)) = (document.as_object_mut(), patch) {
            fields.extend(patch);
        }
        document["metadata"]["name"] = names.deployment.into();
        document["metadata"]["namespace"] = names.namespace.into();
        self.patch_of("Deployment", "config/manager", &[document])?;
        if let Some((standard, why)) = standard(pod) {
            self.edits.push(Edit::replace(
                "config/manager/namespace.yaml",
                "    # Pods in this namespace must meet the strictest Pod Security Standard.\n    pod-security.kubernetes.io/enforce: restricted\n",
                &format!("    pod-security.kubernetes.io/enforce: {standard}\n"),
            ));
            self.notes.push(format!(
                "the Pod in Go does not meet the Pod Security Standard `restricted` ({why}), so `config/manager/namespace.yaml` enforces `{standard}`: return to `restricted` if the operator in Rust does not need that"
            ));
        }
        Ok(())
    }

    /// Notes about arguments that the new operator does not have, or that have other values there.
    pub(super) fn arguments(&mut self, found: &Found) {
        let manager = &found.manager;
        for word in &manager.words {
            let word = word.escape_debug();
            self.notes.push(format!(
                "the program in Go is started with the argument `{word}`: the one in Rust has no subcommands"
            ));
        }
        for flag in &manager.usual {
            let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
            let shown = flag.escape_debug();
            let text = match (name, value) {
                ("--metrics-bind-address", ":8443" | "127.0.0.1:8080" | "127.0.0.1:8080/") => {
                    continue;
                }
                ("--metrics-bind-address", _) => format!(
                    "the operator in Go serves metrics as `{shown}` says, and this one with TLS and authorization at port 8443: change what scrapes them, or the flag in `config/manager/manager.yaml`"
                ),
                ("--metrics-secure", "false") => format!(
                    "the operator in Go has `{shown}`, and this one serves metrics with TLS and authorization: change what scrapes them"
                ),
                ("--leader-elect", "false") => format!(
                    "the operator in Go has `{shown}`, and this one elects a leader: stop the one in Go before you deploy, or both run"
                ),
                ("--health-probe-bind-address", value) if value != ":8081" => format!(
                    "the operator in Go answers probes as `{shown}` says, and this one at port 8081"
                ),
                _ => continue,
            };
            self.notes.push(text);
        }
        let pod = &manager.deployment["spec"]["template"]["spec"];
        self.ports(container(pod));
        if list(&pod["volumes"]).any(|it| it["name"] == CONFIGURATION) {
            self.notes.push(format!(
                "the volume `{CONFIGURATION}` is left out: the new operator has flags instead of a configuration file"
            ));
        }
    }

    /// A note about the ports that the new operator has under other names or numbers.
    fn ports(&mut self, container: &Value) {
        let changed = list(&container["ports"])
            .filter(|it| is_our_port(it))
            .filter_map(|it| {
                let (name, number) = (text(&it["name"]), it["containerPort"].as_u64()?);
                let shown = format!("`{}` ({number})", name.escape_debug());
                (!name.is_empty() && !USUAL_PORTS.contains(&(name, number))).then_some(shown)
            });
        let changed: Vec<_> = changed.collect();
        if !changed.is_empty() {
            self.notes.push(format!(
                "container ports of the Deployment in Go that the new operator replaces by `metrics` (8443), `probes` (8081) and `webhook` (9443): {}; change what connects to them, such as a `PodMonitor`",
                changed.join(", ")
            ));
        }
    }
}

/// Where the certificates are mounted that the operator has itself.
const CERTIFICATES: [&str; 2] = ["/k8s-webhook-server/", "/k8s-metrics-server/"];

/// The configuration file of old releases of kubebuilder, which the new operator does not read.
const CONFIGURATION: &str = "manager-config";

/// Whether a volume is for what the new operator has itself, or does not read.
fn is_replaced(volume: &str, manager: &Value) -> bool {
    let is_certificate = |mount: &Value| {
        let path = format!("{}/", text(&mount["mountPath"]));
        mount["name"] == volume && CERTIFICATES.iter().any(|it| path.contains(it))
    };
    volume == CONFIGURATION || list(&manager["volumeMounts"]).any(is_certificate)
}

/// The patch of our Pod, whose operator is in the container `name`.
fn pod_patch(pod: &Value, name: &str) -> Value {
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
    let manager = container(pod);
    let is_kept = |it: &&Value| !is_replaced(text(&it["name"]), manager);
    let volumes = list(&pod["volumes"]).filter(is_kept);
    put(&mut patch, "volumes", volumes.cloned().collect());
    let context = &pod["securityContext"];
    let mut security = besides(context, &["runAsNonRoot", "seccompProfile"]);
    if context["runAsNonRoot"] == false || context["runAsUser"] == 0 {
        put(&mut security, "runAsNonRoot", false.into());
    }
    put(&mut patch, "securityContext", security);
    put(&mut patch, "initContainers", pod["initContainers"].clone());
    let others = list(&pod["containers"]);
    let others = others.filter(|it| *it != manager && it["name"] != PROXY);
    let mut containers: Vec<_> = others.cloned().collect();
    let mut ours = container_patch(manager);
    if !is_empty(&ours) {
        put(&mut ours, "name", name.into());
        containers.insert(0, ours);
    }
    put(&mut patch, "containers", containers.into());
    patch
}

fn container_patch(theirs: &Value) -> Value {
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
    let is_kept = |it: &&Value| !is_replaced(text(&it["name"]), theirs);
    let mounts = list(&theirs["volumeMounts"]).filter(is_kept);
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
    let ports = list(&theirs["ports"]).filter(|it| !is_our_port(it));
    put(&mut patch, "ports", ports.cloned().collect());
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

/// Whether the new operator has a port of its own instead: that of this name, or for what kubebuilder has at this number.
fn is_our_port(port: &Value) -> bool {
    [8080, 8081, 8443, 9443]
        .iter()
        .any(|it| port["containerPort"] == *it)
        || ["metrics", "probes", "webhook"]
            .iter()
            .any(|it| port["name"] == *it)
}

/// Ports that need no note: ours, and those of kubebuilder, whose Services are replaced.
const USUAL_PORTS: [(&str, u64); 6] = [
    ("https", 8443),
    ("metrics", 8080),
    ("metrics", 8443),
    ("probes", 8081),
    ("webhook", 9443),
    ("webhook-server", 9443),
];

/// What a probe does, apart from when.
const HANDLERS: [&str; 4] = ["exec", "grpc", "httpGet", "tcpSocket"];

/// The Pod Security Standard that the Pod meets, and why it does not meet `restricted`; `None` if it does.
/// <https://kubernetes.io/docs/concepts/security/pod-security-standards/>
fn standard(pod: &Value) -> Option<(&'static str, &'static str)> {
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
