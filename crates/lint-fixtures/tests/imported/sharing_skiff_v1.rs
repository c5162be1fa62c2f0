//! `Skiff` of `crew.example.com/v1`, from its CRD.
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

use super::shared_types::{Condition, Crew, Harbor, Mode};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Skiff",
    plural = "skiffs",
    singular = "skiff",
    namespaced,
    status = "SkiffStatus",
    derive = "Default",
    derive = "PartialEq",
    attr = "cfg_attr(true, serde(default))",
    doc = "A `Skiff`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct SkiffSpec {
    #[schemars(with = "Crew")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crew: Option<Crew>,

    #[schemars(with = "Flag")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,

    /// Where it goes.
    #[schemars(with = "Harbor")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harbor: Option<Harbor>,

    #[schemars(with = "Vec<Harbor>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads: Option<Vec<Harbor>>,

    #[schemars(with = "Mode", extend("default" = "Fast"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// The schema of the CRD.
impl JsonSchema for Skiff {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Skiff".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        json_schema!({
            "title": null,
            "type": "object",
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": { "type": "object" },
                "spec": SkiffSpec::json_schema(generator),
                "status": SkiffStatus::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkiffStatus {
    #[schemars(with = "Vec<Condition>")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Flag {
    #[default]
    Red,
    Blue,
}
