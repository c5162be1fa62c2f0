//! What a marker gives: one webhook.

use serde_json::Value;

use crate::project::Project;

/// What a marker calls when it does not say otherwise; names are written in full, for nothing puts a prefix before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Of the `MutatingWebhookConfiguration`.
    pub mutating: String,
    /// Of the `ValidatingWebhookConfiguration`.
    pub validating: String,
    /// The service of the webhooks.
    pub service: String,
    /// Where the service is.
    pub namespace: String,
}

impl Names {
    /// `captains-webhook` in `captains-system`, and so on.
    pub fn of(project: &Project) -> Self {
        let name = &project.head.name;
        Self {
            mutating: format!("{name}-mutating-webhook-configuration"),
            validating: format!("{name}-validating-webhook-configuration"),
            service: format!("{name}-webhook"),
            namespace: project.head.namespace(),
        }
    }
}

/// One entry of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// `src/webhooks/crew_v1_captain.rs:12`.
    pub at: String,
    /// Whether it may change objects.
    pub mutating: bool,
    /// Where the operator has to serve it; `None` when something else does: a `url`, or another service.
    pub path: Option<String>,
    /// As the API has it.
    pub object: Value,
}

impl Entry {
    /// The name, unique within its configuration.
    pub fn name(&self) -> &str {
        self.object["name"].as_str().unwrap_or_default()
    }
}
