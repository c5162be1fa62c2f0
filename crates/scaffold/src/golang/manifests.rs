//! What `config` of a Go project has.

use std::collections::BTreeMap;

use kbr_host::yaml::Budget;
use serde_json::Value;

use super::kustomize::Rendered;
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
    /// The text of its file, or the object alone if that has several.
    pub text: String,
    /// Its file.
    pub path: String,
}

/// The samples of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// All objects: first those that the kustomization lists, in its order, then the others in the order of their files.
    pub all: Vec<Sample>,
    /// The text of each file, by its path.
    pub files: BTreeMap<String, String>,
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
    /// Flags that it writes.
    pub usual: Vec<String>,
    /// Arguments that are no flags, such as subcommands.
    pub words: Vec<String>,
    /// Environment variables.
    pub env: Vec<Value>,
    /// Requests and limits, unless they are those that kubebuilder writes.
    pub resources: Option<Value>,
    /// The name of its container.
    pub container: Option<String>,
    /// The number of replicas, unless it is 1.
    pub replicas: Option<u64>,
    /// All of it, as it is deployed; null without one.
    pub deployment: Value,
}

/// What `make deploy` of kubebuilder deploys.
pub const DEFAULT: &str = "config/default";

/// The objects in `config/samples`.
pub fn samples(files: &Files, budget: &mut Budget) -> Samples {
    let folder = files.range("config/samples/".to_owned().."config/samples0".to_owned());
    let mut samples = Samples::default();
    for (path, text) in folder {
        let documents = yaml::documents(text, budget);
        let is_object = |it: &&Value| {
            it["apiVersion"].is_string() && it["kind"].is_string() && it["kind"] != "Kustomization"
        };
        let objects: Vec<_> = documents.iter().filter(is_object).cloned().collect();
        let Some(whole) = sample_text(text, &objects).filter(|_| !objects.is_empty()) else {
            continue;
        };
        for object in &objects {
            let alone = match &objects[..] {
                [_] => Some(whole.clone()),
                _ => crate::yaml::render(std::slice::from_ref(object)).ok(),
            };
            let word = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
            samples.all.extend(alone.map(|text| Sample {
                api_version: word("apiVersion"),
                kind: word("kind"),
                text,
                path: path.clone(),
            }));
        }
        samples.files.insert(path.clone(), whole);
    }
    let mut names = ["kustomization.yaml", "kustomization.yml"].iter();
    let listed = names.find_map(|name| files.get(&format!("config/samples/{name}")));
    let listed = yaml::documents(listed.map_or("", String::as_str), budget);
    let listed = listed.iter().flat_map(|it| yaml::list(&it["resources"]));
    let places: BTreeMap<_, _> = listed
        .enumerate()
        .map(|(at, it)| (yaml::text(it).trim_start_matches("./"), at))
        .collect();
    samples.all.sort_by_key(|it| {
        let name = it.path.strip_prefix("config/samples/");
        let place = places.get(name.unwrap_or_default());
        place.copied().unwrap_or(usize::MAX)
    });
    samples
}

/// The text of a file of samples with its comments; without them, if every program may not read the same lines.
fn sample_text(text: &str, objects: &[Value]) -> Option<String> {
    let is_clear = |line: &str| line.chars().all(|it| is_plain(it) || it == '\t');
    if text.lines().all(is_clear) {
        return Some(text.replace("\r\n", "\n"));
    }
    crate::yaml::render(objects).ok()
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

/// The operator's Deployment in what `config/default` renders, or else in `config/manager`.
pub fn manager(files: &Files, rendered: &Rendered, budget: &mut Budget) -> Manager {
    let mut objects: Vec<_> = rendered.objects.iter().map(|it| &it.value).collect();
    let is_deployment = |it: &&Value| it["kind"] == "Deployment";
    let mut others = Vec::new();
    if !objects.iter().any(is_deployment) {
        let folder = files.range("config/manager/".to_owned().."config/manager0".to_owned());
        others.extend(folder.flat_map(|(_, text)| yaml::documents(text, budget)));
    }
    objects.extend(&others);
    let Some(deployment) = operator(objects.into_iter().filter(is_deployment)) else {
        return Manager::default();
    };
    let spec = &deployment["spec"];
    let container = container(&spec["template"]["spec"]);
    let list = |key: &str| container[key].as_array().into_iter().flatten();
    let arguments = list("command").skip(1).chain(list("args"));
    let arguments = arguments.filter_map(Value::as_str);
    let (flags, words): (Vec<_>, Vec<_>) = arguments.partition(|it| it.starts_with('-'));
    let is_usual_flag = |flag: &&str| USUAL.contains(&flag.split('=').next().unwrap_or_default());
    let labels = spec["selector"]["matchLabels"]
        .as_object()
        .into_iter()
        .flatten();
    let command = list("command").next().and_then(Value::as_str);
    let program = command.and_then(|path| path.rsplit('/').next());
    let program = program.filter(|name| source::is_field_manager(name));
    let account = spec["template"]["spec"]["serviceAccountName"].as_str();
    Manager {
        // Only a kustomization says what names become.
        deployed: deployed(&deployment["metadata"]).filter(|_| others.is_empty()),
        prefix: rendered.prefix.clone().filter(|it| !it.is_empty()),
        account: account.filter(|it| *it != "default").map(str::to_owned),
        program: program.map(str::to_owned),
        selector: labels
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .filter(|(key, value)| is_label(key) && is_label(value))
            .collect(),
        words: words.into_iter().map(str::to_owned).collect(),
        usual: flags
            .iter()
            .filter(|flag| is_usual_flag(flag))
            .map(|flag| (*flag).to_owned())
            .collect(),
        flags: flags
            .into_iter()
            .filter(|flag| !is_usual_flag(flag))
            .map(str::to_owned)
            .collect(),
        env: list("env").cloned().collect(),
        resources: Some(&container["resources"])
            .filter(|it| it.is_object() && !is_usual(it))
            .cloned(),
        container: container["name"].as_str().map(str::to_owned),
        replicas: spec["replicas"].as_u64().filter(|replicas| *replicas != 1),
        deployment: deployment.clone(),
    }
}

/// Of several Deployments, the one that elects a leader; else the one that kubebuilder names.
fn operator<'a>(deployments: impl Iterator<Item = &'a Value>) -> Option<&'a Value> {
    let elects = |it: &Value| {
        let arguments = container(&it["spec"]["template"]["spec"])["args"].as_array();
        let mut arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
        arguments.any(|it| it.contains("leader-elect"))
    };
    let rank = |it: &&Value| {
        let name = it["metadata"]["name"].as_str().unwrap_or_default();
        let is_manager = it["metadata"]["labels"]["control-plane"] == "controller-manager"
            || name.ends_with("controller-manager");
        (!elects(it), !is_manager)
    };
    deployments.min_by_key(rank)
}

