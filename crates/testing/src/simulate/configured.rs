//! The webhook configurations of a project: about which requests a webhook is asked.
//!
//! Source: `k8s.io/apiserver/pkg/admission/plugin/webhook/{generic,predicates}`. Match conditions, which are in CEL, are not
//! evaluated: the webhook is asked about every request that its rules select.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::{Path, Reviewed};

/// A webhook of a configuration.
#[derive(Clone, Debug)]
pub(super) struct Configured {
    /// The path of its URL.
    pub(super) path: String,
    pub(super) name: String,
    pub(super) defaults: bool,
    pub(super) has_conditions: bool,
    /// Whether requests go on if it fails.
    pub(super) may_fail: bool,
    rules: Vec<Rule>,
    objects: Value,
    namespaces: Value,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    operations: Vec<String>,
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
}

impl Configured {
    /// The webhooks in these objects: first those that set defaults.
    pub(super) fn all(objects: &[Value]) -> Vec<Self> {
        let of = |kind: &str, defaults: bool| {
            let configurations = objects.iter().filter(|object| object["kind"] == *kind);
            let webhooks = configurations
                .filter_map(|it| it["webhooks"].as_array())
                .flatten();
            webhooks
                .map(|webhook| Self::of(webhook, defaults))
                .collect::<Vec<_>>()
        };
        [
            of("MutatingWebhookConfiguration", true),
            of("ValidatingWebhookConfiguration", false),
        ]
        .concat()
    }

    fn of(webhook: &Value, defaults: bool) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let conditions = webhook["matchConditions"].as_array();
        Self {
            path: text(&webhook["clientConfig"]["service"]["path"]),
            name: text(&webhook["name"]),
            defaults,
            has_conditions: conditions.is_some_and(|all| !all.is_empty()),
            may_fail: webhook["failurePolicy"] == "Ignore",
            rules: serde_json::from_value(webhook["rules"].clone()).unwrap_or_default(),
            objects: webhook["objectSelector"].clone(),
            namespaces: webhook["namespaceSelector"].clone(),
        }
    }

    /// Whether it may be asked about writes at this path.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        self.rules.iter().any(|rule| rule.concerns(path))
    }

    /// Whether it is asked about a write; `namespace` has the labels of its namespace.
    pub(super) fn is_asked(&self, reviewed: &Reviewed, namespace: &Value) -> bool {
        let mut rules = self.rules.iter();
        let objects = [&reviewed.old, &reviewed.new].into_iter().flatten();
        rules.any(|rule| has(&rule.operations, reviewed.operation) && rule.concerns(&reviewed.path))
            && (reviewed.path.namespace.is_empty() || selects(&self.namespaces, namespace))
            && objects
                .into_iter()
                .any(|object| selects(&self.objects, &object["metadata"]["labels"]))
    }
}

impl Rule {
    fn concerns(&self, path: &Path) -> bool {
        let subresource = &path.subresource;
        let resource = |wanted: &String| {
            let (plural, sub) = wanted.split_once('/').unwrap_or((wanted, ""));
            (plural == "*" || plural == path.plural)
                && (sub == *subresource || sub == "*" && !subresource.is_empty() || wanted == "*/*")
        };
        has(&self.api_groups, path.group())
            && has(&self.api_versions, path.version())
            && self.resources.iter().any(resource)
    }
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|it| it == "*" || it == wanted)
}

/// Whether a label selector selects an object with these labels.
fn selects(selector: &Value, labels: &Value) -> bool {
    let equal = selector["matchLabels"].as_object().into_iter().flatten();
    let terms = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten();
    let fits = |term: &Value| {
        let found = term["key"].as_str().and_then(|key| labels.get(key));
        let is_listed = || {
            let values = term["values"].as_array();
            values
                .zip(found)
                .is_some_and(|(values, found)| values.contains(found))
        };
        match term["operator"].as_str() {
            Some("In") => is_listed(),
            Some("NotIn") => !is_listed(),
            Some("Exists") => found.is_some(),
            Some("DoesNotExist") => found.is_none(),
            _ => false,
        }
    };
    equal
        .into_iter()
        .all(|(key, value)| labels.get(key) == Some(value))
        && terms.into_iter().all(fits)
}

/// The labels that every namespace has.
pub(super) fn labels_of(namespace: &str) -> Value {
    json!({ "kubernetes.io/metadata.name": namespace })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_selectors_decide_about_what_a_webhook_is_asked() {
        let configured = Configured::all(&[
            json!({"kind": "ValidatingWebhookConfiguration", "webhooks": [{
                "name": "a", "clientConfig": {"service": {"path": "/validate"}}, "failurePolicy": "Ignore",
                "rules": [{"operations": ["CREATE"], "apiGroups": ["g"], "apiVersions": ["*"], "resources": ["a", "b/status"]}],
                "objectSelector": {"matchLabels": {"k": "v"}},
                "namespaceSelector": {"matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["system"]},
                ]},
            }]}),
        ]);
        let [one] = &configured[..] else {
            panic!("{configured:?}")
        };
        assert!(one.may_fail && !one.defaults && !one.has_conditions);
        let asked = |operation, path: &str, labels: Value| {
            let path = Path::parse(path).unwrap();
            let namespace = labels_of(&path.namespace);
            let new = Some(json!({"metadata": {"labels": labels}}));
            one.is_asked(
                &Reviewed {
                    operation,
                    path,
                    old: None,
                    new,
                },
                &namespace,
            )
        };
        let (a, labels) = ("/apis/g/v1/namespaces/n/a/x", json!({"k": "v"}));
        assert!(asked("CREATE", a, labels.clone()));
        assert!(!asked("UPDATE", a, labels.clone()));
        assert!(!asked("CREATE", a, json!({"k": "w"})));
        assert!(!asked(
            "CREATE",
            "/apis/h/v1/namespaces/n/a/x",
            labels.clone()
        ));
        assert!(!asked(
            "CREATE",
            "/apis/g/v1/namespaces/system/a/x",
            labels.clone()
        ));
        assert!(!asked(
            "CREATE",
            "/apis/g/v1/namespaces/n/a/x/status",
            labels.clone()
        ));
        assert!(asked(
            "CREATE",
            "/apis/g/v1/namespaces/n/b/x/status",
            labels
        ));
    }
}
