//! `Route` of `crew.example.com/v1`, from its CRD.
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
    kind = "Route",
    plural = "routes",
    singular = "route",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Route`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend(
    "oneOf" = [
        { "required": ["either"] },
        { "required": ["any"] },
        { "not": { "anyOf": [{ "required": ["either"] }, { "required": ["any"] }] } }
    ]
))]
pub struct RouteSpec {
    #[schemars(with = "All")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<All>,

    #[schemars(
        with = "List",
        extend(
            "anyOf" = [
                { "properties": { "a": { "enum": ["x"] } }, "required": ["a"] },
                { "not": { "required": ["a"] }, "required": ["b"] }
            ],
            "contains" = 0,
            "oneOf" = null
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any: Option<List>,

    #[schemars(with = "Either")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub either: Option<Either>,

    #[schemars(with = "Vec<List>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<List>>,

    #[schemars(with = "List", extend("not" = { "required": ["a", "b"] }, "oneOf" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<List>,

    #[schemars(
        with = "String",
        extend(
            "contains" = 0,
            "oneOf" = [{ "pattern": "^a" }, { "enum": ["b", "c"] }, { "format": "ipv4" }]
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The schema of the CRD.
impl JsonSchema for Route {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Route".into()
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
                "spec": RouteSpec::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend(
    "contains" = 0,
    "oneOf" = [{ "properties": { "a": { "enum": ["q"] } } }, { "required": ["b"] }]
))]
pub struct List {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend(
    "allOf" = [
        { "properties": { "a": { "maxLength": 3 } } },
        { "anyOf": [{ "required": ["a"] }, { "maxProperties": 0 }] }
    ]
))]
pub struct All {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("oneOf" = [{ "required": ["sea"] }, { "required": ["land"] }]))]
pub struct Either {
    #[schemars(with = "Land")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub land: Option<Land>,

    #[schemars(with = "Sea")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sea: Option<Sea>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Land {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horse: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sea {
    #[schemars(with = "i64", extend("format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knots: Option<i64>,
}
