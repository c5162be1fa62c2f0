//! The operator's service account: `kbr dev` runs the operator with the permissions that `config/default` grants.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use super::render::render;
use crate::envtest::apply::apply;
use crate::envtest::control_plane::ControlPlane;
use crate::envtest::progress;

/// The overlay that `make deploy` deploys.
const OVERLAY: &str = "config/default";

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

/// The operator's identity according to its Deployment.
#[derive(Clone, Debug, PartialEq)]
struct Identity {
    namespace: String,
    account: String,
    /// The value of `WATCH_NAMESPACE`.
    watched: Option<String>,
}

impl ServiceAccount {
    /// Installs the permissions in the project's `config/default` if they have changed.
    pub fn install(&mut self, plane: &ControlPlane, root: &Path) -> anyhow::Result<()> {
        let overlay = root.join(OVERLAY);
        if !overlay.join("kustomization.yaml").is_file() {
            self.identity = None;
            let before = self.installed.replace(Vec::new());
            if before.is_none_or(|before| !before.is_empty()) {
                let why = format!("as administrator, because the project has no `{OVERLAY}`");
                progress("running", &why);
            }
            return Ok(());
        }
        let objects = render(plane, root, OVERLAY)?;
        let identity = Identity::of(&objects).with_context(|| {
            format!("`{OVERLAY}` has no Deployment with a `serviceAccountName`")
        })?;
        let objects = identity.permissions(objects);
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

impl Identity {
    /// The identity of the manager's Deployment, or of the first Deployment if the project has removed the manager's label.
    fn of(objects: &[Value]) -> Option<Self> {
        let manager =
            |object: &&Value| object["metadata"]["labels"]["control-plane"] == "controller-manager";
        let all = || {
            objects
                .iter()
                .filter(|object| object["kind"] == "Deployment")
        };
        let found = all().find(manager).or_else(|| all().next())?;
        let namespace = found["metadata"]["namespace"].as_str()?;
        let pod = &found["spec"]["template"]["spec"];
        let containers = pod["containers"].as_array().into_iter().flatten();
        let watched = containers
            .filter_map(|container| container["env"].as_array())
            .flatten()
            .find(|variable| variable["name"] == "WATCH_NAMESPACE")
            .and_then(|variable| variable["value"].as_str())
            .map(|names| names.replace("$(POD_NAMESPACE)", namespace));
        Some(Self {
            namespace: namespace.to_owned(),
            account: pod["serviceAccountName"].as_str()?.to_owned(),
            watched,
        })
    }

    fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.account)
    }

    /// The namespaces of the service account and its roles, followed by these objects.
    fn permissions(&self, objects: Vec<Value>) -> Vec<Value> {
        let mut permissions: Vec<Value> = objects
            .into_iter()
            .filter(|object| KINDS.iter().any(|kind| object["kind"] == *kind))
            .collect();
        let namespaces = permissions
            .iter()
            .filter_map(|object| object["metadata"]["namespace"].as_str());
        let mut names: Vec<_> = namespaces.map(str::to_owned).collect();
        names.push(self.namespace.clone());
        names.sort();
        names.dedup();
        let namespace =
            |name| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        permissions.retain(|object| object["kind"] != "Namespace");
        permissions.splice(0..0, names.into_iter().map(namespace));
        permissions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(labels: &Value, account: &str, env: &Value) -> Value {
        json!({
            "kind": "Deployment",
            "metadata": { "namespace": "crew-system", "labels": labels },
            "spec": { "template": { "spec": {
                "serviceAccountName": account,
                "containers": [{ "env": env }],
            } } },
        })
    }

    #[test]
    fn the_operators_identity_comes_from_the_managers_deployment() {
        let manager = json!({ "control-plane": "controller-manager" });
        let watch = json!([{ "name": "WATCH_NAMESPACE", "value": "$(POD_NAMESPACE),team-a" }]);
        let other = deployment(&json!({}), "other", &json!([]));
        let objects = [other, deployment(&manager, "crew", &watch)];
        let identity = Identity::of(&objects).unwrap();
        assert_eq!(identity.user(), "system:serviceaccount:crew-system:crew");
        assert_eq!(identity.watched.as_deref(), Some("crew-system,team-a"));
        let identity = Identity::of(&objects[..1]).unwrap();
        assert_eq!(identity.account, "other");
        assert_eq!(identity.watched, None);
        assert_eq!(Identity::of(&[]), None);
    }

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
        let permissions = identity.permissions(objects);
        let kinds: Vec<_> = permissions.iter().map(|object| &object["kind"]).collect();
        assert_eq!(kinds, ["Namespace", "Namespace", "Role", "ServiceAccount"]);
        assert_eq!(permissions[0]["metadata"]["name"], "crew-system");
        assert_eq!(permissions[1]["metadata"]["name"], "team-a");
    }
}
