//! What the Go side deploys besides what kbr writes -> files, permissions and notes: a patch of the Deployment, and `config/imported`.

mod pod;
mod roles;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Found, Object};
use crate::blueprint::Edit;
use crate::project::Head;
use crate::quote::is_plain;
use crate::resource::names;
use crate::yaml;
use pod::{pod_patch, standard};
use roles::is_of_operator;
pub use roles::permissions;

/// What is carried, and what is not.
#[derive(Debug, Default)]
pub struct Deployed {
    /// New files, by their paths.
    pub files: Vec<(String, String)>,
    /// Changes of files that kbr writes.
    pub edits: Vec<Edit>,
    /// Notes about the Deployment and what is beside it.
    pub notes: Vec<String>,
    /// A note with the commands that delete what the new operator has under other names.
    pub leftovers: Option<String>,
}

/// Everything but permissions, of which [`permissions`] are a part.
///
/// # Errors
/// An object cannot be written as YAML.
pub fn deployed(found: &Found, head: &Head) -> anyhow::Result<Deployed> {
    let mut deployed = Deployed::default();
    deployed.patch(found, head)?;
    deployed.arguments(found);
    deployed.account(found, head)?;
    deployed.others(found, head)?;
    deployed.labels(found);
    let unknown = found.rendered.unknown.iter();
    deployed.notes.extend(unknown.map(|what| {
        let what = what.escape_debug();
        format!("not rendered: {what}, so look at what it does to the Deployment and the roles")
    }));
    Ok(deployed)
}

/// The patch of our Deployment.
const PATCH: &str = "config/manager/imported_patch.yaml";

/// The patch of our `ServiceAccount`.
const ACCOUNT: &str = "config/rbac/imported_patch.yaml";

/// The component with the other objects.
const OTHERS: &str = "config/imported";

