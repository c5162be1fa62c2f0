//! The objects of a project in Go beside its operator, and those that the new operator has under other names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::roles::Granted;
use super::{Deployed, OF_TOOLS, account};
use crate::blueprint::Edit;
use crate::golang::yaml::text;
use crate::golang::{Found, Object};
use crate::project::Head;
use crate::resource::names;
use crate::yaml;

/// The component with the other objects.
const OTHERS: &str = "config/imported";

impl Deployed {
    /// Objects beside the operator, and those that it replaces under other names.
    pub(super) fn others(&mut self, found: &Found, head: &Head) -> anyhow::Result<()> {
        let names = head.names();
        let (account, granted) = (account(found), Granted::of(found));
        let mut carried: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut left: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for object in &found.rendered.objects {
            let (kind, name) = (object.kind(), object.name());
            let fate = fate(object, found, &granted);
            // They become names of files, and words of commands to type.
            let is_word = kind.bytes().all(|it| it.is_ascii_alphanumeric());
            let are_words = is_word
                && [name, object.namespace()]
                    .iter()
                    .all(|it| is_word_of_names(it));
            if !are_words && !matches!(fate, Fate::Known) {
                let (kind, name) = (kind.escape_debug(), name.escape_debug());
                self.notes
                    .push(format!("not taken over: the {kind} `{name}`, for its name"));
                continue;
            }
            let is_replaced = is_our_name(kind, name, head) || matches!(fate, Fate::Ours);
            if is_replaced && kind.ends_with("Role") {
                let labels = by_hand(object);
                self.notes.extend(labels.map(|label| {
                    let label = label.escape_debug();
                    format!("not taken over: labels of the {kind} `{name}`, which may aggregate it to another role: `{label}`")
                }));
            }
            match fate {
                _ if is_our_name(kind, name, head) => {}
                Fate::Ours => {
                    let place = (object.namespace().to_owned(), kind.to_owned());
                    left.entry(place).or_default().insert(name.to_owned());
                }
                Fate::Secret => self.notes.push(format!(
                    "not taken over: the Secret `{name}`, whose values do not belong in a file; create it in the cluster"
                )),
                Fate::Other => {
                    let mut value = object.value.clone();
                    serve(&mut value, account, &names.service_account);
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
                "`{OTHERS}` has what the project in Go deploys beside its operator, in {count} objects ({}): keep what is still needed",
                carried.keys().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ")
            ));
        }
        self.running.extend(leftovers(&left));
        Ok(())
    }
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

fn fate(object: &Object, found: &Found, granted: &Granted) -> Fate {
    let (kind, value) = (object.kind(), &object.value);
    let group = text(&value["apiVersion"]);
    let operator = &found.manager.deployment["metadata"];
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
        "Deployment" if value["metadata"] == *operator => Fate::Ours,
        "ServiceAccount" if object.name() == account(found) => Fate::Ours,
        "Service" if selects(&value["spec"]["selector"]) => Fate::Ours,
        "NetworkPolicy" if selects(&value["spec"]["podSelector"]["matchLabels"]) => Fate::Ours,
        "PodDisruptionBudget" if selects(&value["spec"]["selector"]["matchLabels"]) => Fate::Ours,
        "Certificate" | "Issuer" if group.starts_with("cert-manager.io/") => Fate::Ours,
        "Secret" => Fate::Secret,
        "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding"
            if granted.is_of_operator(object) =>
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
    let commands: Vec<_> = left.iter().map(command).collect();
    (!commands.is_empty()).then(|| {
        format!(
            "after the deployment, delete what the new operator has under other names, or does not need: {}",
            commands.join(", ")
        )
    })
}

/// The labels of an object that neither a kustomization nor a tool has given it.
fn by_hand(object: &Object) -> impl Iterator<Item = &str> {
    let labels = object.value["metadata"]["labels"].as_object();
    let keys = labels.into_iter().flatten().map(|(key, _)| key.as_str());
    keys.filter(|key| !object.labels.contains_key(*key))
        .filter(|key| !key.starts_with("app.kubernetes.io/") && !OF_TOOLS.contains(key))
}

/// Whether a text is a name, or empty. Those of roles may have colons.
fn is_word_of_names(text: &str) -> bool {
    text.is_empty() || names::is_subdomain(&text.replace(':', "-"))
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
