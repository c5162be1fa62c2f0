//! `Harbor` of `crew.example.com/v1`, from its CRD.
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
    kind = "Harbor",
    plural = "harbors",
    singular = "haven",
    shortname = "hb",
    shortname = "hbr",
    category = "all",
    category = "crew",
    status = "HarborStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Harbor`.",
    schema = "manual",
    annotation(
        "api-approved.kubernetes.io",
        "https://github.com/kubernetes/kubernetes/pull/1"
    ),
    annotation("example.com/note", "a \"quoted\" text"),
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    selectable = ".spec.class",
    printcolumn(
        name = "Class",
        type_ = "string",
        json_path = ".spec.class",
        description = "The class of the harbor, which decides what ships may enter."
    ),
    printcolumn(
        name = "Replicas",
        type_ = "integer",
        json_path = ".spec.replicas",
        format = "int32",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct HarborSpec {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,

    #[schemars(with = "i32", extend("default" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

/// The schema of the CRD.
impl JsonSchema for Harbor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Harbor".into()
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
                "spec": HarborSpec::json_schema(generator),
                "status": HarborStatus::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarborStatus {
    #[schemars(with = "i32")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}
