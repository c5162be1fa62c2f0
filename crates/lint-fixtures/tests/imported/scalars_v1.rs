//! `Ship` of `crew.example.com/v1`, from its CRD.
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

use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

/// The desired state of a ship.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Ship",
    plural = "ships",
    singular = "ship",
    namespaced,
    status = "ShipStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Ship`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct ShipSpec {
    /// Whether there are guns.
    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub armed: Option<bool>,

    #[schemars(with = "f64")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beam: Option<f64>,

    #[schemars(with = "i64", extend("format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crew: Option<i64>,

    #[schemars(with = "f64", extend("format" = "float"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<f64>,

    /// In metres.
    ///
    /// Without the bowsprit.
    #[schemars(with = "f64", extend("format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,

    /// How many.
    pub masts: i32,

    /// The name at the bow.
    pub name: String,

    #[schemars(with = "Nested")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested: Option<Nested>,

    #[schemars(with = "i64")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tons: Option<i64>,
}

/// The schema of the CRD.
impl JsonSchema for Ship {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ship".into()
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
                "spec": ShipSpec::json_schema(generator),
                "status": ShipStatus::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShipStatus {
    #[schemars(with = "Vec<Condition>")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,

    #[schemars(with = "i64")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,

    #[schemars(with = "String", length(max = 32_768))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    #[schemars(with = "i64", range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    pub status: ConditionStatus,

    pub type_: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Nested {
    #[schemars(with = "Deep")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deep: Option<Deep>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deep {
    pub deeper: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    #[default]
    True,
    False,
    Unknown,
}
