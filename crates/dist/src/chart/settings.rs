//! What a chart lets its users set in the manager's Deployment, and where: one table.

use serde_json::Value;

use super::schemas;

/// How a value gets into the Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// It replaces a string or number.
    Scalar,
    /// It replaces a mapping or list.
    Tree,
    /// Its items follow those of the chart. An item of the chart with the same name, or the same flag, is left out.
    Items,
    /// Its entries are added to those of the chart.
    Entries,
}

/// One value.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Below `.Values.manager`.
    pub value: &'static str,
    /// Below the Deployment; `*` is the manager's container.
    pub path: &'static str,
    pub form: Form,
    /// What it accepts.
    pub schema: fn() -> Value,
    /// What it is, for `values.yaml` and the README.
    pub about: &'static str,
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

const fn row(
    form: Form,
    value: &'static str,
    path: &'static str,
    schema: fn() -> Value,
    about: &'static str,
) -> Setting {
    Setting {
        value,
        path,
        form,
        schema,
        about,
    }
}

/// The names are those of kubebuilder's charts.
pub const SETTINGS: [Setting; 22] = [
    row(
        Form::Scalar,
        "replicas",
        "spec.replicas",
        schemas::count,
        "The number of replicas, of which one leads",
    ),
    row(
        Form::Tree,
        "strategy",
        "spec.strategy",
        schemas::object,
        "How Pods are replaced by new ones",
    ),
    row(
        Form::Entries,
        "labels",
        "metadata.labels",
        schemas::labels,
        "More labels of the Deployment",
    ),
    row(
        Form::Entries,
        "annotations",
        "metadata.annotations",
        schemas::annotations,
        "More annotations of the Deployment",
    ),
    row(
        Form::Entries,
        "pod.labels",
        "spec.template.metadata.labels",
        schemas::labels,
        "More labels of the Pods",
    ),
    row(
        Form::Entries,
        "pod.annotations",
        "spec.template.metadata.annotations",
        schemas::annotations,
        "More annotations of the Pods",
    ),
    row(
        Form::Scalar,
        "image.pullPolicy",
        "spec.template.spec.*.imagePullPolicy",
        schemas::pull_policy,
        "When the image is pulled",
    ),
    row(
        Form::Tree,
        "imagePullSecrets",
        "spec.template.spec.imagePullSecrets",
        schemas::references,
        "Secrets to pull the image with, such as `- name: registry`",
    ),
    row(
        Form::Items,
        "args",
        "spec.template.spec.*.args",
        schemas::flags,
        "More flags of the operator; each replaces the flag of the same name",
    ),
    row(
        Form::Items,
        "env",
        "spec.template.spec.*.env",
        schemas::named,
        "More environment variables; each replaces the one of the same name",
    ),
    row(
        Form::Tree,
        "resources",
        "spec.template.spec.*.resources",
        schemas::resources,
        "Requests and limits of the operator",
    ),
    row(
        Form::Tree,
        "securityContext",
        "spec.template.spec.*.securityContext",
        schemas::object,
        "The security context of the container",
    ),
    row(
        Form::Items,
        "extraVolumeMounts",
        "spec.template.spec.*.volumeMounts",
        schemas::mounts,
        "More volumes to mount",
    ),
    row(
        Form::Items,
        "extraVolumes",
        "spec.template.spec.volumes",
        schemas::named,
        "More volumes of the Pods",
    ),
    row(
        Form::Tree,
        "podSecurityContext",
        "spec.template.spec.securityContext",
        schemas::object,
        "The security context of the Pods",
    ),
    row(
        Form::Tree,
        "affinity",
        "spec.template.spec.affinity",
        schemas::object,
        "Which nodes the Pods prefer or need",
    ),
    row(
        Form::Tree,
        "nodeSelector",
        "spec.template.spec.nodeSelector",
        schemas::selector,
        "Labels that nodes must have",
    ),
    row(
        Form::Tree,
        "tolerations",
        "spec.template.spec.tolerations",
        schemas::tolerations,
        "Taints of nodes that the Pods tolerate",
    ),
    row(
        Form::Scalar,
        "priorityClassName",
        "spec.template.spec.priorityClassName",
        schemas::name,
        "The priority class of the Pods",
    ),
    row(
        Form::Tree,
        "topologySpreadConstraints",
        "spec.template.spec.topologySpreadConstraints",
        schemas::objects,
        "How the Pods are spread",
    ),
    row(
        Form::Scalar,
        "terminationGracePeriodSeconds",
        "spec.template.spec.terminationGracePeriodSeconds",
        schemas::count,
        "How long Pods may take to end, in seconds",
    ),
    row(
        Form::Scalar,
        "hostNetwork",
        "spec.template.spec.hostNetwork",
        schemas::boolean,
        "Whether the Pods use the network of their node",
    ),
];
