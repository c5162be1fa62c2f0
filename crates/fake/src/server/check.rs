//! What a write may not contain.

use apiserver_rules::{Problem, Reason};
use serde_json::{Map, Value};

use super::{answer::ErrorResponse, kinds::Kind, path::Path};

/// Rejects a body that does not match the path.
pub(super) fn check(path: &Path, kind: &Kind, body: &Value) -> Result<(), ErrorResponse> {
    if !body.is_object() {
        return Err(ErrorResponse::bad_request(
            path,
            "the body of the request is no object",
        ));
    }
    let version = body["apiVersion"]
        .as_str()
        .filter(|version| !version.is_empty());
    if version.is_some_and(|version| version != path.api_version())
        || version.is_none() && !kind.built_in
    {
        let why = format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            version.unwrap_or_default(),
            path.api_version()
        );
        return Err(ErrorResponse::bad_request(path, why));
    }
    let name = body["kind"].as_str().filter(|kind| !kind.is_empty());
    let wrong = name.is_some_and(|name| !kind.name.is_empty() && name != kind.name);
    if wrong || name.is_none() && !kind.built_in {
        let why = format!(
            "the kind in the data ({}) is not that of the path ({})",
            name.unwrap_or_default(),
            kind.name
        );
        return Err(ErrorResponse::bad_request(path, why));
    }
    for (field, expected) in [("name", &path.name), ("namespace", &path.namespace)] {
        let found = body["metadata"][field].as_str().unwrap_or_default();
        if !found.is_empty() && !expected.is_empty() && found != expected {
            let why = format!(
                "the {field} of the object ({found}) does not match the {field} on the URL ({expected})"
            );
            return Err(ErrorResponse::bad_request(path, why));
        }
    }
    Ok(())
}

/// Built-in kinds that select their Pods, as the API server names them where the selector is empty.
const SELECTING: [(&str, &str); 4] = [
    ("daemonsets.apps", "daemonset"),
    ("deployments.apps", "deployment"),
    ("replicasets.apps", "deployment"),
    ("statefulsets.apps", "statefulset"),
];

/// What a new object of these kinds lacks.
pub(super) fn lacking(path: &Path, new: &Value) -> Vec<Problem> {
    let resource = path.resource();
    let Some((_, kind)) = SELECTING.iter().find(|it| it.0 == resource) else {
        return Vec::new();
    };
    let (selector, template) = (&new["spec"]["selector"], &new["spec"]["template"]);
    let wanted = selector["matchLabels"].as_object();
    let labels = &template["metadata"]["labels"];
    let has_all = wanted.is_none_or(|it| it.iter().all(|(key, value)| labels[key] == *value));
    let mut problems = Vec::new();
    if selector.is_null() {
        problems.push(Problem::new(Reason::Required, "spec.selector", ""));
    } else if wanted.is_none_or(Map::is_empty) && selector["matchExpressions"].is_null() {
        let why = format!("empty selector is invalid for {kind}");
        problems.push(Problem::of_value(
            Reason::Invalid,
            "spec.selector",
            selector,
            &why,
        ));
    }
    if selector.is_null() || !has_all {
        let field = "spec.template.metadata.labels";
        let why = "`selector` does not match template `labels`";
        problems.push(Problem::of_value(Reason::Invalid, field, labels, why));
    }
    let containers = template["spec"]["containers"].as_array();
    if containers.is_none_or(Vec::is_empty) {
        let field = "spec.template.spec.containers";
        problems.push(Problem::new(Reason::Required, field, ""));
    }
    problems
}

/// What cannot be changed of built-in kinds: their resource, a pointer to it, and its default.
const FIXED: [(&str, &str, Option<&str>); 9] = [
    ("daemonsets.apps", "/spec/selector", None),
    ("deployments.apps", "/spec/selector", None),
    ("replicasets.apps", "/spec/selector", None),
    ("jobs.batch", "/spec/template", None),
    ("jobs.batch", "/spec/selector", None),
    ("jobs.batch", "/spec/completionMode", Some("NonIndexed")),
    ("rolebindings.rbac.authorization.k8s.io", "/roleRef", None),
    (
        "clusterrolebindings.rbac.authorization.k8s.io",
        "/roleRef",
        None,
    ),
    ("secrets", "/type", Some("Opaque")),
];

/// What can be changed of the spec of a `StatefulSet`.
const CHANGEABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// Rejects a change of what cannot be changed of built-in kinds.
fn check_fixed(path: &Path, kind: &Kind, old: &Value, new: &Value) -> Result<(), ErrorResponse> {
    let resource = path.resource();
    let fields = FIXED.iter().filter(|(fixed, ..)| *fixed == resource);
    for (_, pointer, default) in fields {
        let at = |object: &Value| {
            let found = object.pointer(pointer).filter(|found| !found.is_null());
            found.cloned().or(default.map(Value::from))
        };
        let (before, now) = (at(old), at(new));
        // The scheduling of a Job that has not started may change.
        let is_open = *pointer == "/spec/template" && old["spec"]["suspend"] == true;
        if before.is_some() && now != before && !is_open {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            let now = now.unwrap_or_default();
            return Err(ErrorResponse::immutable_value(
                path, &kind.name, &field, &now,
            ));
        }
    }
    check_set(path, kind, old, new)?;
    let is_immutable = old["immutable"] == true && ["configmaps", "secrets"].contains(&&*resource);
    for field in ["data", "binaryData", "immutable"] {
        if is_immutable && old[field] != new[field] {
            let why = format!("{field}: Forbidden: field is immutable when `immutable` is set");
            return Err(ErrorResponse::invalid(path, &kind.name, &why));
        }
    }
    Ok(())
}

/// Rejects a change of most of the spec of a `StatefulSet`.
fn check_set(path: &Path, kind: &Kind, old: &Value, new: &Value) -> Result<(), ErrorResponse> {
    let fixed = |object: &Value| {
        let mut spec = object["spec"].as_object().cloned().unwrap_or_default();
        spec.retain(|field, _| !CHANGEABLE.contains(&field.as_str()));
        spec
    };
    if path.resource() == "statefulsets.apps" && fixed(old) != fixed(new) {
        let (last, first) = CHANGEABLE.split_last().expect("there are seven");
        let why = format!(
            "spec: Forbidden: updates to statefulset spec for fields other than '{}' and '{last}' are forbidden",
            first.join("', '")
        );
        return Err(ErrorResponse::invalid(path, &kind.name, &why));
    }
    Ok(())
}

/// Rejects a change of what the API server keeps as it is, a write that sets the deletion timestamp, and finalizers that
/// are added after that is set.
pub(super) fn check_change(
    path: &Path,
    kind: &Kind,
    old: &Value,
    new: &Value,
    changed: &Value,
) -> Result<(), ErrorResponse> {
    check_fixed(path, kind, old, new)?;
    let deleting = old["metadata"]["deletionTimestamp"].is_string();
    if !deleting && changed["metadata"]["deletionTimestamp"].is_string() {
        return Err(ErrorResponse::immutable(
            path,
            &kind.name,
            "metadata.deletionTimestamp",
        ));
    }
    let finalizers = |object: &Value| {
        object["metadata"]["finalizers"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let known = finalizers(old);
    if deleting
        && finalizers(new)
            .iter()
            .any(|finalizer| !known.contains(finalizer))
    {
        let why = "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted";
        return Err(ErrorResponse::invalid(path, &kind.name, why));
    }
    Ok(())
}
