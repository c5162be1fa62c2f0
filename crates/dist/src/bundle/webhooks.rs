//! Webhook configurations and conversions -> the webhook definitions of a CSV: OLM makes the configurations itself.

use anyhow::bail;
use serde_json::{Map, Value, json};

/// The keys of a webhook that a definition has, too.
const SAME: [&str; 8] = [
    "admissionReviewVersions",
    "failurePolicy",
    "matchPolicy",
    "objectSelector",
    "reinvocationPolicy",
    "rules",
    "sideEffects",
    "timeoutSeconds",
];

/// The keys that OLM sets.
const SET: [&str; 3] = ["clientConfig", "name", "namespaceSelector"];

/// Takes the configurations out of `objects`, and the webhooks for conversion out of `crds`.
///
/// # Errors
/// A webhook has a part that OLM does not set.
pub fn take(
    deployment: &Value,
    objects: &mut Vec<Value>,
    crds: &mut [Value],
) -> anyhow::Result<Vec<Value>> {
    let name = &deployment["metadata"]["name"];
    let port = port(deployment);
    let common = |kind: &str, generated: &str, path: &Value| {
        let parts = [
            ("type", json!(kind)),
            ("generateName", json!(generated)),
            ("deploymentName", name.clone()),
            ("containerPort", json!(443)),
            ("targetPort", json!(port)),
            ("webhookPath", path.clone()),
        ];
        parts
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect::<Map<_, _>>()
    };
    let mut definitions = Vec::new();
    for object in objects.iter() {
        let kind = match object["kind"].as_str() {
            Some("MutatingWebhookConfiguration") => "MutatingAdmissionWebhook",
            Some("ValidatingWebhookConfiguration") => "ValidatingAdmissionWebhook",
            _ => continue,
        };
        for webhook in object["webhooks"].as_array().into_iter().flatten() {
            let generated = webhook["name"].as_str().unwrap_or_default();
            let path = &webhook["clientConfig"]["service"]["path"];
            let mut definition = common(kind, generated, path);
            for (key, value) in webhook.as_object().into_iter().flatten() {
                if SAME.contains(&key.as_str()) {
                    definition.insert(key.clone(), value.clone());
                } else if !SET.contains(&key.as_str()) {
                    bail!("the webhook `{generated}` has `{key}`, which OLM does not set");
                }
            }
            definitions.push(Value::Object(definition));
        }
    }
    for crd in crds {
        let conversion = crd["spec"]
            .as_object_mut()
            .and_then(|spec| spec.remove("conversion"));
        let Some(conversion) = conversion.filter(|it| it["strategy"] == "Webhook") else {
            continue;
        };
        let crd_name = crd["metadata"]["name"].clone();
        let generated = format!("c{}", crd_name.as_str().unwrap_or_default());
        let path = &conversion["webhook"]["clientConfig"]["service"]["path"];
        let mut definition = common("ConversionWebhook", &generated, path);
        definition.insert("admissionReviewVersions".to_owned(), json!(["v1"]));
        definition.insert("conversionCRDs".to_owned(), json!([crd_name]));
        definition.insert("sideEffects".to_owned(), json!("None"));
        definitions.push(Value::Object(definition));
    }
    objects.retain(|object| {
        !object["kind"]
            .as_str()
            .is_some_and(|it| it.ends_with("WebhookConfiguration"))
    });
    Ok(definitions)
}

/// The port on which the operator serves webhooks.
fn port(deployment: &Value) -> u64 {
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let mut ports = container["ports"].as_array().into_iter().flatten();
    let webhook = ports.find(|port| port["name"] == "webhook");
    webhook
        .and_then(|port| port["containerPort"].as_u64())
        .unwrap_or(9443)
}
