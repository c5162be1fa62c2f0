//! `IPPool`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

/// The desired state of an `IPPool`.
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
    kind = "IPPool",
    plural = "ippools",
    singular = "ippool",
    status = "IPPoolStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A pool of IP addresses, from which each `IPClaim` that names it gets one.",
    // The name becomes the value of a label.
    validation = Rule::new("self.metadata.name.size() <= 63").message("the name is longer than 63 characters"),
    validation = Rule::new(
        "oldSelf.?status.?used.orValue(0) == 0 || oldSelf.spec.cidrs.all(old, !isCIDR(old) || \
         self.spec.cidrs.exists(new, isCIDR(new) && cidr(new).containsCIDR(cidr(old))))"
    ).message("addresses are in use: a CIDR can be added or widened, but not taken away").field_path(".spec.cidrs"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "Used", type_ = "integer", json_path = ".status.used"),
    printcolumn(name = "Capacity", type_ = "string", json_path = ".status.capacity"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct IPPoolSpec {
    /// The addresses, as IPv4 and IPv6 CIDRs that do not overlap. They are handed out in this order, the lowest first.
    /// Every address of a CIDR is handed out: a network and a broadcast address, too.
    #[schemars(length(min = 1, max = 16), inner(length(max = 43)), transform = cidr_items)]
    #[x_kube(validation = (
        "self.all(a, !isCIDR(a) || self.exists_one(b, isCIDR(b) && cidr(b).containsCIDR(cidr(a))))",
        "the CIDRs overlap",
    ))]
    pub cidrs: Vec<String>,
}

/// The observed state of an `IPPool`.
#[derive(
    kube::KubeSchema, Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct IPPoolStatus {
    /// The number of addresses, as text: one IPv6 CIDR has more than a JSON number can count. At most 2^128-1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub capacity: String,

    /// The number of addresses that are held for claims.
    #[serde(default)]
    pub used: i64,

    /// The generation of the object that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The current conditions, by type. `Ready` summarizes the others; `Exhausted` is true while no address is free.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}

/// Adds the rules of one CIDR.
fn cidr_items(schema: &mut schemars::Schema) {
    schema.ensure_object()["items"]["x-kubernetes-validations"] = serde_json::json!([
        { "rule": "isCIDR(self)", "message": "is not a CIDR, such as 10.0.0.0/24 or 2001:db8::/64" },
        { "rule": "!isCIDR(self) || cidr(self) == cidr(self).masked()", "message": "has bits set after its prefix" },
    ]);
}
