//! All that a template may use.

use serde::Serialize;
use serde_json::Value;

/// The variables of every template: one flat struct. What a command has no value for is empty.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Vars {
    /// kbr's own version.
    pub kbr_version: String,
    /// `captains-operator`: the root package, its binary, the prefix of every name in the cluster.
    pub project: String,
    /// `example.com`.
    pub domain: String,
    /// What `--repo` gave, or empty: a URL for the manifest's `repository`.
    pub repository: String,
    /// Copyright owner, or empty.
    pub owner: String,
    /// `Apache-2.0`, `MIT` or empty.
    pub license: String,
    /// `<project>-system`.
    pub namespace: String,
    /// `<project>.<domain>`: manager id and name of the Lease.
    pub manager_id: String,

    /// `crew`: the `--group` word, or the whole group when that is all there is.
    pub group: String,
    /// `crew.example.com`.
    pub full_group: String,
    /// `crew`: the module of the group in the `api` crate.
    pub group_module: String,
    /// `v1`.
    pub version: String,
    /// `Captain`.
    pub kind: String,
    /// `captain`: what kubectl calls the kind, and the sample.
    pub kind_lower: String,
    /// `captain`, or `type_` where Rust has the word: the kind's file and module in the `api` crate.
    pub kind_module: String,
    /// `captains`.
    pub plural: String,
    /// `captain`.
    pub singular: String,
    /// `["cap"]`. Templates of 0.1.0 use it.
    pub short_names: Vec<String>,
    /// The table `[[api]]` of the kind, key by key: `{{ api.short_names }}`. A key that has no variable of its own needs none.
    pub api: Value,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether this version is the stored one: the first version of its kind that was created.
    pub storage: bool,
    /// `false` for a kind of Kubernetes itself or of another crate.
    pub own_kind: bool,

    /// `captain`: the controller's name in logs, metrics and field managers.
    pub controller: String,
    /// `captain`: its file and module in `src/controllers`.
    pub controller_module: String,
    /// `api::crew::v1::Captain`, `k8s_openapi::api::apps::v1::Deployment`.
    pub type_path: String,
    /// `Captain`, or what the controller calls the kind where that name is taken there (`ActionKind`).
    pub type_name: String,
    /// `use` line of `type_path`, complete: `use api::crew::v1::Captain;`.
    pub type_use: String,
    /// `crew.example.com/captain`: the controller's finalizer.
    pub finalizer: String,
    /// `crew_v1_captain`: the file of the webhooks and their module in `src/webhooks`.
    pub webhook_module: String,
    /// `webhook-self-signed`: the component that serves webhooks until the user chooses another. Templates of 0.1.0 use it.
    pub webhook_component: String,
    /// `// +kbr:webhook:path=…` of the webhook that sets defaults, or empty for none.
    pub defaulting_marker: String,
    /// `// +kbr:webhook:path=…` of the webhook that validates, or empty for none.
    pub validation_marker: String,
    /// The path of the webhook that sets defaults, if it is not the usual one.
    pub defaulting_path: String,
    /// The path of the webhook that validates, if it is not the usual one.
    pub validation_path: String,
    /// `v2`: the version to and from which `version` is converted.
    pub hub_version: String,
    /// `CaptainV1`: what the hub's file calls the version that is converted.
    pub spoke_alias: String,
    /// The crate that defines the kind, if that is neither the project's own nor Kubernetes', or empty.
    pub external_crate: String,
    /// Line for the root manifest's dependencies when the kind comes from another crate, or empty.
    pub external_dependency: String,
}
