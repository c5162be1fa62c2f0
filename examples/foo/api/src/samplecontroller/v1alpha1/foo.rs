//! `Foo`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

/// The desired state of a `Foo`.
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
    group = "samplecontroller.c9g.io",
    version = "v1alpha1",
    kind = "Foo",
    plural = "foos",
    singular = "foo",
    namespaced,
    status = "FooStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Foo`.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(
        name = "Available",
        type_ = "integer",
        json_path = ".status.availableReplicas"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct FooSpec {
    /// The image that each Pod runs.
    pub image: String,

    /// The desired number of Pods.
    #[schemars(range(min = 0))]
    pub replicas: i32,
}

/// The observed state of a `Foo`.
#[derive(
    kube::KubeSchema, Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct FooStatus {
    /// The number of available Pods.
    #[serde(default)]
    pub available_replicas: i32,

    /// The generation of the object that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The current conditions, by type. `Ready` summarizes the others.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
