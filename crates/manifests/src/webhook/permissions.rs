//! Checks that the operator may set its CA bundle in each object that makes the API server call it, and change nothing else there.

use serde_json::Value;

use crate::problem::Problem;

/// The role with these permissions, in a project whose operator rotates its certificate itself.
pub const ROLE: &str = "config/webhook-self-signed/role.yaml";

/// The policy that restricts these permissions to CA bundles.
pub const POLICY: &str = "config/webhook-self-signed/policy.yaml";

/// The verbs that the operator needs for these objects, all of them.
const VERBS: [&str; 4] = ["get", "list", "patch", "watch"];

/// A problem for each of `objects` (webhook configurations and CRDs) that makes the API server call the operator, while no rule of
/// `roles` lets the operator set the CA bundle. `kbr create webhook` adds such rules, but markers written by hand may lack them.
pub fn missing<'a>(roles: &[Value], objects: impl Iterator<Item = &'a Value>) -> Vec<Problem> {
    let missing = |called: Called| {
        let Called {
            group,
            resource,
            name,
        } = called;
        if allowed(roles, &called) {
            return None;
        }
        let text = format!(
            "the operator cannot set the CA bundle of `{name}`: no rule in `{ROLE}` allows it to patch it"
        );
        let verbs = VERBS.join(", ");
        Some(Problem::new(text).help(format!(
            "add to its `rules`: `- {{ apiGroups: [{group}], resources: [{resource}], resourceNames: [{name}], verbs: [{verbs}] }}`"
        )))
    };
    objects.filter_map(called).filter_map(missing).collect()
}

/// A problem for each of `objects` that the operator may patch, but that no rule of `policies` restricts to its CA bundle. No policy at
/// all is the user's choice.
pub fn unrestricted<'a>(
    policies: &[Value],
    roles: &[Value],
    objects: impl Iterator<Item = &'a Value>,
) -> Vec<Problem> {
    let unrestricted = |called: Called| {
        let Called {
            group,
            resource,
            name,
        } = called;
        if policies.is_empty() || !allowed(roles, &called) || restricted(policies, &called) {
            return None;
        }
        let text = format!(
            "the operator may change more of `{name}` than its CA bundle: no rule in `{POLICY}` covers it"
        );
        Some(Problem::new(text).help(format!(
            "add to its `resourceRules`: `- {{ apiGroups: [{group}], apiVersions: [\"*\"], operations: [UPDATE], resources: [{resource}], resourceNames: [{name}] }}`"
        )))
    };
    objects
        .filter_map(called)
        .filter_map(unrestricted)
        .collect()
}

/// An object that makes the API server call the operator.
#[derive(Clone, Copy)]
struct Called<'a> {
    group: &'static str,
    resource: &'static str,
    name: &'a str,
}

fn called(object: &Value) -> Option<Called<'_>> {
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
    calls.then_some(Called {
        group,
        resource,
        name,
    })
}

/// A configuration without webhooks makes no calls.
fn webhooks(resource: &'static str, object: &Value) -> (&'static str, &'static str, bool) {
    let webhooks = object["webhooks"].as_array();
    let calls = webhooks.is_some_and(|webhooks| !webhooks.is_empty());
    ("admissionregistration.k8s.io", resource, calls)
}

fn allowed(roles: &[Value], called: &Called) -> bool {
    let all = roles.iter().filter_map(|role| role["rules"].as_array());
    all.flatten()
        .any(|rule| names(rule, called) && VERBS.iter().all(|verb| has(rule, "verbs", verb)))
}

fn restricted(policies: &[Value], called: &Called) -> bool {
    let rules = "/spec/matchConstraints/resourceRules";
    let rules = policies.iter().filter_map(|policy| policy.pointer(rules));
    let mut all = rules.filter_map(Value::as_array).flatten();
    all.any(|rule| names(rule, called) && has(rule, "operations", "UPDATE"))
}

/// Whether a rule is about this object.
fn names(rule: &Value, called: &Called) -> bool {
    has(rule, "apiGroups", called.group)
        && has(rule, "resources", called.resource)
        && (rule.get("resourceNames").is_none() || has(rule, "resourceNames", called.name))
}

fn has(rule: &Value, key: &str, wanted: &str) -> bool {
    let mut values = rule[key].as_array().into_iter().flatten();
    values.any(|value| value == wanted || value == "*")
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

    fn report(roles: &Value, object: &Value) -> Option<String> {
        let roles = roles.as_array().unwrap();
        let found = missing(roles, [object].into_iter());
        found.first().map(ToString::to_string)
    }

    #[test]
    fn an_object_without_a_rule_is_reported_with_the_rule() {
        let object = json!({ "kind": "MutatingWebhookConfiguration", "metadata": { "name": "a" }, "webhooks": [{}] });
        let right = rule("mutatingwebhookconfigurations", "a", &VERBS);
        assert_eq!(report(&right, &object), None);
        assert_eq!(
            report(
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
            let report = report(&wrong, &object).unwrap();
            assert!(
                report.contains("cannot set the CA bundle of `a`"),
                "{report}"
            );
            assert!(
                report.contains("- { apiGroups: [admissionregistration.k8s.io], resources: [mutatingwebhookconfigurations], resourceNames: [a], verbs: [get, list, patch, watch] }"),
                "{report}"
            );
        }
    }

    #[test]
    fn an_object_that_makes_no_calls_needs_no_rule() {
        let none = json!([]);
        let object = json!({ "kind": "ValidatingWebhookConfiguration", "metadata": { "name": "a" }, "webhooks": [] });
        assert_eq!(report(&none, &object), None);
        let crd = |strategy: &str| json!({ "kind": "CustomResourceDefinition", "metadata": { "name": "a" }, "spec": { "conversion": { "strategy": strategy } } });
        assert_eq!(report(&none, &crd("None")), None);
        assert!(report(&none, &crd("Webhook")).is_some());
        assert_eq!(
            report(
                &rule("customresourcedefinitions", "a", &VERBS),
                &crd("Webhook")
            ),
            None
        );
    }

    #[test]
    fn an_object_that_the_policy_does_not_name_is_reported_with_the_rule() {
        let object = json!({ "kind": "ValidatingWebhookConfiguration", "metadata": { "name": "a" }, "webhooks": [{}] });
        let role = rule("validatingwebhookconfigurations", "a", &VERBS);
        let policy = |name: &str| {
            json!([{ "spec": { "matchConstraints": { "resourceRules": [{
                "apiGroups": ["admissionregistration.k8s.io"], "operations": ["UPDATE"],
                "resources": ["validatingwebhookconfigurations"], "resourceNames": [name],
            }] } } }])
        };
        let report = |policy: &Value, role: &Value| {
            let [policies, roles] = [policy, role].map(|value| value.as_array().unwrap());
            let found = unrestricted(policies, roles, [&object].into_iter());
            found.first().map(ToString::to_string)
        };
        assert_eq!(report(&policy("a"), &role), None);
        assert_eq!(report(&json!([]), &role), None, "no policy");
        assert_eq!(report(&policy("b"), &json!([])), None, "no permission");
        for wrong in [policy("b"), json!([{ "spec": { "matchConstraints": {} } }])] {
            let report = report(&wrong, &role).unwrap();
            assert!(
                report.contains("- { apiGroups: [admissionregistration.k8s.io], apiVersions: [\"*\"], operations: [UPDATE], resources: [validatingwebhookconfigurations], resourceNames: [a] }"),
                "{report}"
            );
        }
    }
}
