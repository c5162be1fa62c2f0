//! `Note` of `crew.example.com/v1`, from its CRD.
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

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::CustomResource;
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

/// The fields of a `Note`.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Note",
    plural = "notes",
    singular = "note",
    namespaced,
    no_spec,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Note`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct NoteFields {
    #[schemars(with = "i32", extend("default" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<i32>,

    #[schemars(schema_with = "quantity")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,

    pub text: String,
}

/// The schema of the CRD.
impl JsonSchema for Note {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Note".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let fields = NoteFields::json_schema(generator);
        json_schema!({
            "required": ["text"],
            "title": null,
            "type": "object",
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": { "type": "object" },
                "rank": fields.pointer("/properties/rank"),
                "size": fields.pointer("/properties/size"),
                "text": fields.pointer("/properties/text")
            }
        })
    }
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
