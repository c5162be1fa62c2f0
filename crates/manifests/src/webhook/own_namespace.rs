//! Checks that webhooks which skip the operator's namespace skip the right one, wherever an overlay puts the operator.

use std::path::Path;

use serde_json::Value;

use super::entry::{Entry, Names};
use crate::files;
use crate::problem::Problem;
use kbr_scaffold::resource::webhook::NAMESPACE_NAME;

const FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A warning for each webhook that skips namespaces by a label which anyone may set who may label a namespace.
pub fn forgeable(project: &str, names: &Names, webhooks: &[Entry]) -> Vec<Problem> {
    const LABEL: &str = "app.kubernetes.io/name";
    let forgeable = |webhook: &Entry| {
        let text = format!(
            "a tenant can set `{LABEL}` on a namespace to make the webhook skip its objects"
        );
        let help = format!(
            "select by a label that only the API server sets: {{\"key\":\"{NAMESPACE_NAME}\",\"operator\":\"NotIn\",\"values\":[\"{}\"]}}",
            names.namespace
        );
        excludes(&webhook.object, LABEL, project)
            .then(|| Problem::new(text).at(&webhook.at).help(help))
    };
    webhooks.iter().filter_map(forgeable).collect()
}

/// A warning for each overlay in `config` that moves the operator to another namespace than the one that its webhooks skip.
///
/// # Errors
/// A kustomization cannot be read.
pub fn moved(root: &Path, names: &Names, configurations: &[Value]) -> anyhow::Result<Vec<Problem>> {
    let namespace = &names.namespace;
    let skips = |configuration: &&Value| {
        let webhooks = configuration["webhooks"].as_array();
        let mut webhooks = webhooks.into_iter().flatten();
        webhooks.any(|webhook| excludes(webhook, NAMESPACE_NAME, namespace))
    };
    let kinds = configurations.iter().filter(skips);
    let kinds: Vec<_> = kinds.filter_map(|it| it["kind"].as_str()).collect();
    let mut problems = Vec::new();
    if kinds.is_empty() {
        return Ok(problems);
    }
    for path in kustomizations(root, "config")? {
        let text = files::read(&root.join(&path))?.unwrap_or_default();
        // `make deploy` reports one that cannot be read.
        let parsed = kbr_host::yaml::document::<Value>(&String::from_utf8_lossy(&text));
        let parsed = parsed.unwrap_or_default();
        let to = parsed["namespace"].as_str().unwrap_or(namespace);
        let is_replaced = parsed.to_string().contains("namespaceSelector");
        if to != namespace && !is_replaced {
            problems.push(problem(&path, to, names, &kinds));
        }
    }
    Ok(problems)
}

/// The kustomizations in `folder` and below, without those of `config/namespaced`, which move roles and not the operator.
fn kustomizations(root: &Path, folder: &str) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for file in FILES {
        let path = format!("{folder}/{file}");
        if root.join(&path).is_file() {
            found.push(path);
        }
    }
    for name in files::folders(&root.join(folder))? {
        let path = format!("{folder}/{name}");
        if path != "config/namespaced" {
            found.extend(kustomizations(root, &path)?);
        }
    }
    Ok(found)
}

/// Whether the webhook skips the namespaces whose label `key` has `value`.
fn excludes(webhook: &Value, key: &str, value: &str) -> bool {
    let expressions = webhook["namespaceSelector"]["matchExpressions"].as_array();
    expressions.into_iter().flatten().any(|expression| {
        let mut values = expression["values"].as_array().into_iter().flatten();
        expression["key"] == key
            && expression["operator"] == "NotIn"
            && values.any(|other| other == value)
    })
}

