//! `Hold` of `crew.example.com/v1`, from its CRD.
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

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Hold",
    plural = "holds",
    singular = "hold",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Hold`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct HoldSpec {
    #[schemars(
        with = "Value",
        extend(
            "format" = "int64",
            "nullable" = null,
            "type" = "integer",
            "x-kubernetes-int-or-string" = true
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large: Option<Value>,

    #[schemars(schema_with = "int_or_string")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<IntOrString>,

    #[schemars(schema_with = "quantities")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<BTreeMap<String, Quantity>>,

    #[schemars(
        with = "Vec<IntOrString>",
        extend(
            "items" = {
                "anyOf": [{ "type": "integer" }, { "type": "string" }],
                "contains": 0,
                "x-kubernetes-int-or-string": true
            }
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<IntOrString>>,

    /// A number or a percentage.
    #[schemars(schema_with = "int_or_string")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<IntOrString>,

    #[schemars(schema_with = "quantity")]
    pub needed: Quantity,

    #[schemars(schema_with = "int_or_string", extend("nullable" = true))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nullable: Option<IntOrString>,

    #[schemars(schema_with = "int_or_string", extend("pattern" = "^[0-9]+%?$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<IntOrString>,

    #[schemars(with = "Part")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,

    #[schemars(schema_with = "int_or_string", extend("anyOf" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<IntOrString>,

    /// How much fits in.
    #[schemars(schema_with = "quantity")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,

    #[schemars(
        schema_with = "int_or_string",
        extend(
            "allOf" = [
                { "anyOf": [{ "type": "integer" }, { "type": "string" }], "contains": 0 },
                { "pattern": "^a" }
            ],
            "anyOf" = null
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sized: Option<IntOrString>,
}

/// The schema of the CRD.
impl JsonSchema for Hold {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Hold".into()
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
                "spec": HoldSpec::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    #[schemars(schema_with = "quantity")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Quantity>,

    #[schemars(schema_with = "quantities")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<BTreeMap<String, Quantity>>,
}

fn quantities(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({ "type": "object", "additionalProperties": quantity(generator) })
}

fn quantity(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "contains": 0,
        "nullable": null,
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        "x-kubernetes-int-or-string": true
    })
}

fn int_or_string(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "contains": 0,
        "nullable": null,
        "x-kubernetes-int-or-string": true
    })
}
