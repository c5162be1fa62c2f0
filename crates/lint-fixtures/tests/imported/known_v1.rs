//! `Berth` of `crew.example.com/v1`, from its CRD.
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

use k8s_openapi::api::core::v1::{ResourceRequirements, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Berth",
    plural = "berths",
    singular = "berth",
    namespaced,
    status = "BerthStatus",
    derive = "Default",
    derive = "PartialEq",
    attr = "cfg_attr(true, serde(default))",
    doc = "A `Berth`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct BerthSpec {
    #[schemars(schema_with = "by_name")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_name: Option<BTreeMap<String, ResourceRequirements>>,

    /// Who may be on deck.
    #[schemars(schema_with = "crew")]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crew: Option<LabelSelector>,

    #[schemars(schema_with = "crew")]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guests: Option<LabelSelector>,

    #[schemars(with = "Vec<Nullable>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nullable: Option<Vec<Nullable>>,

    #[schemars(with = "Strict")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<Strict>,

    #[schemars(with = "BerthToleration")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration: Option<BerthToleration>,

    #[schemars(schema_with = "tolerations", length(max = 3))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerations: Option<Vec<Toleration>>,
}

/// The schema of the CRD.
impl JsonSchema for Berth {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Berth".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        json_schema!({
            "title": null,
            "type": "object",
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": { "type": "object" },
                "spec": BerthSpec::json_schema(generator),
                "status": BerthStatus::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BerthStatus {
    #[schemars(schema_with = "conditions")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Nullable {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,

    #[schemars(with = "String", extend("nullable" = true))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,

    #[schemars(with = "i64")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Strict {
    /// matchLabels is a map of keys and values.
    #[schemars(with = "BTreeMap<String, String>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<BTreeMap<String, String>>,

    #[schemars(with = "i64", extend("format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BerthToleration {
    #[schemars(with = "i64", extend("format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<i64>,
}

fn by_name(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({
        "additionalProperties": {
            "properties": {
                "claims": {
                    "items": {
                        "properties": {
                            "name": { "type": "string" },
                            "request": { "type": "string" }
                        },
                        "required": ["name"],
                        "type": "object"
                    },
                    "type": "array"
                },
                "limits": {
                    "additionalProperties": {
                        "anyOf": [{ "type": "integer" }, { "type": "string" }],
                        "contains": 0,
                        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
                        "x-kubernetes-int-or-string": true
                    },
                    "type": "object"
                },
                "requests": {
                    "additionalProperties": {
                        "anyOf": [{ "type": "integer" }, { "type": "string" }],
                        "contains": 0,
                        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
                        "x-kubernetes-int-or-string": true
                    },
                    "type": "object"
                }
            },
            "type": "object"
        },
        "type": "object"
    })
}

fn crew(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({
        "properties": {
            "matchExpressions": {
                "description": "matchExpressions is a list of label selectors.",
                "items": {
                    "properties": {
                        "key": { "type": "string" },
                        "operator": { "type": "string" },
                        "values": {
                            "items": { "type": "string" },
                            "type": "array",
                            "x-kubernetes-list-type": "atomic"
                        }
                    },
                    "required": ["key", "operator"],
                    "type": "object"
                },
                "type": "array",
                "x-kubernetes-list-type": "atomic"
            },
            "matchLabels": {
                "additionalProperties": { "type": "string" },
                "description": "matchLabels is a map of keys and values.",
                "type": "object"
            }
        },
        "type": "object"
    })
}

fn tolerations(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({
        "items": {
            "properties": {
                "effect": { "type": "string" },
                "key": { "type": "string" },
                "operator": { "type": "string" },
                "tolerationSeconds": { "format": "int64", "type": "integer" },
                "value": { "type": "string" }
            },
            "type": "object"
        },
        "type": "array"
    })
}

fn conditions(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    json_schema!({
        "items": {
            "properties": {
                "lastTransitionTime": { "format": "date-time", "type": "string" },
                "message": { "maxLength": 32_768, "type": "string" },
                "observedGeneration": { "format": "int64", "minimum": 0, "type": "integer" },
                "reason": { "minLength": 1, "type": "string" },
                "status": { "enum": ["True", "False", "Unknown"], "type": "string" },
                "type": { "maxLength": 316, "type": "string" }
            },
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "type": "object"
        },
        "type": "array"
    })
}
