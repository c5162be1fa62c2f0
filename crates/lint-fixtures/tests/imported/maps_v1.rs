//! `Deck` of `crew.example.com/v1`, from its CRD.
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
    kind = "Deck",
    plural = "decks",
    singular = "deck",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Deck`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct DeckSpec {
    #[schemars(
        with = "BTreeMap<String, String>",
        extend("additionalProperties" = { "format": "byte", "type": "string" })
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<BTreeMap<String, String>>,

    #[schemars(
        with = "BTreeMap<String, String>",
        extend(
            "additionalProperties" = { "description": "A value.", "type": "string" }
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described: Option<BTreeMap<String, String>>,

    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lists: Option<BTreeMap<String, Vec<String>>>,

    #[schemars(with = "BTreeMap<String, BTreeMap<String, Map>>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maps: Option<BTreeMap<String, BTreeMap<String, Map>>>,

    #[schemars(
        with = "BTreeMap<String, i64>",
        extend("additionalProperties" = { "type": "integer" })
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<BTreeMap<String, i64>>,

    #[schemars(with = "BTreeMap<String, Part>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<BTreeMap<String, Part>>,

    #[schemars(with = "BTreeMap<String, String>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<BTreeMap<String, String>>,
}

/// The schema of the CRD.
impl JsonSchema for Deck {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Deck".into()
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
                "spec": DeckSpec::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    pub a: String,

    #[schemars(with = "i32")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Map {
    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub c: Option<bool>,
}
