//! `Fleet` of `crew.example.com/v1`, from its CRD.
#![allow(
    clippy::doc_lazy_continuation,
    clippy::doc_link_with_quotes,
    clippy::doc_markdown,
    clippy::doc_nested_refdefs,
    clippy::doc_overindented_list_items,
    clippy::enum_variant_names,
    clippy::struct_excessive_bools,
    clippy::struct_field_names,
    clippy::tabs_in_doc_comments,
    clippy::too_many_lines,
    clippy::unreadable_literal,
    rustdoc::bare_urls,
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = "names, descriptions and schemas are those of the CRD"
)]

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Fleet",
    plural = "fleets",
    singular = "fleet",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Fleet`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct FleetSpec {
    #[schemars(with = "Vec<Boat>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boats: Option<Vec<Boat>>,

    #[schemars(with = "Config")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Config>,

    /// The first.
    #[schemars(with = "Boat")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flagship: Option<Boat>,

    #[schemars(with = "Boat", extend("description" = null))]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fourth: Option<Boat>,

    #[schemars(with = "FleetMode")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<FleetMode>,

    #[schemars(with = "BTreeMap<String, Named>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<BTreeMap<String, Named>>,

    #[schemars(with = "Port")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,

    /// The second.
    #[schemars(with = "Boat")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Boat>,

    #[schemars(with = "Vec<Ship>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ships: Option<Vec<Ship>>,

    #[schemars(with = "Starboard")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starboard: Option<Starboard>,

    #[schemars(with = "Named")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub third: Option<Named>,
}

/// The schema of the CRD.
impl JsonSchema for Fleet {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fleet".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        json_schema!({
            "required": ["spec"],
            "title": null,
            "type": "object",
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": { "type": "object" },
                "spec": FleetSpec::json_schema(generator)
            }
        })
    }
}

/// One of the boats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Boat {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,

    /// The name.
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,

    /// The name.
    pub name: String,
}

/// One of the ships.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ship {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,

    /// The name.
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub z: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FleetMode {
    #[default]
    A,
    B,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    #[schemars(with = "PortConfig")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<PortConfig>,

    #[schemars(with = "FleetMode")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<FleetMode>,

    #[schemars(with = "Named")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ref_: Option<Named>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Starboard {
    #[schemars(with = "StarboardConfig")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<StarboardConfig>,

    #[schemars(with = "StarboardMode")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<StarboardMode>,

    #[schemars(with = "Named")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ref_: Option<Named>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PortConfig {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StarboardConfig {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StarboardMode {
    #[default]
    C,
}
