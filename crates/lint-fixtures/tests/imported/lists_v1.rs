//! `Port` of `crew.example.com/v1`, from its CRD.
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

use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Port",
    plural = "ports",
    singular = "port",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Port`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct PortSpec {
    #[schemars(with = "Vec<Atomic>")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atomic: Option<Vec<Atomic>>,

    #[schemars(
        with = "Vec<Vec<Deep>>",
        extend(
            "items" = {
                "items": { "properties": { "x": { "type": "integer" } }, "type": "object" },
                "maxItems": 2,
                "type": "array"
            }
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deep: Option<Vec<Vec<Deep>>>,

    #[schemars(with = "BTreeMap<String, String>")]
    #[x_kube(merge_strategy = MapMerge::Granular)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granular: Option<BTreeMap<String, String>>,

    #[schemars(with = "Vec<Keyed>")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into(), "protocol".into()]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyed: Option<Vec<Keyed>>,

    #[schemars(with = "Vec<Vec<i32>>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Vec<Vec<i32>>>,

    #[schemars(with = "Selector")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,

    #[schemars(with = "Vec<String>")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Vec<String>>,
}

/// The schema of the CRD.
impl JsonSchema for Port {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Port".into()
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
                "spec": PortSpec::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Atomic {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Keyed {
    pub name: String,

    pub port: i32,

    #[schemars(with = "String", extend("default" = "TCP"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deep {
    #[schemars(with = "i64", extend("format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Selector {
    #[schemars(with = "BTreeMap<String, String>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<BTreeMap<String, String>>,
}
