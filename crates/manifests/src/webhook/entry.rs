//! One webhook, as defined by a marker.

use serde_json::Value;

use kbr_scaffold::project::Project;

/// The default names. They include the project's prefix, because kustomize does not add one to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The name of the `MutatingWebhookConfiguration`.
    pub mutating: String,
    /// The name of the `ValidatingWebhookConfiguration`.
    pub validating: String,
    /// The service of the webhooks.
    pub service: String,
    /// The namespace of the service.
    pub namespace: String,
}

impl Names {
    /// The names for a project: `captains-webhook` in `captains-system`, and so on.
    pub fn of(project: &Project) -> Self {
        let names = project.head.names();
        let name = &names.prefix;
        Self {
            mutating: format!("{name}-mutating-webhook-configuration"),
            validating: format!("{name}-validating-webhook-configuration"),
            service: format!("{name}-webhook"),
            namespace: names.namespace,
        }
    }
}

/// One entry of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The location of the marker, such as `src/webhooks/crew_v1_captain.rs:12`.
    pub at: String,
    /// Whether it belongs to the mutating configuration.
    pub mutating: bool,
    /// The path at which the operator must serve it; `None` if a `url` or another service does.
    pub path: Option<String>,
    /// The webhook in the form of the API.
    pub object: Value,
}

impl Entry {
    /// The name, unique within its configuration.
    pub fn name(&self) -> &str {
        self.object["name"].as_str().unwrap_or_default()
    }
}
