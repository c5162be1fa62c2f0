//! `Mast` of `crew.example.com/v1`, from its CRD.
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
    kind = "Mast",
    plural = "masts",
    singular = "mast",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Mast`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct MastSpec {
    #[schemars(
        with = "i64",
        range(min = -9_007_199_254_740_992_i64, max = 9_007_199_254_740_992_i64)
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub big: Option<i64>,

    #[schemars(range(min = 1, max = 100_000))]
    pub height: i32,

    #[schemars(
        with = "String",
        extend(
            "pattern" = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)/([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<String>,

    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = "^[a-z]([-a-z0-9]*[a-z0-9])?$")
    )]
    pub name: String,

    #[schemars(
        with = "i64",
        range(min = 0, max = 10),
        extend(
            "exclusiveMaximum" = true,
            "exclusiveMinimum" = true,
            "format" = null,
            "multipleOf" = 2
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<i64>,

    #[schemars(with = "Part")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,

    #[schemars(with = "String", regex(pattern = "^\"\\w+\"$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted: Option<String>,

    #[schemars(with = "f64", extend("format" = null, "maximum" = 1, "minimum" = 0.5))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,

    #[schemars(
        with = "BTreeMap<String, i64>",
        extend(
            "additionalProperties" = { "minimum": 0, "type": "integer" },
            "maxProperties" = 9,
            "minProperties" = 1
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ropes: Option<BTreeMap<String, i64>>,

    #[schemars(
        with = "Vec<String>",
        length(min = 1, max = 3),
        extend("items" = { "maxLength": 5, "type": "string" })
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yards: Option<Vec<String>>,
}

/// The schema of the CRD.
impl JsonSchema for Mast {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mast".into()
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
                "spec": MastSpec::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct Part {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
}
