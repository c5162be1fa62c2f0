//! What is found in a Go project -> edits of the files that kbr writes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::{Admitting, Described, Found, Manager, Marker, Reconciler, described};
use crate::blueprint::Edit;
use crate::project::{Head, Project};
use crate::quote;
use crate::resource::controller::Controller;
use crate::resource::webhook::{AdmissionKind, Webhook};

/// The comment above which carried permissions belong: the last one that the template writes.
const EVENTS: &str =
    "// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch\n/// Registers";

/// Permissions and the Go source, in the file of a controller. `permissions` are all of the project, sorted by their files.
pub fn controller(
    controller: &Controller,
    reconciler: &Reconciler,
    permissions: &[Marker],
) -> Vec<Edit> {
    let path = controller.path();
    let start = permissions.partition_point(|it| it.path < reconciler.path);
    let own = permissions[start..]
        .iter()
        .take_while(|it| it.path == reconciler.path);
    let lines = lines(own);
    let (last, registers) = EVENTS.split_once('\n').unwrap_or_default();
    vec![
        Edit::replace(&path, EVENTS, &format!("{last}\n{lines}{registers}")),
        reconciler_source(controller, &reconciler.path, &reconciler.text),
    ]
}

/// The Go source of a reconciler as a comment, in the file of a controller.
pub fn reconciler_source(controller: &Controller, path: &str, text: &str) -> Edit {
    Edit::append(&controller.path(), &source("reconciler", path, text))
}

/// A Go file as a comment.
fn source(what: &str, path: &str, text: &str) -> String {
    format!(
        "\n{}//\n{}",
        quote::rust_comment(&format!(
            "The {what} in Go, to port step by step: `{path}` of the project that this one was imported from."
        )),
        quote::rust_comment(text)
    )
}

/// Where the reconciler of a controller is, if its Go file and the permissions in it are already carried into `first`.
pub fn beside(controller: &Controller, first: &str) -> Edit {
    carried_into("reconciler", &controller.path(), first)
}

fn carried_into(what: &str, path: &str, first: &str) -> Edit {
    let text = format!(
        "\n// The {what} in Go is in the comment at the end of `{first}`, from the same file.\n"
    );
    Edit::append(path, &text)
}

/// A Go file with webhooks or conversions, in the file of a webhook; or where it is, if it is carried into `first`.
pub fn admitting(webhook: &Webhook, file: &Admitting, first: Option<&str>) -> Edit {
    let what = "webhook or conversion";
    match first {
        Some(first) => carried_into(what, &webhook.path(), first),
        None => Edit::append(&webhook.path(), &source(what, &file.path, &file.text)),
    }
}

/// The permissions of the Go files that become no controller.
pub fn others(permissions: &[Marker], is_carried: impl Fn(&str) -> bool) -> Vec<Edit> {
    let lines = lines(permissions.iter().filter(|it| !is_carried(&it.path)));
    if lines.is_empty() {
        return Vec::new();
    }
    let text = format!("\n// Permissions for which other files of the Go project ask.\n{lines}");
    vec![Edit::append("src/main.rs", &text)]
}

/// Each permission once. Those for which something is allowed are a comment of their own.
fn lines<'a>(permissions: impl Iterator<Item = &'a Marker>) -> String {
    let mut seen = BTreeSet::new();
    let (mut plain, mut allowed) = (String::new(), String::new());
    let mut ids = BTreeSet::<&str>::new();
    for marker in permissions {
        let line = marker.line() + "\n";
        if EVENTS.starts_with(&line) || !seen.insert(line.clone()) {
            continue;
        }
        let lines = if marker.allowed.is_empty() {
            &mut plain
        } else {
            &mut allowed
        };
        lines.push_str(&line);
        ids.extend(&marker.allowed);
    }
    if !allowed.is_empty() {
        let ids: Vec<_> = ids.into_iter().collect();
        let _ = write!(plain, "\n// +kbr:lint:allow={}\n{allowed}", ids.join(";"));
    }
    plain
}

/// How and when the API server calls the webhooks, as their comments in Go say it: one may have several, for different operations.
pub fn webhook(webhook: &Webhook, all: &[Described], head: &Head) -> Vec<Edit> {
    let edit = |(verb, path, first): (AdmissionKind, &str, &Described)| {
        let ours = webhook.marker(verb, path, &head.names().namespace, &head.manager_id());
        let same = all.iter().filter(|it| it.is_more_of(first));
        let lines: Vec<_> = same.map(|it| it.marker.line()).collect();
        Edit::replace(&webhook.path(), &ours, &lines.join("\n"))
    };
    described(webhook, all).map(edit).collect()
}

