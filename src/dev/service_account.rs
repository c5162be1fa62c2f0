//! The operator's service account: `kbr dev` runs the operator with the permissions that `config/default` grants.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use kbr_envtest::apply::apply;
use kbr_envtest::control_plane::ControlPlane;
use kbr_envtest::progress;
use kbr_manifests::overlay::{self, Identity, OVERLAY};

/// The kinds that grant permissions to a service account, and the service account and its namespace.
const KINDS: [&str; 6] = [
    "Namespace",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
];

/// The service account of the manager's Deployment, with its roles.
#[derive(Debug, Default)]
pub struct ServiceAccount {
    /// The installed objects, empty without `config/default`; `None` at first.
    installed: Option<Vec<Value>>,
    /// With its kubeconfig.
    identity: Option<(Identity, PathBuf)>,
}

impl ServiceAccount {
    /// Installs the permissions in the project's `config/default` if they have changed.
    pub fn install(&mut self, plane: &ControlPlane, root: &Path) -> anyhow::Result<()> {
        if !overlay::exists(root, OVERLAY) {
            self.identity = None;
            let before = self.installed.replace(Vec::new());
            if before.is_none_or(|before| !before.is_empty()) {
                let why = format!("as administrator, because the project has no `{OVERLAY}`");
                progress("running", &why);
            }
            return Ok(());
        }
        let objects = overlay::render(plane.kubectl(), root, OVERLAY)?;
        let identity = Identity::of(&objects)?;
        let objects = permissions(&identity, objects);
        if self.installed.as_ref() != Some(&objects) {
            apply(plane, &objects, "permissions")?;
            let what = format!("the permissions of {}", identity.user());
            progress("installed", &what);
            self.installed = Some(objects);
        }
        if self
            .identity
            .as_ref()
            .is_none_or(|(known, _)| *known != identity)
        {
            if let Some(watched) = &identity.watched {
                let what = format!("only the namespaces {watched}, as when deployed");
                progress("watching", &what);
            }
            let kubeconfig = plane.write_kubeconfig(&identity.namespace, &identity.account)?;
            self.identity = Some((identity, kubeconfig));
        }
        Ok(())
    }

    /// The environment variables with which a program acts as the service account, and those of its Pod.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let Some((identity, kubeconfig)) = &self.identity else {
            return Vec::new();
        };
        let mut environment = vec![
            ("KUBECONFIG", kubeconfig.into()),
            ("POD_NAMESPACE", identity.namespace.clone().into()),
        ];
        if let Some(watched) = &identity.watched
            && std::env::var_os("WATCH_NAMESPACE").is_none()
        {
            environment.push(("WATCH_NAMESPACE", watched.into()));
        }
        environment
    }
}

/// The namespaces of the service account and its roles, followed by these objects.
fn permissions(identity: &Identity, objects: Vec<Value>) -> Vec<Value> {
    let mut permissions: Vec<Value> = objects
        .into_iter()
        .filter(|object| KINDS.iter().any(|kind| object["kind"] == *kind))
        .collect();
    let namespaces = permissions
        .iter()
        .filter_map(|object| object["metadata"]["namespace"].as_str());
    let mut names: Vec<_> = namespaces.map(str::to_owned).collect();
    names.push(identity.namespace.clone());
    names.sort();
    names.dedup();
    let namespace =
        |name| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    permissions.retain(|object| object["kind"] != "Namespace");
    permissions.splice(0..0, names.into_iter().map(namespace));
    permissions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_come_after_their_namespaces_and_nothing_else_is_installed() {
        let identity = Identity {
            namespace: "crew-system".to_owned(),
            account: "crew".to_owned(),
            watched: None,
        };
        let object = |kind: &str, namespace: &str| json!({ "kind": kind, "metadata": { "namespace": namespace } });
        let objects = vec![
            object("Role", "team-a"),
            json!({ "kind": "Namespace", "metadata": { "name": "x" } }),
            object("Deployment", "crew-system"),
            object("ServiceAccount", "crew-system"),
        ];
        let permissions = permissions(&identity, objects);
        let kinds: Vec<_> = permissions.iter().map(|object| &object["kind"]).collect();
        assert_eq!(kinds, ["Namespace", "Namespace", "Role", "ServiceAccount"]);
        assert_eq!(permissions[0]["metadata"]["name"], "crew-system");
        assert_eq!(permissions[1]["metadata"]["name"], "team-a");
    }
}
