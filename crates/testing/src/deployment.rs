//! The manager's Deployment and permissions, as rendered from `config/default`, and a copy of them for one test.

use apiserver_rules::Operator;
use serde_json::{Value, json};

/// The kinds that give permissions to a `ServiceAccount`.
pub(super) const GRANTS: [&str; 5] = [
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
];

/// The operator's identity, from the Deployment.
#[derive(Debug, PartialEq)]
pub(super) struct Deployment {
    namespace: String,
    account: String,
    /// The namespaces that it watches; empty for all.
    watched: Vec<String>,
    pub(super) leader_elect: bool,
}

impl Deployment {
    /// The manager's Deployment, or the first one of a project that has removed the manager's label.
    pub(super) fn find(objects: &[Value]) -> Option<Self> {
        let operator = Operator::find(objects)?;
        let watched = operator.variable("WATCH_NAMESPACE").unwrap_or_default();
        let watched = watched.split(',').map(str::trim);
        Some(Self {
            account: operator.account.to_owned(),
            watched: watched
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            leader_elect: operator.has_argument("--leader-elect"),
            namespace: operator.namespace.to_owned(),
        })
    }

    /// The user name of its `ServiceAccount` in `namespace`.
    pub(super) fn user(&self, namespace: &str) -> String {
        format!("system:serviceaccount:{namespace}:{}", self.account)
    }

    /// The `ServiceAccount` in the namespace of a test, and its roles and bindings, for this test alone.
    ///
    /// Objects in the operator's namespace, or in one that it watches, move to the namespace of the test. Roles and
    /// bindings get unique names, so tests that run in parallel or one after the other share nothing.
    pub(super) fn grants(&self, objects: Vec<Value>, namespace: &str) -> Vec<Value> {
        let (bindings, roles): (Vec<_>, Vec<_>) = objects
            .into_iter()
            .filter(|object| is_role(object) || self.binds(object))
            .partition(|object| self.binds(object));
        let mut grants = vec![json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": self.account, "namespace": namespace },
        })];
        for mut role in roles {
            if bindings.iter().any(|binding| refers(binding, &role)) {
                self.relocate(&mut role, namespace);
                grants.push(role);
            }
        }
        for mut binding in bindings {
            // A role of Kubernetes itself keeps its name.
            let reference = binding["roleRef"].clone();
            self.relocate(&mut binding, namespace);
            let renamed = format!("{}-{namespace}", text(&reference["name"]));
            if grants.iter().any(|role| {
                role["kind"] == reference["kind"] && role["metadata"]["name"] == renamed.as_str()
            }) {
                binding["roleRef"]["name"] = json!(renamed);
            }
            binding["subjects"] = json!([{
                "kind": "ServiceAccount", "name": self.account, "namespace": namespace,
            }]);
            grants.push(binding);
        }
        let mut others: Vec<_> = grants
            .iter()
            .filter_map(|object| object["metadata"]["namespace"].as_str())
            .filter(|other| *other != namespace)
            .map(
                |name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
            )
            .collect();
        others.dedup();
        others.append(&mut grants);
        others
    }

    /// Whether it is a binding of the operator's `ServiceAccount`.
    fn binds(&self, object: &Value) -> bool {
        let mut subjects = object["subjects"].as_array().into_iter().flatten();
        subjects.any(|subject| {
            subject["kind"] == "ServiceAccount"
                && subject["name"] == self.account.as_str()
                && subject["namespace"] == self.namespace.as_str()
        })
    }

    fn relocate(&self, object: &mut Value, namespace: &str) {
        let meta = &mut object["metadata"];
        meta["name"] = json!(format!("{}-{namespace}", text(&meta["name"])));
        let here = meta["namespace"].as_str();
        let moves = |here| here == self.namespace || self.watched.iter().any(|it| it == here);
        if here.is_some_and(moves) {
            meta["namespace"] = json!(namespace);
        }
    }

    /// An access review for each binding: whether the first rule of its role is in effect.
    pub(super) fn questions(&self, grants: &[Value], namespace: &str) -> Vec<Value> {
        let bindings = grants
            .iter()
            .filter(|object| self.binds_in(object, namespace));
        let question = |binding: &Value| {
            let role = grants.iter().find(|role| refers(binding, role))?;
            let first = |list: &str| role["rules"][0][list][0].as_str();
            let verb = first("verbs")?;
            let mut spec = json!({
                "user": self.user(namespace),
                "groups": [
                    "system:serviceaccounts",
                    format!("system:serviceaccounts:{namespace}"),
                    "system:authenticated",
                ],
            });
            if let Some(path) = first("nonResourceURLs") {
                spec["nonResourceAttributes"] = json!({ "path": path, "verb": verb });
            } else {
                let resource = first("resources")?;
                let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
                spec["resourceAttributes"] = json!({
                    "verb": verb,
                    "group": first("apiGroups"),
                    "resource": resource,
                    "subresource": subresource,
                    "name": first("resourceNames").unwrap_or_default(),
                    "namespace": text(&binding["metadata"]["namespace"]),
                });
            }
            Some(json!({
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": spec,
            }))
        };
        bindings.filter_map(question).collect()
    }

    fn binds_in(&self, object: &Value, namespace: &str) -> bool {
        let subject = &object["subjects"][0];
        subject["name"] == self.account.as_str() && subject["namespace"] == namespace
    }
}

