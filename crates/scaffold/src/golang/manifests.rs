//! What `config` of a Go project has.

use std::collections::BTreeSet;

use kbr_host::yaml::Budget;
use serde_json::Value;

use super::{Files, GoProject, source, yaml};
use crate::quote::is_plain;
use crate::resource::names;

/// An object in `config/samples`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// `crew.example.com/v1`.
    pub api_version: String,
    /// `Captain`.
    pub kind: String,
    /// The text of its file.
    pub text: String,
}

/// What the Deployment in `config/manager` says beyond what kubebuilder writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manager {
    /// The names of the Deployment and of its namespace, as `config/default` renders them, if both are known.
    pub deployed: Option<(String, String)>,
    /// What `config/default` puts before the names of objects: `captains-`.
    pub prefix: Option<String>,
    /// The `ServiceAccount` that the Deployment runs as, unless it is that of every namespace.
    pub account: Option<String>,
    /// The immutable labels by which the Deployment selects its Pods.
    pub selector: Vec<(String, String)>,
    /// The name of the program that it runs, if it says so; client-go's field manager.
    pub program: Option<String>,
    /// Flags that kubebuilder does not write.
    pub flags: Vec<String>,
    /// Environment variables.
    pub env: Vec<Value>,
    /// Requests and limits, unless they are those that kubebuilder writes.
    pub resources: Option<Value>,
    /// The number of replicas, unless it is 1.
    pub replicas: Option<u64>,
}

/// What `make deploy` of kubebuilder deploys.
const DEFAULT: &str = "config/default";

/// The objects in `config/samples`, one for each file.
pub fn samples(files: &Files, budget: &mut Budget) -> Vec<Sample> {
    let folder = files.range("config/samples/".to_owned().."config/samples0".to_owned());
    let sample = |(_, text): (&String, &String)| {
        let documents = yaml::documents(text, budget);
        let [object] = &documents[..] else {
            return None;
        };
        Some(Sample {
            api_version: object["apiVersion"].as_str()?.to_owned(),
            kind: object["kind"]
                .as_str()
                .filter(|kind| *kind != "Kustomization")?
                .to_owned(),
            text: sample_text(text, object)?,
        })
    };
    folder.filter_map(sample).collect()
}

/// The text of a sample with its comments; without them, if every program may not read the same lines.
fn sample_text(text: &str, object: &Value) -> Option<String> {
    let is_clear = |line: &str| line.chars().all(|it| is_plain(it) || it == '\t');
    if text.lines().all(is_clear) {
        return Some(text.replace("\r\n", "\n"));
    }
    crate::yaml::render(std::slice::from_ref(object)).ok()
}

/// Flags that kubebuilder writes, for which the operator has its own line.
const USUAL: [&str; 6] = [
    "--leader-elect",
    "--health-probe-bind-address",
    "--metrics-bind-address",
    "--metrics-secure",
    "--metrics-cert-path",
    "--webhook-cert-path",
];

/// The requests and limits of kubebuilder 3 and 4.
fn is_usual(resources: &Value) -> bool {
    let value = |pointer: &str| resources.pointer(pointer).and_then(Value::as_str);
    value("/limits/cpu") == Some("500m")
        && value("/limits/memory") == Some("128Mi")
        && value("/requests/cpu") == Some("10m")
        && value("/requests/memory") == Some("64Mi")
}