impl Deployed {
    fn patch(&mut self, found: &Found, head: &Head) -> anyhow::Result<()> {
        let theirs = &found.manager.deployment;
        if theirs.is_null() {
            return Ok(());
        }
        let names = head.names();
        let mut patch =
            json!({ "spec": besides(&theirs["spec"], &["replicas", "selector", "template"]) });
        let pod = &theirs["spec"]["template"]["spec"];
        let pod_patch = pod_patch(pod, &names.container);
        let template = json!({
            "metadata": metadata(&theirs["spec"]["template"]["metadata"], found),
            "spec": pod_patch,
        });
        put(&mut patch["spec"], "template", pruned(template));
        put(&mut patch, "metadata", metadata(&theirs["metadata"], found));
        let patch = pruned(patch);
        if is_empty(&patch) {
            return Ok(());
        }
        let mut document = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {} });
        merge_into(&mut document, patch);
        document["metadata"]["name"] = names.deployment.into();
        document["metadata"]["namespace"] = names.namespace.into();
        let text = yaml::render(&[document])?;
        self.files.push((
            PATCH.to_owned(),
            format!("# What the Deployment of the operator in Go has besides.\n{text}"),
        ));
        self.edits.push(Edit::append(
            "config/manager/kustomization.yaml",
            "patches:\n  - path: imported_patch.yaml\n",
        ));
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

    /// What the `ServiceAccount` in Go has besides, such as the annotation by which a cloud grants it a role.
    fn account(&mut self, found: &Found, head: &Head) -> anyhow::Result<()> {
        let Some(account) = account(found) else {
            return Ok(());
        };
        let mut objects = found.rendered.objects.iter();
        let is_account = |it: &&Object| it.kind() == "ServiceAccount" && it.name() == account;
        let Some(theirs) = objects.find(is_account) else {
            return Ok(());
        };
        let metadata = &theirs.value["metadata"];
        let patch = pruned(json!({
            "annotations": metadata["annotations"],
            "imagePullSecrets": theirs.value["imagePullSecrets"],
        }));
        if is_empty(&patch) {
            return Ok(());
        }
        let names = head.names();
        let mut document = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": names.service_account, "namespace": names.namespace },
        });
        put(
            &mut document["metadata"],
            "annotations",
            patch["annotations"].clone(),
        );
        put(
            &mut document,
            "imagePullSecrets",
            patch["imagePullSecrets"].clone(),
        );
        let text = yaml::render(&[document])?;
        self.files.push((
            ACCOUNT.to_owned(),
            format!("# What the ServiceAccount of the operator in Go has besides.\n{text}"),
        ));
        self.edits.push(Edit::append(
            "config/rbac/kustomization.yaml",
            "patches:\n  - path: imported_patch.yaml\n",
        ));
        Ok(())
    }

    fn arguments(&mut self, found: &Found) {
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
        let containers = &manager.deployment["spec"]["template"]["spec"]["containers"];
        let mut containers = containers.as_array().into_iter().flatten();
        if containers.any(|it| it["name"] == PROXY) {
            self.notes.push(format!(
                "the container `{PROXY}` is left out: the operator itself serves metrics with TLS and authorization"
            ));
        }
    }

    /// Objects beside the operator, and those that it replaces under other names.
    fn others(&mut self, found: &Found, head: &Head) -> anyhow::Result<()> {
        let names = head.names();
        let account = account(found);
        let mut carried: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut left: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for object in &found.rendered.objects {
            let (kind, name) = (object.kind(), object.name());
            if !is_word(kind) || !names::is_subdomain(name) {
                continue;
            }
            let fate = match fate(object, found, account) {
                Fate::Other if is_our_name(kind, name, head) => Fate::Ours,
                fate => fate,
            };
            match fate {
                Fate::Ours => {
                    if !is_our_name(kind, name, head) {
                        let place = (object.namespace().to_owned(), kind.to_owned());
                        left.entry(place).or_default().insert(name.to_owned());
                    }
                }
                Fate::Secret => self.notes.push(format!(
                    "not taken over: the Secret `{name}`, whose values do not belong in a file; create it in the cluster"
                )),
                Fate::Other => {
                    let mut value = object.value.clone();
                    if let Some(account) = account {
                        serve(&mut value, account, &names.service_account);
                    }
                    carried.entry(kind.to_lowercase()).or_default().push(value);
                }
                Fate::Known => {}
            }
        }
        if !carried.is_empty() {
            let files: Vec<_> = carried
                .keys()
                .map(|kind| format!("  - {kind}.yaml\n"))
                .collect();
            for (kind, objects) in &carried {
                self.files
                    .push((format!("{OTHERS}/{kind}.yaml"), yaml::render(objects)?));
            }
            self.files.push((
                format!("{OTHERS}/kustomization.yaml"),
                format!(
                    "# What the project in Go deploys beside its operator.\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources:\n{}",
                    files.concat()
                ),
            ));
            let marker = "  # +kbr:scaffold:components\n";
            self.edits.push(Edit::replace(
                "config/default/kustomization.yaml",
                marker,
                &format!("  - ../imported\n{marker}"),
            ));
            let count: usize = carried.values().map(Vec::len).sum();
            self.notes.push(format!(
                "`{OTHERS}` has {count} objects that the project in Go deploys beside its operator ({}): keep what is still needed",
                carried.keys().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ")
            ));
        }
        self.leftovers = leftovers(&left);
        Ok(())
    }

    /// The labels that kustomizations in Go add to all objects, or to all CRDs.
    fn labels(&mut self, found: &Found) {
        let is_crd = |it: &&Object| it.kind() == "CustomResourceDefinition";
        let (crds, others): (Vec<_>, Vec<_>) = found.rendered.objects.iter().partition(is_crd);
        let of_all = common(&others);
        let of_crds = common(&crds).into_iter().filter(|it| !of_all.contains(it));
        let of_crds: Vec<_> = of_crds.collect();
        for (path, labels) in [
            ("config/default/kustomization.yaml", of_all),
            ("config/crd/kustomization.yaml", of_crds),
        ] {
            let pairs: Map<_, _> = labels
                .into_iter()
                .map(|(key, value)| (key, Value::from(value)))
                .collect();
            if !pairs.is_empty() {
                let pairs = crate::quote::yaml(&Value::Object(pairs));
                let text = format!("labels:\n  - pairs: {pairs}\n");
                self.edits.push(Edit::append(path, &text));
            }
        }
    }
}

/// The container that kubebuilder once put before the metrics.
const PROXY: &str = "kube-rbac-proxy";

/// Labels that say by which tool or for what a single object is.
const OF_TOOLS: [&str; 4] = [
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
    "app.kubernetes.io/component",
    "control-plane",
];

/// The labels that all of several objects have.
fn common(objects: &[&Object]) -> Vec<(String, String)> {
    let labels = |object: &Object| -> BTreeSet<(String, String)> {
        let labels = object.value["metadata"]["labels"].as_object();
        let pairs = labels.into_iter().flatten();
        pairs
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect()
    };
    let Some((first, others)) = objects.split_first() else {
        return Vec::new();
    };
    let mut found = labels(first);
    for object in others {
        let these = labels(object);
        found.retain(|it| these.contains(it));
    }
    let is_usual = |key: &String| OF_TOOLS.contains(&key.as_str());
    let clear = |text: &String| text.chars().all(is_plain);
    found.retain(|(key, value)| !is_usual(key) && clear(key) && clear(value));
    found.into_iter().collect()
}

/// The `ServiceAccount` of the operator.
fn account(found: &Found) -> Option<&str> {
    let pod = &found.manager.deployment["spec"]["template"]["spec"];
    let account = pod["serviceAccountName"].as_str();
    account.or(pod["serviceAccount"].as_str())
}

/// What becomes of an object.
enum Fate {
    /// kbr has one for the same, maybe under another name.
    Ours,
    /// It is carried as it is.
    Other,
    /// It is a Secret with values.
    Secret,
    /// It needs no word.
    Known,
}

