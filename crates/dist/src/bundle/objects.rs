//! The rendered objects, by what becomes of them in a bundle.

use anyhow::{Context, bail};
use serde_json::Value;

/// The kinds that a bundle may have besides its CSV, as the registry of OLM has them.
const ALLOWED: [&str; 14] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "PodMonitor",
    "PriorityClass",
    "PrometheusRule",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "ServiceMonitor",
];

/// What goes into the CSV, and what is a file of its own.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The operator's.
    pub deployment: Value,
    pub crds: Vec<Value>,
    /// All else, without the webhook configurations after [`super::webhooks::take`].
    pub others: Vec<Value>,
}

/// Sorts the objects.
///
/// # Errors
/// There is not one Deployment, or there are kinds that OLM does not install; all of these are named.
pub fn sort(objects: Vec<Value>) -> anyhow::Result<Parts> {
    let mut deployments = Vec::new();
    let mut crds = Vec::new();
    let mut others = Vec::new();
    let mut refused = Vec::new();
    for mut object in objects {
        // OLM decides on the namespace.
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
        match object["kind"].as_str().unwrap_or_default() {
            "Namespace" => {}
            "Deployment" => deployments.push(object),
            "CustomResourceDefinition" => crds.push(object),
            kind if kind.ends_with("WebhookConfiguration") || ALLOWED.contains(&kind) => {
                others.push(object);
            }
            kind => refused.push(format!(
                "{kind} `{}`",
                object["metadata"]["name"].as_str().unwrap_or_default()
            )),
        }
    }
    if !refused.is_empty() {
        bail!(
            "OLM does not install these objects of `config/default`: {}",
            refused.join(", ")
        );
    }
    let deployment = deployments
        .pop()
        .context("`config/default` has no Deployment")?;
    if !deployments.is_empty() {
        bail!("`config/default` has several Deployments, of which a bundle of kbr can have one");
    }
    Ok(Parts {
        deployment,
        crds,
        others,
    })
}

/// The name of an object's file: `crew.example.com_captains.yaml` for a CRD, `captains-metrics_v1_service.yaml` for another.
pub fn file(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if object["kind"] == "CustomResourceDefinition" {
        let spec = &object["spec"];
        return format!(
            "{}_{}.yaml",
            text(&spec["group"]),
            text(&spec["names"]["plural"])
        );
    }
    let api = text(&object["apiVersion"]).replace('/', "_");
    format!(
        "{}_{api}_{}.yaml",
        text(&object["metadata"]["name"]),
        text(&object["kind"]).to_lowercase()
    )
}

/// Removes the Service of the webhooks and the operator's `ServiceAccount`, which OLM makes.
pub fn without_what_olm_makes(account: &str, others: &mut Vec<Value>) {
    others.retain(|object| {
        let ports = object["spec"]["ports"].as_array().into_iter().flatten();
        let serves_webhooks = object["kind"] == "Service"
            && ports.clone().any(|port| port["targetPort"] == "webhook");
        let is_account =
            object["kind"] == "ServiceAccount" && object["metadata"]["name"] == account;
        !serves_webhooks && !is_account
    });
}
