//! Types that several kinds of `crew.example.com/v1` share, from their CRDs.
//!
//! `contains` is not part of the CRD: it keeps kube from rewriting the `anyOf` or `oneOf` beside it.
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

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

/// What is known of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    pub status: String,

    /// What the condition is about.
    pub type_: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Harbor {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,

    /// The name of the harbor.
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mate {
    pub name: String,

    #[schemars(!default, extend("default" = "Mate"))]
    #[serde(default = "default_rank")]
    pub rank: Rank,

    #[schemars(schema_with = "int_or_string")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rations: Option<IntOrString>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = "self.water > 0")]
pub struct Crew {
    #[schemars(with = "BTreeMap<String, String>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<BTreeMap<String, String>>,

    #[schemars(with = "Vec<Mate>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mates: Option<Vec<Mate>>,

    #[schemars(with = "i64", extend("format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub water: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    #[default]
    Fast,
    Slow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Rank {
    #[default]
    Mate,
    Cook,
}

fn default_rank() -> Rank {
    Rank::Mate
}

fn int_or_string(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "contains": 0,
        "nullable": null,
        "x-kubernetes-int-or-string": true
    })
}
