//! The names of what a project deploys: derived from its own name, unless `[names]` of PROJECT says others.

use serde::{Deserialize, Serialize};

use super::Head;
use crate::quote::is_yaml_word;
use crate::resource::names;

/// The table `[names]`, which an import records: names that are in clusters already. A key that is missing is derived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Given {
    /// What the names of objects begin with, without the `-` behind it: `captains`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The operator's namespace: `captains-system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The operator's Deployment: `captains-controller-manager`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
    /// Its `ServiceAccount`: the name of the Deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<String>,
    /// The operator's container in the Pod, without which an apply would add a second one: `manager`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The Lease by which the operator leads: the manager id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
}

/// The names, all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// See [`Given::prefix`].
    pub prefix: String,
    /// See [`Given::namespace`].
    pub namespace: String,
    /// See [`Given::deployment`].
    pub deployment: String,
    /// See [`Given::service_account`].
    pub service_account: String,
    /// See [`Given::container`].
    pub container: String,
    /// See [`Given::lease`].
    pub lease: String,
}

impl Given {
    /// Whether all names are derived.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Of these names, those that `head` would derive otherwise.
    #[must_use]
    pub fn besides(self, head: &Head) -> Self {
        let other = |given: Option<String>, derived: String| given.filter(|it| *it != derived);
        let prefix = other(self.prefix, Self::default().names(head).prefix);
        let derived = Self {
            prefix: prefix.clone(),
            ..Self::default()
        };
        let derived = derived.names(head);
        let account = self.deployment.as_ref().unwrap_or(&derived.deployment);
        Self {
            prefix,
            namespace: other(self.namespace, derived.namespace),
            service_account: other(self.service_account, account.clone()),
            deployment: other(self.deployment, derived.deployment),
            container: other(self.container, derived.container),
            lease: other(self.lease, derived.lease),
        }
    }

    /// All names of a project.
    pub fn names(&self, head: &Head) -> Names {
        let or = |given: &Option<String>, derived: String| given.clone().unwrap_or(derived);
        let prefix = or(&self.prefix, head.name.clone());
        let deployment = or(&self.deployment, format!("{prefix}-controller-manager"));
        Names {
            namespace: or(&self.namespace, format!("{}-system", head.name)),
            service_account: or(&self.service_account, deployment.clone()),
            deployment,
            container: or(&self.container, "manager".to_owned()),
            lease: or(&self.lease, head.manager_id()),
            prefix,
        }
    }

    /// A sentence for each name that cannot be one.
    pub fn problems(&self) -> Vec<String> {
        let keys = [
            ("prefix", &self.prefix),
            ("namespace", &self.namespace),
            ("deployment", &self.deployment),
            ("service_account", &self.service_account),
            ("container", &self.container),
        ];
        let wrong = keys.into_iter().filter_map(|(key, name)| {
            let name = name.as_ref().filter(|name| !is_name(name))?;
            Some(format!(
                "`names.{key}`: `{}` is not a name: use lower-case letters, digits and `-`, and begin with a letter",
                name.escape_debug()
            ))
        });
        let built_in = self.namespace.iter().filter(|name| is_built_in(name));
        let built_in = built_in.map(|name| {
            format!("`names.namespace`: `{name}` belongs to Kubernetes: `config` restricts the Pods of the namespace, and `make undeploy` deletes it")
        });
        let lease = self.lease.iter().filter(|name| !names::is_subdomain(name));
        let lease = lease.map(|name| {
            format!(
                "`names.lease`: `{}` is not the name of a Lease",
                name.escape_debug()
            )
        });
        wrong.chain(built_in).chain(lease).collect()
    }
}

/// Whether a namespace exists in every cluster, for others.
pub fn is_built_in(namespace: &str) -> bool {
    ["default", "kube-node-lease", "kube-public", "kube-system"].contains(&namespace)
}

/// Whether a text can name these objects, and is a text in YAML without quotes.
pub fn is_name(text: &str) -> bool {
    text.len() <= 63 && names::is_subdomain(text) && !text.contains('.') && is_yaml_word(text)
}