fn problem(path: &str, to: &str, names: &Names, kinds: &[&str]) -> Problem {
    let text = format!(
        "the operator runs in `{to}`, but its webhooks skip `{}`: it could not admit its own objects before it runs",
        names.namespace
    );
    let target = |kind: &&str| {
        format!(
            "{{ select: {{ kind: {kind} }}, fieldPaths: [\"webhooks.*.namespaceSelector.matchExpressions.[key={NAMESPACE_NAME}].values.0\"] }}"
        )
    };
    let targets: Vec<_> = kinds.iter().map(target).collect();
    Problem::new(text).at(path).help(format!(
        "add to its `replacements`: `- {{ source: {{ kind: Service, name: {}, fieldPath: metadata.namespace }}, targets: [{}] }}`",
        names.service,
        targets.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn names() -> Names {
        Names {
            mutating: String::new(),
            validating: String::new(),
            service: "captains-webhook".to_owned(),
            namespace: "captains-system".to_owned(),
        }
    }

    fn webhook(key: &str, value: &str) -> Value {
        let own = json!({ "key": key, "operator": "NotIn", "values": [value] });
        json!({ "namespaceSelector": { "matchExpressions": [own] } })
    }

    /// The warnings for an overlay with this text.
    fn warnings(overlay: &str, webhook: &Value) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("config/fleet");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("kustomization.yaml"), overlay).unwrap();
        let configuration =
            json!({ "kind": "MutatingWebhookConfiguration", "webhooks": [webhook] });
        let found = moved(root.path(), &names(), &[configuration]).unwrap();
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_overlay_with_another_namespace_is_reported_with_the_replacement() {
        let skips = webhook(NAMESPACE_NAME, "captains-system");
        let overlay = "namespace: fleet\nresources: [../default]\n";
        assert_eq!(
            warnings(overlay, &skips),
            [
                "`config/fleet/kustomization.yaml`: the operator runs in `fleet`, but its webhooks skip `captains-system`: it could not admit its own objects before it runs\n    \
                 help: add to its `replacements`: `- { source: { kind: Service, name: captains-webhook, fieldPath: metadata.namespace }, targets: [{ select: { kind: MutatingWebhookConfiguration }, \
                 fieldPaths: [\"webhooks.*.namespaceSelector.matchExpressions.[key=kubernetes.io/metadata.name].values.0\"] }] }`"
            ]
        );
    }

    #[test]
    fn an_overlay_is_not_reported_without_need() {
        let skips = webhook(NAMESPACE_NAME, "captains-system");
        let none = [""; 0];
        assert_eq!(warnings("namespace: captains-system\n", &skips), none);
        assert_eq!(warnings("resources: [../default]\n", &skips), none);
        let replaced = "namespace: fleet\nreplacements:\n  - { source: { kind: Service }, targets: [{ fieldPaths: [webhooks.0.namespaceSelector.matchExpressions.0.values.0] }] }\n";
        assert_eq!(warnings(replaced, &skips), none);
        let overlay = "namespace: fleet\n";
        assert_eq!(warnings(overlay, &webhook("team", "deck")), none);
        assert_eq!(warnings(overlay, &webhook(NAMESPACE_NAME, "other")), none);
    }

    #[test]
    fn a_selector_by_a_label_that_tenants_may_set_is_reported() {
        let entry = |key, value| Entry {
            at: "src/a.rs:1".to_owned(),
            mutating: true,
            path: None,
            object: webhook(key, value),
        };
        let label = "app.kubernetes.io/name";
        let found = forgeable("captains", &names(), &[entry(label, "captains")]);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "`src/a.rs:1`: a tenant can set `app.kubernetes.io/name` on a namespace to make the webhook skip its objects\n    \
                 help: select by a label that only the API server sets: {\"key\":\"kubernetes.io/metadata.name\",\"operator\":\"NotIn\",\"values\":[\"captains-system\"]}"
            ]
        );
        let others = [
            entry(label, "another"),
            entry(NAMESPACE_NAME, "captains-system"),
        ];
        assert_eq!(forgeable("captains", &names(), &others), []);
    }
}
