//! `Wind` of `crew.example.com/v1`, from its CRD.
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

/// The fields of a `Wind`.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Wind",
    plural = "winds",
    singular = "wind",
    namespaced,
    no_spec,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Wind`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct WindFields {
    pub spec: WindSpec,

    #[schemars(with = "WindStatus")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_: Option<WindStatus>,
}

/// The schema of the CRD.
impl JsonSchema for Wind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Wind".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let fields = WindFields::json_schema(generator);
        json_schema!({
            "required": ["spec"],
            "title": null,
            "type": "object",
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": { "type": "object" },
                "spec": fields.pointer("/properties/spec"),
                "status": fields.pointer("/properties/status")
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindSpec {
    pub force: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WindStatus {
    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gusts: Option<bool>,
}
