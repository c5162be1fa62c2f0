//! Renders kustomizations of the project, and reads the operator's identity in what `make deploy` deploys.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use apiserver_rules::Operator;
use kbr_host::diagnostic::Diagnostic;
use serde_json::Value;

/// The overlay that `make deploy` deploys.
pub const OVERLAY: &str = "config/default";

/// How the paths of generated files begin.
const GENERATED: [&str; 3] = [
    "config/crd/bases/",
    "config/rbac/role.yaml",
    "config/webhook/manifests.yaml",
];

/// Whether the project at `root` has a kustomization in `folder`.
pub fn exists(root: &Path, folder: &str) -> bool {
    root.join(folder).join("kustomization.yaml").is_file()
}

/// All objects of the kustomization in `folder` of the project `root`. `kubectl` has no arguments yet.
pub fn render(mut kubectl: Command, root: &Path, folder: &str) -> anyhow::Result<Vec<Value>> {
    let rendered = kubectl.arg("kustomize").arg(root.join(folder)).output();
    let rendered = rendered.context("cannot run kubectl")?;
    if !rendered.status.success() {
        let text = [rendered.stdout, rendered.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let error = Diagnostic::new(format_args!("`kubectl kustomize {folder}` fails"));
        let is_generated = GENERATED.iter().any(|path| text.contains(path));
        let error = if is_generated && text.contains("no such file") {
            error.help("run `kbr manifests` first, which writes that file")
        } else {
            error
        };
        return Err(error.details(text).into());
    }
    let objects = kbr_host::yaml::documents(&String::from_utf8_lossy(&rendered.stdout));
    objects.with_context(|| format!("`{folder}` does not render YAML"))
}

/// The operator's identity according to its Deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// The namespace that it runs in.
    pub namespace: String,
    /// The name of its `ServiceAccount`.
    pub account: String,
    /// The value of `WATCH_NAMESPACE`.
    pub watched: Option<String>,
}

impl Identity {
    /// The identity of the manager's Deployment, or of the first Deployment if the project has removed the manager's label.
    ///
    /// # Errors
    /// There is no Deployment with a `ServiceAccount`.
    pub fn of(objects: &[Value]) -> anyhow::Result<Self> {
        Self::find(objects)
            .with_context(|| format!("`{OVERLAY}` has no Deployment with a `serviceAccountName`"))
    }

    fn find(objects: &[Value]) -> Option<Self> {
        let operator = Operator::find(objects)?;
        Some(Self {
            namespace: operator.namespace.to_owned(),
            account: operator.account.to_owned(),
            watched: operator.variable("WATCH_NAMESPACE"),
        })
    }

    /// Whether the binding of a role names it.
    pub fn is_bound_by(&self, binding: &Value) -> bool {
        let mut subjects = binding["subjects"].as_array().into_iter().flatten();
        let groups = [
            "system:authenticated".to_owned(),
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{}", self.namespace),
        ];
        subjects.any(|subject| match subject["kind"].as_str() {
            Some("ServiceAccount") => {
                subject["name"] == self.account.as_str()
                    && subject["namespace"] == self.namespace.as_str()
            }
            Some("User") => subject["name"] == self.user().as_str(),
            Some("Group") => groups.iter().any(|it| subject["name"] == it.as_str()),
            _ => false,
        })
    }

    /// Its user name.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        assert!(Identity::of(&[]).is_err());
    }
}