/// The Deployment and the image.
pub fn deployment(found: &Found, project: &Project) -> Vec<Edit> {
    let head = &project.head;
    let path = "config/manager/manager.yaml";
    let manager = &found.manager;
    let mut edits = Vec::new();
    edits.push(predecessors(found));
    if let Some(replicas) = manager.replicas {
        edits.push(Edit::replace(
            path,
            "  replicas: 1\n",
            &format!("  replicas: {replicas}\n"),
        ));
    }
    edits.extend(selector(manager, head, project.webhooks().next().is_some()));
    edits.extend(environment(found));
    edits.extend(components(found));
    edits.extend(resources(manager));
    if let Some(image) = &found.image {
        let ours = "IMG ?= controller:latest\n";
        edits.push(Edit::replace(
            "Makefile",
            ours,
            &format!("IMG ?= {image}\n"),
        ));
    }
    edits
}

/// The field managers of the operator in Go, whose fields the controllers take over.
fn predecessors(found: &Found) -> Edit {
    let mut names: Vec<_> = found.manager.program.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.extend(found.programs.iter().map(String::as_str));
    }
    if names.is_empty() {
        names.push("manager");
    }
    names.extend(found.field_owners.iter().map(String::as_str));
    names.dedup();
    let mut lines = "    // Takes over the fields of children that the operator in Go owns; until `kbr import --check` finds none.\n".to_owned();
    for name in names {
        let _ = writeln!(lines, "    manager.take_over({});", quote::rust(name));
    }
    let new = "    let mut manager = Manager::new(options, ID).await?;\n";
    Edit::replace("src/main.rs", new, &format!("{new}{lines}"))
}

/// The files that select the Pods, each with the line above the labels.
const SELECTING: [(&str, &str); 5] = [
    ("config/manager/metrics_service.yaml", "  selector:\n"),
    (WEBHOOK_SERVICE, "  selector:\n"),
    (
        "config/network-policy/network_policy.yaml",
        "    matchLabels:\n",
    ),
    (
        "config/high-availability/disruption_budget.yaml",
        "    matchLabels:\n",
    ),
    (
        "config/high-availability/manager_patch.yaml",
        "            matchLabels:\n",
    ),
];

/// It exists if there are webhooks.
const WEBHOOK_SERVICE: &str = "config/webhook/service.yaml";

/// The selector of a Deployment is immutable, so it stays that of the Go project. Its Pods get those labels, too: beside ours, or with
/// their values for the same keys, by which everything that selects the Pods then has to select them.
fn selector(manager: &Manager, head: &Head, serves: bool) -> Vec<Edit> {
    let name = ("app.kubernetes.io/name".to_owned(), head.name.clone());
    let plane = ("control-plane".to_owned(), "controller-manager".to_owned());
    let ours = [name, plane];
    let theirs = &manager.selector;
    let same = theirs.len() == ours.len() && ours.iter().all(|label| theirs.contains(label));
    if theirs.is_empty() || same {
        return Vec::new();
    }
    let value_of = |key: &str| theirs.iter().find(|it| it.0 == key);
    let selected: Vec<_> = ours
        .iter()
        .map(|our| value_of(&our.0).unwrap_or(our).clone())
        .collect();
    let is_more = |label: &&(String, String)| !ours.iter().any(|our| our.0 == label.0);
    let more = theirs.iter().filter(is_more).cloned();
    let pod: Vec<_> = selected.iter().cloned().chain(more).collect();
    let edit = |path: &str, head: &str, to: &[(String, String)]| {
        let indent = " ".repeat(head.len() - head.trim_start().len() + 2);
        let text = |all: &[(String, String)]| format!("{head}{}", labels(all, &indent));
        Edit::replace(path, &text(&ours), &text(to))
    };
    let path = "config/manager/manager.yaml";
    let mut edits = vec![
        edit(path, "    matchLabels:\n", theirs),
        edit(path, "      labels:\n", &pod),
    ];
    if selected != ours {
        let files = SELECTING.into_iter();
        let files = files.filter(|(path, _)| serves || *path != WEBHOOK_SERVICE);
        edits.extend(files.map(|(path, head)| edit(path, head, &selected)));
        let text = |all: &[(String, String)]| {
            let pairs: Vec<_> = all
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            pairs.join(",")
        };
        let alerts = "config/prometheus/alerts.yaml";
        edits.push(Edit::replace(alerts, &text(&ours), &text(&selected)));
    }
    edits
}

