//! `Storm` of `crew.example.com/v1`, from its CRD.
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

use kube::CustomResource;
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Storm",
    plural = "storms",
    singular = "storm",
    namespaced,
    status = "StormStatus",
    derive = "Default",
    derive = "PartialEq",
    attr = "cfg_attr(true, serde(default))",
    doc = "A `Storm`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct StormSpec {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eye: Option<String>,
}

/// The schema of the CRD.
impl JsonSchema for Storm {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Storm".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        json_schema!({
            "contains": 0,
            "description": "A storm: bad weather.\n\n    with an indented line",
            "oneOf": [
                { "properties": { "spec": { "required": ["eye"] } } },
                { "required": ["status"] }
            ],
            "title": null,
            "type": "object",
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": {
                    "properties": { "name": { "maxLength": 20, "type": "string" } },
                    "type": "object"
                },
                "spec": StormSpec::json_schema(generator),
                "status": StormStatus::json_schema(generator)
            }
        })
    }
}

/// What is seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StormStatus {
    pub over: bool,
}