/// The Deployment in `config/manager/manager.yaml`.
pub fn manager(files: &Files, budget: &mut Budget) -> Manager {
    let text = files.get("config/manager/manager.yaml");
    let documents = text.map(|text| yaml::documents(text, budget));
    let documents = documents.unwrap_or_default();
    let Some(deployment) = documents.iter().find(|it| it["kind"] == "Deployment") else {
        return Manager::default();
    };
    let spec = &deployment["spec"];
    let container = container(&spec["template"]["spec"]);
    let list = |key: &str| container[key].as_array().into_iter().flatten();
    let flags = list("args").filter_map(Value::as_str);
    let is_usual_flag = |flag: &&str| USUAL.contains(&flag.split('=').next().unwrap_or_default());
    let labels = spec["selector"]["matchLabels"]
        .as_object()
        .into_iter()
        .flatten();
    let command = list("command").next().and_then(Value::as_str);
    let program = command.and_then(|path| path.rsplit('/').next());
    let program = program.filter(|name| source::is_field_manager(name));
    let default = default(files, budget);
    let text = |key: &str| default[key].as_str().unwrap_or_default();
    let (prefix, suffix) = (text("namePrefix"), text("nameSuffix"));
    let renamed = |name: &str| format!("{prefix}{name}{suffix}");
    let account = spec["template"]["spec"]["serviceAccountName"].as_str();
    Manager {
        deployed: deployed(&default, &deployment["metadata"], renamed),
        prefix: Some(prefix.to_owned()).filter(|it| !it.is_empty()),
        account: account
            .filter(|it| *it != "default")
            .map(|it| account_name(files, it, renamed)),
        program: program.map(str::to_owned),
        selector: labels
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .filter(|(key, value)| is_label(key) && is_label(value))
            .collect(),
        flags: flags
            .filter(|flag| !is_usual_flag(flag))
            .map(str::to_owned)
            .collect(),
        env: list("env").cloned().collect(),
        resources: Some(&container["resources"])
            .filter(|it| it.is_object() && !is_usual(it))
            .cloned(),
        replicas: spec["replicas"].as_u64().filter(|replicas| *replicas != 1),
    }
}

/// The name of a `ServiceAccount`: kustomize renames references to objects that it has.
fn account_name(files: &Files, name: &str, renamed: impl Fn(&str) -> String) -> String {
    let named = format!("  name: {name}");
    let is_one = |text: &String| {
        let has = |wanted: &str| text.lines().any(|line| line == wanted);
        has("kind: ServiceAccount") && has(&named)
    };
    let mut below = files.range("config/".to_owned().."config0".to_owned());
    if below.any(|(_, text)| is_one(text)) {
        renamed(name)
    } else {
        name.to_owned()
    }
}

/// The kustomization of `config/default`.
fn default(files: &Files, budget: &mut Budget) -> Value {
    let text = files.get(&format!("{DEFAULT}/kustomization.yaml"));
    let documents = text.map(|text| yaml::documents(text, budget));
    let first = documents.and_then(|all| all.into_iter().next());
    first.unwrap_or_default()
}

/// What `config/default` makes of the name and the namespace of a Deployment.
fn deployed(
    default: &Value,
    metadata: &Value,
    renamed: impl Fn(&str) -> String,
) -> Option<(String, String)> {
    default.as_object()?;
    let name = renamed(metadata["name"].as_str()?);
    let namespace = default["namespace"].as_str();
    let namespace = namespace.or(metadata["namespace"].as_str())?;
    // They become words of commands to type.
    let are_names = names::is_subdomain(&name) && names::is_subdomain(namespace);
    are_names.then(|| (name, namespace.to_owned()))
}

/// Whether a text may be the key or the value of a label, which also become words of shell commands.
fn is_label(text: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._/".contains(it);
    text.chars().all(is_plain)
}

/// The container of the operator in a Pod: the one that kubebuilder calls `manager`, or the first.
fn container(pod: &Value) -> &Value {
    let containers = pod["containers"].as_array().map_or(&[][..], Vec::as_slice);
    let mut named = containers.iter().filter(|it| it["name"] == "manager");
    let found = named.next().or(containers.first());
    found.unwrap_or(&Value::Null)
}

/// What the kustomization of a folder includes: the paths of files and folders, from the root.
fn included(files: &Files, folder: &str, budget: &mut Budget) -> Vec<String> {
    let text = files.get(&format!("{folder}/kustomization.yaml"));
    let documents = text.map(|text| yaml::documents(text, budget));
    let documents = documents.unwrap_or_default();
    let lists = documents
        .iter()
        .flat_map(|it| [&it["resources"], &it["bases"], &it["components"]]);
    let items = lists.flat_map(|list| list.as_array().into_iter().flatten());
    let items = items.filter_map(Value::as_str);
    items.filter_map(|item| below(folder, item)).collect()
}

