//! Whether the operator may put its authority where the API server is told to call it.

use serde_json::Value;

use crate::manifests::problem::Problem;

/// Where its rights to that are, in a project whose operator keeps its certificate itself.
pub const ROLE: &str = "config/webhook-self-signed/role.yaml";

/// What it does with these objects: nothing of it works without one of them.
const VERBS: [&str; 4] = ["get", "list", "patch", "watch"];

/// Those of `objects`, webhook configurations and CRDs, in which the API server is told to call the operator, although no
/// rule of `roles` lets it say there whom to trust. `kbr create webhook` writes such rules; who writes a marker by hand may not.
pub fn missing<'a>(roles: &[Value], objects: impl Iterator<Item = &'a Value>) -> Vec<Problem> {
    let missing = |object: &Value| {
        let (group, resource, calls) = match object["kind"].as_str()? {
            "MutatingWebhookConfiguration" => webhooks("mutatingwebhookconfigurations", object),
            "ValidatingWebhookConfiguration" => webhooks("validatingwebhookconfigurations", object),
            "CustomResourceDefinition" => (
                "apiextensions.k8s.io",
                "customresourcedefinitions",
                object["spec"]["conversion"]["strategy"] == "Webhook",
            ),
            _ => return None,
        };
        let name = object["metadata"]["name"].as_str()?;
        if !calls || allowed(roles, group, resource, name) {
            return None;
        }
        let text = format!(
            "the operator may not change `{name}`, so the API server would not trust it there: `{ROLE}` has no such rule"
        );
        let verbs = VERBS.join(", ");
        Some(Problem::new(text).help(format!(
            "add to its `rules`: `- {{ apiGroups: [{group}], resources: [{resource}], resourceNames: [{name}], verbs: [{verbs}] }}`"
        )))
    };
    objects.filter_map(missing).collect()
}

/// A configuration that has lost its last webhook calls nobody.
fn webhooks<'a>(resource: &'a str, object: &Value) -> (&'a str, &'a str, bool) {
    let webhooks = object["webhooks"].as_array();
    let calls = webhooks.is_some_and(|webhooks| !webhooks.is_empty());
    ("admissionregistration.k8s.io", resource, calls)
}

fn allowed(roles: &[Value], group: &str, resource: &str, name: &str) -> bool {
    let all = roles.iter().filter_map(|role| role["rules"].as_array());
    all.flatten().any(|rule| {
        let has = |key: &str, wanted: &str| {
            let mut values = rule[key].as_array().into_iter().flatten();
            values.any(|value| value == wanted || value == "*")
        };
        has("apiGroups", group)
            && has("resources", resource)
            && (rule.get("resourceNames").is_none() || has("resourceNames", name))
            && VERBS.iter().all(|verb| has("verbs", verb))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(resource: &str, name: &str, verbs: &[&str]) -> Value {
        json!([{ "rules": [{
            "apiGroups": ["admissionregistration.k8s.io", "apiextensions.k8s.io"],
            "resources": [resource], "resourceNames": [name], "verbs": verbs,
        }] }])
    }

    fn said(roles: &Value, object: &Value) -> Option<String> {
        let roles = roles.as_array().unwrap();
        let found = missing(roles, [object].into_iter());
        found.first().map(ToString::to_string)
    }

    #[test]
    fn an_object_without_a_rule_is_told_with_the_rule() {
        let object = json!({ "kind": "MutatingWebhookConfiguration", "metadata": { "name": "a" }, "webhooks": [{}] });
        let right = rule("mutatingwebhookconfigurations", "a", &VERBS);
        assert_eq!(said(&right, &object), None);
        assert_eq!(
            said(
                &json!([{ "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }] }]),
                &object
            ),
            None
        );
        for wrong in [
            json!([]),
            rule("validatingwebhookconfigurations", "a", &VERBS),
            rule("mutatingwebhookconfigurations", "b", &VERBS),
            rule("mutatingwebhookconfigurations", "a", &VERBS[..3]),
        ] {
            let said = said(&wrong, &object).unwrap();
            assert!(said.contains("may not change `a`"), "{said}");
            assert!(
                said.contains("- { apiGroups: [admissionregistration.k8s.io], resources: [mutatingwebhookconfigurations], resourceNames: [a], verbs: [get, list, patch, watch] }"),
                "{said}"
            );
        }
    }

    #[test]
    fn what_calls_nobody_needs_no_rule() {
        let none = json!([]);
        let object = json!({ "kind": "ValidatingWebhookConfiguration", "metadata": { "name": "a" }, "webhooks": [] });
        assert_eq!(said(&none, &object), None);
        let crd = |strategy: &str| json!({ "kind": "CustomResourceDefinition", "metadata": { "name": "a" }, "spec": { "conversion": { "strategy": strategy } } });
        assert_eq!(said(&none, &crd("None")), None);
        assert!(said(&none, &crd("Webhook")).is_some());
        assert_eq!(
            said(
                &rule("customresourcedefinitions", "a", &VERBS),
                &crd("Webhook")
            ),
            None
        );
    }
}