fn is_role(object: &Value) -> bool {
    object["kind"] == "Role" || object["kind"] == "ClusterRole"
}

fn refers(binding: &Value, role: &Value) -> bool {
    let (reference, meta) = (&binding["roleRef"], &role["metadata"]);
    reference["kind"] == role["kind"]
        && reference["name"] == meta["name"]
        && (role["kind"] == "ClusterRole" || binding["metadata"]["namespace"] == meta["namespace"])
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(env: &Value) -> Value {
        let container = json!({ "args": ["--leader-elect"], "env": env });
        json!({
            "kind": "Deployment",
            "metadata": {
                "name": "crew-controller-manager",
                "namespace": "crew-system",
                "labels": { "control-plane": "controller-manager" },
            },
            "spec": { "template": { "spec": {
                "serviceAccountName": "crew-controller-manager",
                "containers": [container],
            } } },
        })
    }

    fn role(kind: &str, namespace: Option<&str>, name: &str) -> Value {
        json!({
            "kind": kind,
            "metadata": { "name": name, "namespace": namespace },
            "rules": [{ "apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"] }],
        })
    }

    fn binding(kind: &str, namespace: Option<&str>, name: &str) -> Value {
        let account = "crew-controller-manager";
        json!({
            "kind": format!("{kind}Binding"),
            "metadata": { "name": name, "namespace": namespace },
            "roleRef": { "kind": kind, "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": "crew-system" }],
        })
    }

    /// Each object as `kind namespace/name`, and a binding with its role.
    fn shown(objects: &[Value]) -> Vec<String> {
        let one = |object: &Value| {
            let meta = &object["metadata"];
            let at = format!("{}/{}", text(&meta["namespace"]), text(&meta["name"]));
            let role = text(&object["roleRef"]["name"]);
            let to = text(&object["subjects"][0]["namespace"]);
            format!("{} {at} {role} {to}", text(&object["kind"]))
                .trim_end()
                .to_owned()
        };
        objects.iter().map(one).collect()
    }

    #[test]
    fn the_permissions_of_the_deployment_are_scoped_to_one_test() {
        let objects = vec![
            deployment(&json!([])),
            role("ClusterRole", None, "manager"),
            role("ClusterRole", None, "viewer"),
            role("Role", Some("crew-system"), "election"),
            role("Role", Some("zoo"), "watcher"),
            binding("ClusterRole", None, "manager"),
            binding("ClusterRole", None, "view"),
            binding("Role", Some("crew-system"), "election"),
            binding("Role", Some("zoo"), "watcher"),
        ];
        let deployment = Deployment::find(&objects).unwrap();
        assert!(deployment.leader_elect);
        let grants = deployment.grants(objects, "test-a");
        let expected = [
            "Namespace /zoo",
            "ServiceAccount test-a/crew-controller-manager",
            "ClusterRole /manager-test-a",
            "Role test-a/election-test-a",
            "Role zoo/watcher-test-a",
            "ClusterRoleBinding /manager-test-a manager-test-a test-a",
            "ClusterRoleBinding /view-test-a view test-a",
            "RoleBinding test-a/election-test-a election-test-a test-a",
            "RoleBinding zoo/watcher-test-a watcher-test-a test-a",
        ];
        assert_eq!(shown(&grants), expected);

        let questions = deployment.questions(&grants, "test-a");
        let attributes = |at: usize| &questions[at]["spec"]["resourceAttributes"];
        assert_eq!(questions.len(), 3, "{questions:#?}");
        assert_eq!(attributes(0)["namespace"], "");
        assert_eq!(attributes(1)["namespace"], "test-a");
        assert_eq!(attributes(2)["namespace"], "zoo");
        assert_eq!(
            (&attributes(0)["resource"], &attributes(0)["subresource"]),
            (&json!("pods"), &json!("log"))
        );
        assert_eq!(
            questions[0]["spec"]["user"],
            "system:serviceaccount:test-a:crew-controller-manager"
        );
    }

    #[test]
    fn the_roles_of_watched_namespaces_move_to_the_tests_namespace() {
        let watch = json!([{ "name": "WATCH_NAMESPACE", "value": "$(POD_NAMESPACE), team-a" }]);
        let objects = vec![
            deployment(&watch),
            role("Role", Some("team-a"), "manager"),
            binding("Role", Some("team-a"), "manager"),
        ];
        let deployment = Deployment::find(&objects).unwrap();
        assert_eq!(deployment.watched, ["crew-system", "team-a"]);
        let expected = [
            "ServiceAccount test-a/crew-controller-manager",
            "Role test-a/manager-test-a",
            "RoleBinding test-a/manager-test-a manager-test-a test-a",
        ];
        assert_eq!(shown(&deployment.grants(objects, "test-a")), expected);
    }
}
