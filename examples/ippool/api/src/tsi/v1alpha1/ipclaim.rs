//! `IPClaim`.

use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

/// The desired state of an `IPClaim`.
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
    group = "tsi.tiduyun.com",
    version = "v1alpha1",
    kind = "IPClaim",
    plural = "ipclaims",
    singular = "ipclaim",
    namespaced,
    status = "IPClaimStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A claim for one address of an `IPPool`, which it keeps until it is deleted.",
    // What the operator relies on: at most one address is ever reported to a claim.
    validation = Rule::new(
        "!has(oldSelf.status) || !has(oldSelf.status.address) || \
         has(self.status) && has(self.status.address) && self.status.address == oldSelf.status.address"
    ).message("the address of a claim never changes").field_path(".status.address"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "Pool", type_ = "string", json_path = ".spec.pool"),
    printcolumn(name = "Address", type_ = "string", json_path = ".status.address"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].reason",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = ("self == oldSelf", "a claim cannot be changed: create another one"))]
pub struct IPClaimSpec {
    /// The name of the pool.
    #[schemars(length(min = 1, max = 63), extend("example" = "ippool-sample"))]
    pub pool: String,

    /// The family of the address. A pool of both families gives any address to a claim without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<IPFamily>,
}

/// The family of an address.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema, serde::Serialize, serde::Deserialize,
)]
pub enum IPFamily {
    /// An address such as 10.0.0.1.
    IPv4,
    /// An address such as `2001:db8::1`.
    IPv6,
}

/// The observed state of an `IPClaim`.
#[derive(
    kube::KubeSchema, Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct IPClaimStatus {
    /// The address. Once set, it never changes, and no other claim has it for as long as this one exists.
    #[schemars(length(max = 39))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,

    /// The generation of the object that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The current conditions, by type. `Ready` summarizes the others.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}

impl IPClaim {
    /// The address of the claim; `None` while it waits for one.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.status.as_ref()?.address.as_ref()?.parse().ok()
    }
}
