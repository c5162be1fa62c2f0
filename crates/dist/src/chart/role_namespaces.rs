//! The namespaces of Roles that are not the operator's own, as values: each by the name of its Role or binding.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::names::{NAMESPACE, Names, is_name};
use super::schemas;
use super::tokens::ALONE;
use super::values::Row;
use kbr_scaffold::quote;

const BEGIN: &str = "kbrRoleNamespace-";
const END: &str = "-Kbr";

/// The namespace of each Role and binding outside the operator's own namespace.
#[derive(Clone, Debug, Default)]
pub struct RoleNamespaces(BTreeMap<String, String>);

impl RoleNamespaces {
    /// Replaces the namespace of an object whose names are marked.
    pub fn mark(&mut self, object: &mut Value, names: &Names) {
        if object["kind"] != "Role" && object["kind"] != "RoleBinding" {
            return;
        }
        let metadata = &object["metadata"];
        let (Some(name), Some(namespace)) =
            (metadata["name"].as_str(), metadata["namespace"].as_str())
        else {
            return;
        };
        if namespace == NAMESPACE {
            return;
        }
        let plain = names.plain(name);
        let own = names.suffix(&plain);
        let key = if own.ends_with(&format!("-{namespace}")) {
            own.to_owned()
        } else {
            format!("{own}-{namespace}")
        };
        if !key.bytes().all(is_name) {
            return;
        }
        self.0.insert(key.clone(), names.plain(namespace));
        object["metadata"]["namespace"] = json!(format!("{BEGIN}{key}{END}"));
    }

    /// The key of a namespace that [`Self::mark`] has replaced.
    pub fn key(namespace: &str) -> Option<&str> {
        namespace.strip_prefix(BEGIN)?.strip_suffix(END)
    }

    /// Replaces what [`Self::mark`] wrote with actions of a template.
    pub fn expand(text: &str) -> String {
        let mut parts = text.split(BEGIN);
        let mut expanded = parts.next().unwrap_or_default().to_owned();
        let end = format!("{END}{ALONE}");
        for part in parts {
            let (key, rest) = part.split_once(&end).unwrap_or_default();
            let key = quote::go(key);
            let action = format!("{{{{ index .Values.rbac.roleNamespaces {key} | quote }}}}");
            expanded.extend([&action, rest]);
        }
        expanded
    }

    /// The values of the chart.
    pub fn rows(&self) -> Vec<Row> {
        let row = |(key, namespace): (&String, &String)| {
            let path = format!("rbac.roleNamespaces.{key}");
            Row::new(
                path,
                json!(namespace),
                schemas::namespace(),
                format!("The namespace of {}", quote::markdown(key)),
            )
        };
        self.0.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(namespace: &str, name: &str) -> Value {
        json!({ "kind": "Role", "metadata": { "name": name, "namespace": namespace } })
    }

    #[test]
    fn roles_in_other_namespaces_have_values() {
        let shop = kbr_scaffold::project::Head {
            name: "shop".to_owned(),
            ..Default::default()
        };
        let names = Names::new(&shop, "shop-system", [].iter());
        let mut all = RoleNamespaces::default();
        let mut mark = |mut object: Value| {
            all.mark(&mut object, &names);
            object["metadata"]["namespace"].as_str().unwrap().to_owned()
        };
        assert_eq!(mark(role(NAMESPACE, "shop-a")), NAMESPACE);
        let one = mark(role("team", "shop-manager-role"));
        let other = mark(role("users", "shop-role-users"));
        assert_eq!(RoleNamespaces::key(&one), Some("manager-role-team"));
        assert_eq!(RoleNamespaces::key(&other), Some("role-users"));
        let expected = "x: {{ index .Values.rbac.roleNamespaces \"manager-role-team\" | quote }}";
        assert_eq!(
            RoleNamespaces::expand(&format!("x: {one}{ALONE}")),
            expected
        );
        assert_eq!(all.rows().len(), 2);
    }
}
