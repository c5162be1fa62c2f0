//! The roles that are bound to the operator's `ServiceAccount` -> the permissions in a CSV.

use serde_json::{Value, json};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Takes the roles and bindings of `account` out of `objects`, and returns `clusterPermissions` and `permissions`.
///
/// Roles that are bound to no one, such as those for users of a kind, stay.
pub fn take(account: &str, objects: &mut Vec<Value>) -> (Vec<Value>, Vec<Value>) {
    let is_bound = |object: &Value| {
        let mut subjects = object["subjects"].as_array().into_iter().flatten();
        subjects.any(|subject| subject["kind"] == "ServiceAccount" && subject["name"] == account)
    };
    let bindings: Vec<Value> = objects
        .iter()
        .filter(|object| is_rbac(object) && is_bound(object))
        .cloned()
        .collect();
    let role = |binding: &Value, objects: &[Value]| {
        let is_role = |object: &&Value| is_rbac(object) && refers(binding, object);
        objects
            .iter()
            .find(is_role)
            .map(|role| role["rules"].clone())
    };
    let rules = |kind: &str| {
        let bindings = bindings.iter().filter(|binding| binding["kind"] == kind);
        let mut rules: Vec<Value> = Vec::new();
        for found in bindings.filter_map(|binding| role(binding, objects)) {
            rules.extend(found.as_array().into_iter().flatten().cloned());
        }
        if rules.is_empty() {
            Vec::new()
        } else {
            vec![json!({ "serviceAccountName": account, "rules": rules })]
        }
    };
    let (cluster, namespaced) = (rules("ClusterRoleBinding"), rules("RoleBinding"));
    objects.retain(|object| {
        let taken = is_rbac(object)
            && (is_bound(object) || bindings.iter().any(|binding| refers(binding, object)));
        !taken
    });
    (cluster, namespaced)
}

fn is_rbac(object: &Value) -> bool {
    object["apiVersion"]
        .as_str()
        .is_some_and(|it| it.starts_with(GROUP))
}

fn refers(binding: &Value, role: &Value) -> bool {
    let reference = &binding["roleRef"];
    reference["kind"] == role["kind"] && reference["name"] == role["metadata"]["name"]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_roles_become_permissions_and_others_stay() {
        let role = |kind: &str, name: &str, rule: &str| json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": { "name": name }, "rules": [rule] });
        let binding = |kind: &str, role: &str, name: &str, account: &str| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": { "name": name },
                "roleRef": { "kind": role, "name": name },
                "subjects": [{ "kind": "ServiceAccount", "name": account }],
            })
        };
        let mut objects = vec![
            role("ClusterRole", "manager", "a"),
            binding("ClusterRoleBinding", "ClusterRole", "manager", "operator"),
            role("Role", "lease", "b"),
            binding("RoleBinding", "Role", "lease", "operator"),
            role("ClusterRole", "viewer", "c"),
            role("ClusterRole", "other", "d"),
            binding("ClusterRoleBinding", "ClusterRole", "other", "someone"),
        ];
        let (cluster, namespaced) = take("operator", &mut objects);
        assert_eq!(
            cluster,
            [json!({ "serviceAccountName": "operator", "rules": ["a"] })]
        );
        assert_eq!(
            namespaced,
            [json!({ "serviceAccountName": "operator", "rules": ["b"] })]
        );
        let names: Vec<_> = objects
            .iter()
            .map(|it| it["metadata"]["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["viewer", "other", "other"]);
    }
}
