//! Version `v2` of `crew.example.com`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

/// The desired state of a `Captain`.
#[derive(
    kube::CustomResource,
    kube::KubeSchema,
    Clone,
    Debug,
    Default,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
)]
#[kube(
    group = "crew.example.com",
    version = "v2",
    kind = "Captain",
    plural = "captains",
    namespaced,
    status = "CaptainStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Captain`."
)]
#[serde(rename_all = "camelCase")]
pub struct CaptainSpec {
    /// The image that each Pod runs.
    pub image: String,

    /// The desired number of Pods.
    pub replicas: i32,

    /// The `ConfigMap` with the orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders: Option<String>,

    /// When the watch changes, as a cron schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
}

/// The observed state of a `Captain`.
#[derive(
    kube::KubeSchema, Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct CaptainStatus {
    /// The number of available Pods.
    #[serde(default)]
    pub available_replicas: i32,

    /// One word for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,

    /// The generation of the object that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The current conditions, by type. `Ready` summarizes the others.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
