//! `Buoy` of `crew.example.com/v1`, from its CRD.
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

/// The fields of a `Buoy`.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Buoy",
    plural = "buoys",
    singular = "buoy",
    namespaced,
    no_spec,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Buoy`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct BuoyFields {
    /// All other fields.
    #[schemars(skip)]
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The schema of the CRD.
impl JsonSchema for Buoy {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Buoy".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        json_schema!({
            "title": null,
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
        })
    }
}