fn fate(object: &Object, found: &Found, account: Option<&str>) -> Fate {
    let (kind, value) = (object.kind(), &object.value);
    let group = value["apiVersion"].as_str().unwrap_or_default();
    let is_operator = found
        .manager
        .deployed
        .as_ref()
        .is_some_and(|(name, _)| name == object.name());
    let selects = |labels: &Value| {
        let labels = labels.as_object().filter(|it| !it.is_empty());
        let pod = &found.manager.deployment["spec"]["template"]["metadata"]["labels"];
        labels.is_some_and(|it| it.iter().all(|(key, value)| pod[key] == *value))
    };
    match kind {
        "Namespace" | "CustomResourceDefinition" => Fate::Known,
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" | "ServiceMonitor" => {
            Fate::Ours
        }
        "Deployment" if is_operator => Fate::Ours,
        "ServiceAccount" if account == Some(object.name()) => Fate::Ours,
        "Service" if selects(&value["spec"]["selector"]) => Fate::Ours,
        "NetworkPolicy" if selects(&value["spec"]["podSelector"]["matchLabels"]) => Fate::Ours,
        "PodDisruptionBudget" if selects(&value["spec"]["selector"]["matchLabels"]) => Fate::Ours,
        "Certificate" | "Issuer" if group.starts_with("cert-manager.io/") => Fate::Ours,
        "Secret" => Fate::Secret,
        "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding"
            if is_of_operator(object, found, account) =>
        {
            Fate::Ours
        }
        _ => Fate::Other,
    }
}

/// Whether an object of kbr has the same kind and name, which it then replaces.
fn is_our_name(kind: &str, name: &str, head: &Head) -> bool {
    let names = head.names();
    let prefix = &names.prefix;
    let rest = name.strip_prefix(prefix.as_str()).unwrap_or_default();
    match kind {
        "Deployment" => name == names.deployment,
        "ServiceAccount" => name == names.service_account,
        "Service" => ["-metrics", "-webhook"].contains(&rest),
        "ClusterRole" => ["-manager-role", "-metrics-auth-role", "-metrics-reader"].contains(&rest),
        "ClusterRoleBinding" => {
            ["-manager-rolebinding", "-metrics-auth-rolebinding"].contains(&rest)
        }
        "Role" => rest == "-leader-election-role",
        "RoleBinding" => rest == "-leader-election-rolebinding",
        "MutatingWebhookConfiguration" => rest == "-mutating-webhook-configuration",
        "ValidatingWebhookConfiguration" => rest == "-validating-webhook-configuration",
        _ => false,
    }
}

/// One note with the commands that delete what is replaced under another name.
fn leftovers(left: &BTreeMap<(String, String), BTreeSet<String>>) -> Option<String> {
    let command = |((namespace, kind), names): (&(String, String), &BTreeSet<String>)| {
        let namespace = match namespace.as_str() {
            "" => String::new(),
            namespace => format!("-n {namespace} "),
        };
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        format!(
            "`kubectl {namespace}delete {} {}`",
            kind.to_lowercase(),
            names.join(" ")
        )
    };
    let are_words = |((namespace, _), _): &(&(String, String), _)| {
        namespace.is_empty() || names::is_subdomain(namespace)
    };
    let commands: Vec<_> = left.iter().filter(are_words).map(command).collect();
    (!commands.is_empty()).then(|| {
        format!(
            "after the deployment, delete what the new operator has under other names, or does not need: {}",
            commands.join(", ")
        )
    })
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric())
}

/// Names our `ServiceAccount` where an object names that of the operator in Go.
fn serve(value: &mut Value, theirs: &str, ours: &str) {
    let subjects = value.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects.into_iter().flatten() {
        if subject["kind"] == "ServiceAccount" && subject["name"] == theirs {
            subject["name"] = ours.into();
        }
    }
}

/// The fields of an object but for some.
fn besides(value: &Value, known: &[&str]) -> Value {
    let fields = value.as_object().into_iter().flatten();
    let others = fields.filter(|(key, _)| !known.contains(&key.as_str()));
    others
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn put(value: &mut Value, key: &str, field: Value) {
    if let Some(fields) = value.as_object_mut().filter(|_| !is_empty(&field)) {
        fields.insert(key.to_owned(), field);
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Without the fields on the first two levels that have nothing.
fn pruned(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, field| !is_empty(field));
    }
    value
}

fn merge_into(document: &mut Value, patch: Value) {
    if let (Some(fields), Value::Object(patch)) = (document.as_object_mut(), patch) {
        fields.extend(patch);
    }
}

/// Labels and annotations that neither kbr writes nor a selector has.
fn metadata(theirs: &Value, found: &Found) -> Value {
    let is_selected = |key: &String| found.manager.selector.iter().any(|it| it.0 == *key);
    let labels = besides(&theirs["labels"], &OF_TOOLS);
    let labels: Map<_, _> = labels
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !is_selected(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let annotations = besides(
        &theirs["annotations"],
        &["kubectl.kubernetes.io/default-container"],
    );
    pruned(json!({ "labels": labels, "annotations": annotations }))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
