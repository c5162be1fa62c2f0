//! The webhook configurations of a project: about which requests a webhook is asked.
//!
//! Source: `k8s.io/apiserver/pkg/admission/plugin/webhook/{generic,predicates}`

use serde::Deserialize;
use serde_json::{Value, json};

use super::conditions::Conditions;
use crate::server::{Path, Reviewed, Selection};

/// A webhook of a configuration.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The path of its URL.
    pub(super) path: String,
    pub(super) name: String,
    pub(super) task: Task,
    pub(super) conditions: Conditions,
    /// Whether requests go on if it fails.
    pub(super) may_fail: bool,
    /// `Exact` if it is asked about objects in the versions of its rules alone.
    match_policy: String,
    rules: Vec<Rule>,
    objects: Value,
    namespaces: Value,
}

/// What a webhook does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Sets defaults.
    Default,
    /// The same, and once more if a later one has changed the object.
    DefaultAgain,
    Validate,
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
    /// The webhooks in these objects: first those that set defaults. The API server sorts configurations by name.
    #[must_use]
    pub fn all(objects: &[Value]) -> Vec<Self> {
        let of = |kind: &str, defaults: bool| {
            let configurations = objects.iter().filter(|object| object["kind"] == *kind);
            let mut configurations: Vec<_> = configurations.collect();
            configurations.sort_by_key(|it| it["metadata"]["name"].as_str());
            let webhooks = configurations.into_iter();
            let webhooks = webhooks
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
        Self {
            path: path_of(&webhook["clientConfig"]),
            name: text(&webhook["name"]),
            task: match defaults {
                true if webhook["reinvocationPolicy"] == "IfNeeded" => Task::DefaultAgain,
                true => Task::Default,
                false => Task::Validate,
            },
            conditions: Conditions::of(webhook),
            may_fail: webhook["failurePolicy"] == "Ignore",
            match_policy: text(&webhook["matchPolicy"]),
            rules: serde_json::from_value(webhook["rules"].clone()).unwrap_or_default(),
            objects: webhook["objectSelector"].clone(),
            namespaces: webhook["namespaceSelector"].clone(),
        }
    }

    /// The match conditions that could not be evaluated.
    #[must_use]
    pub fn unevaluated(&self) -> Vec<String> {
        self.conditions.unevaluated()
    }

    /// Whether it may be asked about writes at this path, which is one of these in other versions.
    pub(super) fn concerns(&self, path: &Path, others: &[Path]) -> bool {
        self.matched(path, others, |_| true).is_some()
    }

    /// The path in the version in which it is asked about a write, if it is; `namespace` has the labels of its namespace.
    pub(super) fn is_asked<'a>(
        &self,
        reviewed: &'a Reviewed,
        others: &'a [Path],
        namespace: &Value,
    ) -> Option<&'a Path> {
        let path = &reviewed.path;
        let mut objects = [&reviewed.old, &reviewed.new].into_iter().flatten();
        let is_selected = (path.namespace.is_empty() || selects(&self.namespaces, namespace))
            && objects.any(|object| selects(&self.objects, &object["metadata"]["labels"]));
        let operation = |rule: &Rule| has(&rule.operations, reviewed.operation);
        let matched = self.matched(path, others, operation);
        matched.filter(|_| is_selected)
    }

    /// The first of these paths that a rule is about, which this also accepts.
    fn matched<'a>(
        &self,
        path: &'a Path,
        others: &'a [Path],
        accepts: impl Fn(&Rule) -> bool,
    ) -> Option<&'a Path> {
        let others = others.iter().filter(|_| self.match_policy != "Exact");
        let mut paths = std::iter::once(path).chain(others);
        paths.find(|path| {
            let mut rules = self.rules.iter();
            rules.any(|rule| accepts(rule) && rule.concerns(path))
        })
    }
}

/// The path of a webhook, which is that of a service or of a URL.
fn path_of(client: &Value) -> String {
    let url = client["url"].as_str().unwrap_or_default();
    let host = url.strip_prefix("https://");
    let in_url = host.and_then(|host| host.find('/').map(|at| host[at..].to_owned()));
    let in_service = client["service"]["path"].as_str().map(str::to_owned);
    in_service.or(in_url).unwrap_or_default()
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
    let object = json!({ "metadata": { "labels": labels } });
    Selection::of(selector).fits(&object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_selectors_decide_about_what_a_webhook_is_asked() {
        let configured = Configured::all(&[
            json!({"kind": "ValidatingWebhookConfiguration", "webhooks": [{
                "name": "a", "clientConfig": {"service": {"path": "/validate"}}, "failurePolicy": "Ignore",
                "rules": [{"operations": ["CREATE"], "apiGroups": ["g"], "apiVersions": ["v1"], "resources": ["a", "b/status"]}],
                "objectSelector": {"matchLabels": {"k": "v"}},
                "namespaceSelector": {"matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["system"]},
                ]},
            }]}),
        ]);
        let [one] = &configured[..] else {
            panic!("{configured:?}")
        };
        assert!(one.may_fail && one.task == Task::Validate);
        let asked = |operation, path: &str, labels: Value| asked(one, operation, path, &labels);
        let (a, labels) = ("/apis/g/v1/namespaces/n/a/x", json!({"k": "v"}));
        assert!(asked("CREATE", a, labels.clone()).is_some());
        for (operation, path, labels) in [
            ("UPDATE", a, labels.clone()),
            ("CREATE", a, json!({"k": "w"})),
            ("CREATE", "/apis/h/v1/namespaces/n/a/x", labels.clone()),
            ("CREATE", "/apis/g/v1/namespaces/system/a/x", labels.clone()),
            (
                "CREATE",
                "/apis/g/v1/namespaces/n/a/x/status",
                labels.clone(),
            ),
        ] {
            assert_eq!(asked(operation, path, labels), None, "{operation} {path}");
        }
        let status = "/apis/g/v1/namespaces/n/b/x/status";
        assert!(asked("CREATE", status, labels).is_some());
    }

    #[test]
    fn a_webhook_is_asked_in_the_version_of_its_rules() {
        let rules = json!([{"operations": ["*"], "apiGroups": ["g"], "apiVersions": ["v1", "v3"], "resources": ["a"]}]);
        let with = |policy: &str| {
            let webhook = json!({"matchPolicy": policy, "rules": rules});
            Configured::of(&webhook, false)
        };
        let version = |policy, version| {
            let path = format!("/apis/g/{version}/namespaces/n/a/x");
            asked(&with(policy), "CREATE", &path, &json!({}))
        };
        assert_eq!(version("Equivalent", "v3").as_deref(), Some("v3"));
        assert_eq!(version("Equivalent", "v2").as_deref(), Some("v1"));
        assert_eq!(version("Exact", "v2"), None);
    }

    /// The version in which a webhook is asked about an object, whose kind has the versions 1 to 3.
    fn asked(
        one: &Configured,
        operation: &'static str,
        path: &str,
        labels: &Value,
    ) -> Option<String> {
        let path = Path::parse(path).unwrap();
        let in_version = |version| Path {
            root: format!("/apis/{}/{version}", path.group()),
            ..path.clone()
        };
        let mut others = ["v1", "v2", "v3"].map(in_version).to_vec();
        others.retain(|other| *other != path);
        let namespace = json!({"kubernetes.io/metadata.name": path.namespace});
        let reviewed = Reviewed {
            operation,
            path,
            options: json!({}),
            old: None,
            new: Some(json!({"metadata": {"labels": labels}})),
        };
        let path = one.is_asked(&reviewed, &others, &namespace);
        path.map(|path| path.version().to_owned())
    }
}
