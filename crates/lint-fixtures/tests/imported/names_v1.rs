//! `Mate` of `crew.example.com/v1`, from its CRD.
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
    kind = "Mate",
    plural = "mates",
    singular = "mate",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Mate`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct MateSpec {
    #[schemars(with = "String")]
    #[serde(rename = "9lives", default, skip_serializing_if = "Option::is_none")]
    pub field_9lives: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "FooBar", default, skip_serializing_if = "Option::is_none")]
    pub foo_bar: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "HTTPGet", default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "Self", default, skip_serializing_if = "Option::is_none")]
    pub self_: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "URL", default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "URLPrefix", default, skip_serializing_if = "Option::is_none")]
    pub url_prefix: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "_", default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a1_b2: Option<String>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub async_: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "clusterIP", default, skip_serializing_if = "Option::is_none")]
    pub cluster_ip: Option<String>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crate_: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "foo-bar", default, skip_serializing_if = "Option::is_none")]
    pub foo_bar2: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "fooBar", default, skip_serializing_if = "Option::is_none")]
    pub foo_bar3: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "foo_bar", default, skip_serializing_if = "Option::is_none")]
    pub foo_bar4: Option<String>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_: Option<String>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "podIPs", default, skip_serializing_if = "Option::is_none")]
    pub pod_ips: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "self", default, skip_serializing_if = "Option::is_none")]
    pub self_2: Option<String>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,

    #[schemars(with = "String")]
    #[serde(rename = "x.y/z", default, skip_serializing_if = "Option::is_none")]
    pub x_y_z: Option<String>,
}

/// The schema of the CRD.
impl JsonSchema for Mate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mate".into()
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
                "spec": MateSpec::json_schema(generator)
            }
        })
    }
}
