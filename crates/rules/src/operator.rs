//! Who an operator is for the API server: its Deployment among rendered objects, and the `ServiceAccount` of its Pods.

use serde_json::Value;

/// An operator, by its Deployment.
#[derive(Clone, Copy, Debug)]
pub struct Operator<'a> {
    /// The namespace that it runs in.
    pub namespace: &'a str,
    /// The name of its `ServiceAccount`.
    pub account: &'a str,
    /// The Deployment.
    pub deployment: &'a Value,
}

impl<'a> Operator<'a> {
    /// The Deployment with the label that kubebuilder gives a manager, or the first one of a project that has removed the label. `None`
    /// without a Deployment that has a namespace and a `ServiceAccount`.
    #[must_use]
    pub fn find(objects: &'a [Value]) -> Option<Self> {
        let is_manager =
            |object: &&Value| object["metadata"]["labels"]["control-plane"] == "controller-manager";
        let deployments = || {
            let all = objects.iter();
            all.filter(|object| object["kind"] == "Deployment")
        };
        let found = deployments().find(is_manager).or(deployments().next())?;
        let pod = &found["spec"]["template"]["spec"];
        Some(Self {
            namespace: found["metadata"]["namespace"].as_str()?,
            account: pod["serviceAccountName"].as_str()?,
            deployment: found,
        })
    }

    /// The value of a variable of its environment, in which it may name its own namespace.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let variables = self.containers().filter_map(|it| it["env"].as_array());
        let mut named = variables.flatten().filter(|it| it["name"] == name);
        let value = named.find_map(|it| it["value"].as_str())?;
        Some(value.replace("$(POD_NAMESPACE)", self.namespace))
    }

    /// Whether a container of it has an argument.
    #[must_use]
    pub fn has_argument(&self, argument: &str) -> bool {
        let mut arguments = self.containers().filter_map(|it| it["args"].as_array());
        arguments.any(|all| all.iter().any(|it| it == argument))
    }

    fn containers(&self) -> impl Iterator<Item = &'a Value> {
        self.deployment["spec"]["template"]["spec"]["containers"]
            .as_array()
            .into_iter()
            .flatten()
    }
}
