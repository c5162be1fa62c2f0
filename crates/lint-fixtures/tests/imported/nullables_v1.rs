//! `Rope` of `crew.example.com/v1`, from its CRD.
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
    kind = "Rope",
    plural = "ropes",
    singular = "rope",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Rope`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct RopeSpec {
    #[schemars(with = "String", extend("enum" = ["A", "B", null], "nullable" = true))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enum_: Option<String>,

    #[schemars(
        with = "Vec<String>",
        extend("items" = { "nullable": true, "type": "string" }, "nullable" = true)
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<String>>,

    #[schemars(with = "BTreeMap<String, Map>", extend("nullable" = true))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<BTreeMap<String, Map>>,

    #[schemars(with = "String", extend("nullable" = true))]
    pub needed: Option<String>,

    #[schemars(with = "i32", range(min = 0), extend("nullable" = true))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<i32>,

    #[schemars(with = "Part", extend("nullable" = true))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,

    #[schemars(with = "String", extend("nullable" = true))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The schema of the CRD.
impl JsonSchema for Rope {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rope".into()
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
                "spec": RopeSpec::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("nullable" = true))]
pub struct Map {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    pub a: String,
}
