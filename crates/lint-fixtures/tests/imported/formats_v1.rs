//! `Anchor` of `crew.example.com/v1`, from its CRD.
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

use kube::CustomResource;
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Anchor",
    plural = "anchors",
    singular = "anchor",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "An `Anchor`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct AnchorSpec {
    #[schemars(with = "String", extend("format" = "byte"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,

    #[schemars(with = "String", extend("format" = "date-time"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,

    #[schemars(with = "String", extend("format" = "uuid"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,

    #[schemars(with = "String", extend("format" = "ipv4"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,

    #[schemars(with = "String", extend("format" = "int-or-string"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,

    #[schemars(with = "i64", range(min = 0), extend("format" = "uint16"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<i64>,

    #[schemars(with = "Vec<String>", extend("items" = { "format": "date-time", "type": "string" }))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Vec<String>>,

    #[schemars(with = "String", extend("format" = "duration"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<String>,
}

/// The schema of the CRD.
impl JsonSchema for Anchor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Anchor".into()
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
                "spec": AnchorSpec::json_schema(generator)
            }
        })
    }
}
