//! `Log` of `crew.example.com/v1`, from its CRD.
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

/// The fields of a `Log`.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Log",
    plural = "logs",
    singular = "log",
    namespaced,
    no_spec,
    status = "LogStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Log`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct LogFields {
    /// The lines.
    pub data: BTreeMap<String, String>,

    #[schemars(with = "Owner")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,

    #[schemars(with = "LogSpec")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<LogSpec>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}

/// The schema of the CRD.
impl JsonSchema for Log {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Log".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let fields = LogFields::json_schema(generator);
        json_schema!({
            "description": "A log.",
            "required": ["data"],
            "title": null,
            "type": "object",
            "properties": {
                "apiVersion": { "type": "string" },
                "data": fields.pointer("/properties/data"),
                "kind": { "type": "string" },
                "metadata": { "type": "object" },
                "owner": fields.pointer("/properties/owner"),
                "spec": fields.pointer("/properties/spec"),
                "status": LogStatus::json_schema(generator),
                "type": fields.pointer("/properties/type")
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogStatus {
    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogSpec {
    #[schemars(with = "i32")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<i32>,
}
