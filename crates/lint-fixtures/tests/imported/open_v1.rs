//! `Chart` of `crew.example.com/v1`, from its CRD.
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

use kube::CustomResource;
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Chart",
    plural = "charts",
    singular = "chart",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Chart`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct ChartSpec {
    #[schemars(with = "BTreeMap<String, Value>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<BTreeMap<String, Value>>,

    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub any: Value,

    #[schemars(
        with = "Value",
        extend(
            "additionalProperties" = true,
            "contains" = 0,
            "properties" = { "a": { "type": "string" } },
            "type" = "object"
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub both: Option<Value>,

    /// Whatever it is.
    #[schemars(with = "Value", extend("x-kubernetes-preserve-unknown-fields" = true))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described: Option<Value>,

    #[schemars(with = "BTreeMap<String, Value>", extend("additionalProperties" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<BTreeMap<String, Value>>,

    #[schemars(
        with = "Value",
        extend(
            "properties" = { "a": { "type": "string" } },
            "x-kubernetes-preserve-unknown-fields" = true
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Value>,

    #[schemars(
        with = "Vec<Value>",
        extend("items" = { "x-kubernetes-preserve-unknown-fields": true })
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<Value>>,

    #[schemars(
        with = "BTreeMap<String, Value>",
        extend(
            "additionalProperties" = { "x-kubernetes-preserve-unknown-fields": true }
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<BTreeMap<String, Value>>,

    #[schemars(
        with = "BTreeMap<String, Value>",
        extend(
            "additionalProperties" = null,
            "x-kubernetes-preserve-unknown-fields" = true
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<BTreeMap<String, Value>>,
}

/// The schema of the CRD.
impl JsonSchema for Chart {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Chart".into()
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
                "spec": ChartSpec::json_schema(generator)
            }
        })
    }
}
