//! `Sail` of `crew.example.com/v1`, from its CRD.
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

use kube::CustomResource;
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Sail",
    plural = "sails",
    singular = "sail",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Sail`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct SailSpec {
    #[schemars(with = "i32", extend("default" = 40))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<i32>,

    #[schemars(with = "String", extend("default" = "white"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,

    #[schemars(with = "String", extend("default" = ""))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,

    #[schemars(with = "BTreeMap<String, String>", extend("default" = {}))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,

    #[schemars(with = "SailMode", extend("default" = "Full"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<SailMode>,

    #[schemars(with = "Needed")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<Needed>,

    #[schemars(with = "String", extend("nullable" = true))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none: Option<String>,

    #[schemars(with = "f64", extend("default" = 1.5, "format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,

    #[schemars(with = "Rig", extend("default" = { "blocks": 1, "ropes": 2 }))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rig: Option<Rig>,

    #[schemars(with = "Vec<String>", extend("default" = ["a", "b"]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,

    #[schemars(with = "bool", extend("default" = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn: Option<bool>,

    #[schemars(with = "bool", extend("default" = true))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
}

/// The schema of the CRD.
impl JsonSchema for Sail {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sail".into()
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
                "spec": SailSpec::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SailMode {
    #[default]
    Reefed,
    Full,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Needed {
    #[schemars(!default, extend("default" = 40))]
    #[serde(default = "default_area")]
    pub area: i32,

    #[schemars(!default, extend("default" = "white"))]
    #[serde(default = "default_color")]
    pub color: String,

    #[schemars(!default, extend("default" = "Full"))]
    #[serde(default = "default_mode")]
    pub mode: SailMode,

    #[schemars(!default, extend("default" = 1, "format" = null))]
    #[serde(default = "default_ratio")]
    pub ratio: f64,

    #[schemars(!default, extend("default" = true))]
    #[serde(default = "default_up")]
    pub up: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rig {
    #[schemars(with = "i64", extend("default" = -3, "format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<i64>,

    #[schemars(with = "i64", extend("default" = 5_000_000_000_i64, "format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ropes: Option<i64>,
}

fn default_area() -> i32 {
    40
}

fn default_color() -> String {
    "white".to_owned()
}

fn default_mode() -> SailMode {
    SailMode::Full
}

fn default_ratio() -> f64 {
    1.0
}

fn default_up() -> bool {
    true
}
