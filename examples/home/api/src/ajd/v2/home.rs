//! `Home`.

use k8s_openapi::apimachinery::pkg::{api::resource::Quantity, apis::meta::v1 as meta};

/// From 5 to 30.9, in tenths.
const DEGREES: &str = r"^([5-9]|[12][0-9]|30)(\.[0-9])?$";

/// The desired state of a `Home`.
#[derive(
    kube::CustomResource,
    kube::KubeSchema,
    Clone,
    Debug,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
)]
#[kube(
    group = "ajd.my.domain",
    version = "v2",
    kind = "Home",
    plural = "homes",
    singular = "home",
    namespaced,
    status = "HomeStatus",
    derive = "PartialEq",
    doc = "A home with a thermostat in each room.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "Heating", type_ = "string", json_path = ".status.heating"),
    printcolumn(name = "City", type_ = "string", json_path = ".spec.address.city"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct HomeSpec {
    /// The owners. Default: the user who creates the `Home`. `v1` has only the first one.
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[schemars(length(max = 10), inner(length(min = 1)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,

    /// Where it is. In `v1` this is one text.
    pub address: Address,

    /// The rooms. In `v1` these are only names.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[schemars(length(max = 50))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rooms: Vec<Room>,

    /// The temperature of rooms without their own, in degrees Celsius.
    // A number or a text. kube's schemas allow null for such fields, which the type does not.
    #[schemars(extend("pattern" = DEGREES, "minimum" = 5, "maximum" = 30, "nullable" = false))]
    #[serde(default = "comfortable")]
    pub temperature: Quantity,

    /// Until then nobody is at home, and the heating only prevents frost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_until: Option<meta::Time>,
}

fn comfortable() -> Quantity {
    Quantity("20".to_owned())
}

/// An address.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// The street, with the number of the house.
    #[schemars(regex(pattern = "^.+$"))]
    pub street: String,

    /// The city. Without a comma, so that both versions have the same addresses.
    #[schemars(regex(pattern = "^[^,]+$"), extend("example" = "Galway"))]
    pub city: String,
}

/// A room.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    /// The name.
    #[schemars(length(max = 63), regex(pattern = "^[a-z][a-z0-9-]*$"))]
    pub name: String,

    /// The temperature, in degrees Celsius. Default: that of the home.
    #[schemars(extend("pattern" = DEGREES, "minimum" = 5, "maximum" = 30))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Quantity>,
}

/// The observed state of a `Home`.
#[derive(
    kube::KubeSchema, Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct HomeStatus {
    /// `Comfort`, or `Away` while nobody is at home.
    #[serde(default)]
    pub heating: String,

    /// The generation of the object that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The current conditions, by type. `Ready` summarizes the others.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
