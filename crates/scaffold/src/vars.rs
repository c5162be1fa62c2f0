//! The variables that templates may use.

use serde::Serialize;
use serde_json::Value;

/// The variables of every template: one flat struct. Variables without a value are empty.
#[derive(Clone, Debug, Default, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that templates ask for, each by itself"
)]
pub struct Vars {
    /// kbr's own version.
    pub kbr_version: String,
    /// The shell command with which workflows install kbr, or empty: [`crate::install::command`].
    pub kbr_install: String,
    /// `captains-operator`: the root package and its binary.
    pub project: String,
    /// `captains-operator`: what the names of objects begin with. The project's name, unless `[names]` of PROJECT has another one, as
    /// for the next four.
    pub prefix: String,
    /// `<prefix>-controller-manager`: the operator's Deployment.
    pub deployment: String,
    /// Its `ServiceAccount`, with the same name.
    pub service_account: String,
    /// `manager`: the operator's container.
    pub container: String,
    /// `<project>.<domain>`: the name of the Lease.
    pub lease: String,
    /// A URL for the manifest's `repository`, from `--repo`, or empty.
    pub repository: String,
    /// Copyright owner, or empty.
    pub owner: String,
    /// `Apache-2.0`, `MIT` or empty.
    pub license: String,
    /// `<project>-system`.
    pub namespace: String,
    /// `<project>.<domain>`.
    pub manager_id: String,
    /// Whether the library is in the project's `third_party/`.
    pub vendored: bool,

    /// `crew`: the `--group` word, or the full group if there is no domain.
    pub group: String,
    /// `crew.example.com`.
    pub full_group: String,
    /// `crew`: the module of the group in the `api` crate.
    pub group_module: String,
    /// `v1`.
    pub version: String,
    /// `Captain`.
    pub kind: String,
    /// `a`, or `an` before the kind in a sentence.
    pub article: &'static str,
    /// `captain`: the kind in lower case, as kubectl uses it; also the name of the sample.
    pub kind_lower: String,
    /// `captain`, or `type_` if the word is a keyword of Rust: the kind's file and module in the `api` crate.
    pub kind_module: String,
    /// `captains`.
    pub plural: String,
    /// `captain`.
    pub singular: String,
    /// The table `[[api]]` of the kind, by key: `{{ api.short_names }}`. A key needs no separate variable.
    pub api: Value,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether this is the storage version: the first version of its kind that was created.
    pub storage: bool,
    /// `false` for built-in and external kinds.
    pub own_kind: bool,
    /// Whether `config/samples` has an object of the kind.
    pub has_sample: bool,

    /// `captain`: the controller's name in logs, metrics and field managers.
    pub controller: String,
    /// `captain`: its file and module in `src/controllers`.
    pub controller_module: String,
    /// `api::crew::v1::Captain`, `k8s_openapi::api::apps::v1::Deployment`.
    pub type_path: String,
    /// `Captain`, or an alias if the controller already uses that name (`ActionKind`).
    pub type_name: String,
    /// The complete `use` line for `type_path`: `use api::crew::v1::Captain;`.
    pub type_use: String,
    /// `crew_v1_captain`: the file of the webhooks and their module in `src/webhooks`.
    pub webhook_module: String,
    /// `// +kbr:webhook:path=…` of the defaulting webhook, or empty for none.
    pub mutating_marker: String,
    /// `// +kbr:webhook:path=…` of the validating webhook, or empty for none.
    pub validating_marker: String,
    /// The path of the defaulting webhook, if it is not the default.
    pub defaulting_path: String,
    /// The path of the validating webhook, if it is not the default.
    pub validation_path: String,
    /// `v2`: the hub version, to and from which `version` is converted.
    pub hub_version: String,
    /// `CaptainV1`: the alias of the spoke version in the hub's file.
    pub spoke_alias: String,
    /// `Captain`, or an alias if the conversion already uses that name (`ResultKind`).
    pub spoke_type: String,
    /// The external crate that defines the kind, or empty.
    pub external_crate: String,
    /// The line for the root manifest's dependencies if the kind is external, or empty.
    pub external_dependency: String,
}
