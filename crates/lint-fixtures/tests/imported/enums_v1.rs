//! `Signal` of `crew.example.com/v1`, from its CRD.
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
    kind = "Signal",
    plural = "signals",
    singular = "signal",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Signal`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct SignalSpec {
    #[schemars(with = "Again")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,

    #[schemars(
        with = "Value",
        extend("enum" = ["a", 1], "x-kubernetes-preserve-unknown-fields" = true)
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any: Option<Value>,

    #[schemars(with = "Case")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<Case>,

    #[schemars(with = "Empty")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<Empty>,

    #[schemars(with = "i64", extend("enum" = [1, 2, 3], "format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<i64>,

    #[schemars(with = "Vec<List>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<List>>,

    #[schemars(with = "BTreeMap<String, Map>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<BTreeMap<String, Map>>,

    pub mode: Again,

    #[schemars(with = "Odd")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odd: Option<Odd>,

    #[schemars(with = "One")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one: Option<One>,
}

/// The schema of the CRD.
impl JsonSchema for Signal {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Signal".into()
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
                "spec": SignalSpec::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum List {
    #[default]
    A,
    B,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Map {
    #[default]
    #[serde(rename = "x")]
    X,
    #[serde(rename = "z")]
    Z,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Again {
    #[default]
    Day,
    Night,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Case {
    #[default]
    #[serde(rename = "up")]
    UpLower,
    #[serde(rename = "UP")]
    Up,
    #[serde(rename = "Up")]
    Up2,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Empty {
    #[default]
    #[serde(rename = "")]
    Empty,
    #[serde(rename = "on")]
    On,
    #[serde(rename = "off")]
    Off,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Odd {
    #[default]
    #[serde(rename = "=")]
    Value1,
    #[serde(rename = "!=")]
    Value2,
    #[serde(rename = "10.0")]
    V100,
    #[serde(rename = "a b")]
    AB,
    #[serde(rename = "Self")]
    ItSelf,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum One {
    #[default]
    Only,
}
