//! What stands for the values of a release in the rendered objects, until they are templates.

use serde_json::Value;

use super::names::Names;
use super::ports::Ports;
use super::role_namespaces::RoleNamespaces;
use super::values::Row;
use super::webhook_namespaces;

/// What of a project is a value of its chart, wherever it occurs.
#[derive(Clone, Debug)]
pub struct Marks {
    pub names: Names,
    pub ports: Ports,
    pub roles: RoleNamespaces,
    /// Whether `webhook.namespaces` selects anything.
    webhooks: bool,
}

impl Marks {
    pub fn new(names: Names, ports: Ports) -> Self {
        Self {
            names,
            ports,
            roles: RoleNamespaces::default(),
            webhooks: false,
        }
    }

    /// Replaces the values in an object.
    pub fn mark(&mut self, object: &mut Value) {
        self.names.mark(object);
        self.names.mark_identity(object);
        self.ports.mark(object);
        self.roles.mark(object, &self.names);
        self.webhooks |= webhook_namespaces::mark(object);
    }

    /// The values of the chart, without the names.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = self.ports.rows();
        rows.extend(self.webhooks.then(webhook_namespaces::row));
        rows.extend(self.roles.rows());
        rows
    }
}