/// Labels as lines of YAML. What is plain in the template is plain here.
fn labels(labels: &[(String, String)], indent: &str) -> String {
    let mut text = String::new();
    for (key, value) in labels {
        let _ = writeln!(text, "{indent}{}: {}", scalar(key), scalar(value));
    }
    text
}

/// A text in YAML: in quotes, unless it cannot be taken for anything else.
fn scalar(text: &str) -> String {
    if quote::is_yaml_word(text) {
        text.to_owned()
    } else {
        quote::yaml(&Value::from(text))
    }
}

/// The namespaces that an operator watches, as the component `namespaced` says it.
const WATCHED: &str = "WATCH_NAMESPACE";

/// The components of `config/default`.
fn components(found: &Found) -> Option<Edit> {
    let line = |name: &&str| format!("  - ../{name}\n");
    let lines: String = found.components.iter().map(line).collect();
    let marker = "  # +kbr:scaffold:components\n";
    let path = "config/default/kustomization.yaml";
    (!lines.is_empty()).then(|| Edit::replace(path, marker, &format!("{lines}{marker}")))
}

/// The namespaces that a namespaced operator watches, if they are not its own.
pub fn watched(found: &Found) -> Option<&str> {
    let mut variables = found.manager.env.iter();
    let variable = variables.find(|it| it["name"] == WATCHED)?;
    variable["value"]
        .as_str()
        .filter(|_| found.project.namespaced)
}

fn environment(found: &Found) -> Option<Edit> {
    let ours = ["POD_NAME", "POD_NAMESPACE"];
    let is_ours = |name: &Value| {
        ours.iter().any(|it| name == it) || (found.project.namespaced && name == WATCHED)
    };
    let theirs = found.manager.env.iter().filter(|it| !is_ours(&it["name"]));
    let mut lines = String::new();
    for variable in theirs {
        let _ = writeln!(lines, "            - {}", quote::yaml(variable));
    }
    let end = "                  fieldPath: metadata.namespace\n";
    (!lines.is_empty())
        .then(|| Edit::replace("config/manager/manager.yaml", end, &format!("{end}{lines}")))
}

/// The block that the template has.
const RESOURCES: &str = "            requests:
              cpu: 10m
              memory: 32Mi
            limits:
              # No CPU limit: throttling can delay the lease renewal and lose the leadership.
              memory: 128Mi
";

fn resources(manager: &Manager) -> Option<Edit> {
    let resources = manager.resources.as_ref()?.as_object()?;
    let mut lines = String::new();
    for (key, value) in resources {
        let _ = writeln!(lines, "            {}: {}", scalar(key), quote::yaml(value));
    }
    Some(Edit::replace(
        "config/manager/manager.yaml",
        RESOURCES,
        &lines,
    ))
}

/// What kubebuilder writes into a sample, until its user does.
const UNEDITED: &str = "# TODO(user): Add fields here";

/// The sample of a version, if the user of the Go project has written one.
pub fn sample(
    found: &Found,
    group: &str,
    full_group: &str,
    version: &str,
    kind: &str,
) -> Option<Edit> {
    let api_version = format!("{full_group}/{version}");
    let mut samples = found.samples.all.iter();
    let sample = samples.find(|it| it.api_version == api_version && it.kind == kind)?;
    if sample.text.contains(UNEDITED) {
        return None;
    }
    let path = format!(
        "config/samples/{group}_{version}_{}.yaml",
        kind.to_lowercase()
    );
    Some(Edit::whole(&path, &sample.text))
}

/// Where further samples are: kbr neither validates nor applies them.
const MORE: &str = "config/samples/more";

/// The files of samples that are not the one of their version, as in Go.
pub fn more_samples(found: &Found, is_own: impl Fn(&str, &str) -> bool) -> Vec<(String, String)> {
    let mut taken = BTreeSet::new();
    let mut more = BTreeSet::new();
    for sample in &found.samples.all {
        let is_first = taken.insert((&sample.api_version, &sample.kind));
        let is_edited = !sample.text.contains(UNEDITED);
        if is_edited && !(is_first && is_own(&sample.api_version, &sample.kind)) {
            more.insert(&sample.path);
        }
    }
    let file = |path: &String| {
        let (_, rest) = path.split_once("config/samples/")?;
        Some((format!("{MORE}/{rest}"), found.samples.files[path].clone()))
    };
    more.into_iter().filter_map(file).collect()
}