/// The name and the namespace of a Deployment.
fn deployed(metadata: &Value) -> Option<(String, String)> {
    let (name, namespace) = (metadata["name"].as_str()?, metadata["namespace"].as_str()?);
    // They become words of commands to type.
    let are_names = names::is_subdomain(name) && names::is_subdomain(namespace);
    are_names.then(|| (name.to_owned(), namespace.to_owned()))
}

/// Whether a text may be the key or the value of a label, which also become words of shell commands.
fn is_label(text: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._/".contains(it);
    text.chars().all(is_plain)
}

/// The container of the operator in a Pod: the one that kubebuilder calls `manager`, or the first.
pub fn container(pod: &Value) -> &Value {
    let containers = pod["containers"].as_array().map_or(&[][..], Vec::as_slice);
    let mut named = containers.iter().filter(|it| it["name"] == "manager");
    let found = named.next().or(containers.first());
    found.unwrap_or(&Value::Null)
}

/// What `config/default` of both has as a component, or leaves out.
pub fn components(rendered: &Rendered, project: &GoProject) -> Vec<&'static str> {
    let includes = |name: &&str| rendered.visited.contains(&format!("config/{name}"));
    let optional = ["prometheus", "network-policy"].into_iter();
    let namespaced = project.namespaced.then_some("namespaced");
    optional.filter(includes).chain(namespaced).collect()
}

/// The variable with which an operator of either language serves no webhooks.
const ENABLE_WEBHOOKS: &str = "ENABLE_WEBHOOKS";

/// Why the operator in Go, or one with its Deployment, does not serve its webhooks. A webhook without a server rejects each request.
pub fn no_webhooks(files: &Files, rendered: &Rendered, manager: &Manager) -> Option<&'static str> {
    let is_off = |it: &Value| {
        it["name"] == ENABLE_WEBHOOKS && (it["value"] == "false" || it["value"] == false)
    };
    if manager.env.iter().any(is_off) {
        return Some("`ENABLE_WEBHOOKS` is `false` in its Deployment, so that nothing answers it");
    }
    let is_known = files.contains_key(&format!("{DEFAULT}/kustomization.yaml"));
    let mut objects = rendered.objects.iter();
    let is_deployed = rendered.visited.contains("config/webhook")
        || objects.any(|it| it.kind().ends_with("WebhookConfiguration"));
    (is_known && !is_deployed)
        .then_some("`config/default` of the project in Go does not include `../webhook`")
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

/// The other files below `config`, but for those of which the objects and patches are taken over as they are deployed.
pub fn left(files: &Files, rendered: &Rendered) -> Vec<String> {
    let is_deployed = |path: &str| {
        let is_other = ["config/crd/", "config/webhook/"]
            .iter()
            .any(|it| path.starts_with(it));
        !is_other && rendered.visited.contains(path)
    };
    let folder = files.range("config/".to_owned().."config0".to_owned());
    let paths = folder.map(|(path, _)| path);
    paths
        .filter(|path| !KNOWN.iter().any(|known| path.starts_with(known)) && !is_deployed(path))
        .cloned()
        .collect()
}
