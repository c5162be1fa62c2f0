//! `Crate` of `crew.example.com/v1`, from its CRD.
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
    kind = "Crate",
    plural = "crates",
    singular = "crate",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Crate`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct CrateSpec {
    #[schemars(with = "Half")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half: Option<Half>,

    #[schemars(
        with = "Vec<BTreeMap<String, Value>>",
        extend(
            "items" = {
                "type": "object",
                "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true
            }
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<BTreeMap<String, Value>>>,

    #[schemars(
        with = "BTreeMap<String, Value>",
        extend(
            "additionalProperties" = null,
            "x-kubernetes-embedded-resource" = true,
            "x-kubernetes-preserve-unknown-fields" = true
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<BTreeMap<String, Value>>,

    #[schemars(with = "Other")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Other>,

    #[schemars(with = "Typed")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<Typed>,

    /// All other fields.
    #[schemars(skip)]
    #[serde(flatten)]
    pub other_fields: BTreeMap<String, Value>,
}

/// The schema of the CRD.
impl JsonSchema for Crate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Crate".into()
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
                "spec": CrateSpec::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Half {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,

    /// All other fields.
    #[schemars(skip)]
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Other {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,

    /// All other fields.
    #[schemars(skip)]
    #[serde(flatten)]
    pub other_fields: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-embedded-resource" = true))]
pub struct Typed {
    pub api_version: String,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,

    #[schemars(with = "BTreeMap<String, Value>", extend("additionalProperties" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, Value>>,

    #[schemars(with = "TypedSpec")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<TypedSpec>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TypedSpec {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
}