/// `config/default` and `../webhook` are `config/webhook`; `None` outside of the root.
fn below(folder: &str, item: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in item.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// What `config/default` of both has as a component, or leaves out.
pub fn components(files: &Files, project: &GoProject, budget: &mut Budget) -> Vec<&'static str> {
    let default = included(files, DEFAULT, budget);
    let includes = |name: &&str| default.contains(&format!("config/{name}"));
    let optional = ["prometheus", "network-policy"].into_iter();
    let namespaced = project.namespaced.then_some("namespaced");
    optional.filter(includes).chain(namespaced).collect()
}

/// The variable with which an operator of either language serves no webhooks.
const ENABLE_WEBHOOKS: &str = "ENABLE_WEBHOOKS";

/// Why the operator in Go, or one with its Deployment, does not serve its webhooks. A webhook without a server rejects each request.
pub fn no_webhooks(files: &Files, manager: &Manager, budget: &mut Budget) -> Option<&'static str> {
    let is_off = |it: &Value| {
        it["name"] == ENABLE_WEBHOOKS && (it["value"] == "false" || it["value"] == false)
    };
    if manager.env.iter().any(is_off) {
        return Some(
            "`ENABLE_WEBHOOKS` is `false` in `config/manager/manager.yaml`, so that nothing answers it",
        );
    }
    let is_known = files.contains_key(&format!("{DEFAULT}/kustomization.yaml"));
    (is_known && !deploys_webhooks(files, budget))
        .then_some("`config/default` of the project in Go does not include `../webhook`")
}

/// Whether `config/default` includes a webhook configuration, itself or through other folders.
fn deploys_webhooks(files: &Files, budget: &mut Budget) -> bool {
    let is_configuration = |line: &str| {
        line.strip_prefix("kind:")
            .is_some_and(|kind| kind.trim().ends_with("WebhookConfiguration"))
    };
    let mut pending = vec![DEFAULT.to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(path) = pending.pop() {
        let text = files.get(&path).map_or("", String::as_str);
        if path == "config/webhook" || text.lines().any(is_configuration) {
            return true;
        }
        if seen.insert(path.clone()) {
            pending.extend(included(files, &path, budget));
        }
    }
    false
}

/// Files below `config` that kubebuilder writes, or whose contents are taken over: folders, and the ends of names.
const KNOWN: [&str; 27] = [
    "config/certmanager/",
    "config/crd/bases/",
    "config/crd/kustomization.yaml",
    "config/crd/kustomizeconfig.yaml",
    "config/crd/patches/webhook_in_",
    "config/crd/patches/cainjection_in_",
    "config/default/kustomization.yaml",
    "config/default/manager_metrics_patch.yaml",
    "config/default/manager_webhook_patch.yaml",
    "config/default/manager_auth_proxy_patch.yaml",
    "config/default/manager_config_patch.yaml",
    "config/default/metrics_service.yaml",
    "config/default/cert_metrics_manager_patch.yaml",
    "config/default/webhookcainjection_patch.yaml",
    "config/manager/kustomization.yaml",
    "config/manager/manager.yaml",
    "config/manager/controller_manager_config.yaml",
    "config/manifests/",
    "config/network-policy/",
    "config/prometheus/",
    "config/rbac/",
    "config/samples/",
    "config/scorecard/",
    "config/webhook/kustomization.yaml",
    "config/webhook/kustomizeconfig.yaml",
    "config/webhook/manifests.yaml",
    "config/webhook/service.yaml",
];

/// The other files below `config`.
pub fn left(files: &Files) -> Vec<String> {
    let folder = files.range("config/".to_owned().."config0".to_owned());
    let paths = folder.map(|(path, _)| path);
    paths
        .filter(|path| !KNOWN.iter().any(|known| path.starts_with(known)))
        .cloned()
        .collect()
}
