//! Parts of every project that are not components, and the values that turn them off: what an object is without one.

use serde_json::{Value, json};

use super::tokens::{FULL_NAME, METRICS, SELF_MANAGED, each_container};

/// A value that turns off a part.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Below `.Values`.
    pub value: &'static str,
    /// The object without the part; `None` if it is the part. Names are marked.
    pub without: fn(Value) -> Option<Value>,
}

pub const PARTS: [Part; 3] = [
    Part {
        value: "metrics.enabled",
        without: without_metrics,
    },
    Part {
        value: "rbac.helpers.enabled",
        without: without_helpers,
    },
    // The CRDs themselves have a condition of their own.
    Part {
        value: "crd.enabled",
        without: without_conversion,
    },
];

/// Those that make a difference in any of `objects`.
pub fn parts(objects: &[&Value]) -> Vec<Part> {
    let converts = |object: &&Value| object["spec"]["conversion"]["strategy"] == "Webhook";
    let converts = objects.iter().any(converts);
    let differs = |part: &Part| {
        let differs = |object: &&Value| (part.without)((*object).clone()).as_ref() != Some(*object);
        (converts || part.value != "crd.enabled") && objects.iter().any(differs)
    };
    PARTS.into_iter().filter(differs).collect()
}

fn suffix(object: &Value) -> &str {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let suffix = name.strip_prefix(FULL_NAME);
    suffix.map_or(name, |it| it.trim_start_matches('-'))
}

fn without_metrics(mut object: Value) -> Option<Value> {
    let name = suffix(&object).to_owned();
    match object["kind"].as_str()? {
        "Service" if name == "metrics" => None,
        "ClusterRole" | "ClusterRoleBinding" if name.starts_with("metrics-") => None,
        "NetworkPolicy" => {
            let is_metrics = |rule: &Value| {
                let mut ports = rule["ports"].as_array().into_iter().flatten().peekable();
                ports.peek().is_some() && ports.all(|port| port["port"] == METRICS)
            };
            retain(&mut object["spec"], "ingress", |rule| !is_metrics(rule));
            Some(object)
        }
        "Deployment" => {
            each_container(&mut object, |container| {
                retain(container, "ports", |port| port["name"] != "metrics");
                retain(container, "args", |flag| !has_prefix(flag, "--metrics-"));
            });
            Some(object)
        }
        _ => Some(object),
    }
}

fn without_helpers(object: Value) -> Option<Value> {
    let helps = ["-admin-role", "-editor-role", "-viewer-role"];
    let name = suffix(&object);
    let is_helper =
        object["kind"] == "ClusterRole" && helps.iter().any(|suffix| name.ends_with(suffix));
    (!is_helper).then_some(object)
}

/// Another release owns the CRDs, and manages the CA bundles in them.
fn without_conversion(mut object: Value) -> Option<Value> {
    let is_crds = |value: &Value| value["resources"] == json!(["customresourcedefinitions"]);
    match object["kind"].as_str()? {
        "ClusterRole" if suffix(&object) == "webhook-certificate-role" => {
            retain(&mut object, "rules", |rule| !is_crds(rule));
        }
        "ValidatingAdmissionPolicy" if suffix(&object) == "webhook-certificate-policy" => {
            let constraints = &mut object["spec"]["matchConstraints"];
            retain(constraints, "resourceRules", |rule| !is_crds(rule));
        }
        "Deployment" => each_container(&mut object, |container| {
            let Some(Value::Array(flags)) = container.get_mut("args") else {
                return;
            };
            let managed = flags.iter().position(|flag| flag == SELF_MANAGED);
            if let Some(position) = managed {
                flags.insert(position + 1, json!("--webhook-conversion=false"));
            }
        }),
        _ => {}
    }
    Some(object)
}

fn has_prefix(value: &Value, prefix: &str) -> bool {
    value.as_str().is_some_and(|it| it.starts_with(prefix))
}

/// Removes items of a list, if there is one.
fn retain(parent: &mut Value, key: &str, keep: impl Fn(&Value) -> bool) {
    if let Some(Value::Array(items)) = parent.get_mut(key) {
        items.retain(keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kind: &str, name: &str) -> Value {
        json!({ "kind": kind, "metadata": { "name": format!("{FULL_NAME}-{name}") } })
    }

    #[test]
    fn only_parts_that_make_a_difference_have_values() {
        let values = |objects: &[Value]| {
            let parts = parts(&objects.iter().collect::<Vec<_>>());
            parts.iter().map(|part| part.value).collect::<Vec<_>>()
        };
        assert_eq!(
            values(&[named("ClusterRole", "x-admin-role")]),
            ["rbac.helpers.enabled"]
        );
        assert_eq!(values(&[named("Service", "metrics")]), ["metrics.enabled"]);
        assert_eq!(values(&[named("Service", "webhook")]), [""; 0]);
    }

    #[test]
    fn without_conversion_the_operator_leaves_crds_alone() {
        let deployment = |flags: &[&str]| json!({ "kind": "Deployment", "spec": { "template": { "spec": { "containers": [{ "args": flags }] } } } });
        assert_eq!(
            without_conversion(deployment(&[SELF_MANAGED, "--a"])),
            Some(deployment(&[
                SELF_MANAGED,
                "--webhook-conversion=false",
                "--a"
            ]))
        );
        assert_eq!(
            without_conversion(deployment(&["--a"])),
            Some(deployment(&["--a"]))
        );
    }
}
