//! `Schema` of `crew.example.com/v1`, from its CRD.
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

/// The fields of a `Schema`.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Schema",
    plural = "schemas",
    singular = "schema",
    namespaced,
    no_spec,
    status = "SchemaStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Schema`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct SchemaFields {
    /// The field 0.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field0: Option<String>,

    /// The field 1.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field1: Option<String>,

    /// The field 10.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field10: Option<String>,

    /// The field 11.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field11: Option<String>,

    /// The field 12.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field12: Option<String>,

    /// The field 13.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field13: Option<String>,

    /// The field 14.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field14: Option<String>,

    /// The field 15.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field15: Option<String>,

    /// The field 16.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field16: Option<String>,

    /// The field 17.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field17: Option<String>,

    /// The field 18.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field18: Option<String>,

    /// The field 19.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field19: Option<String>,

    /// The field 2.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field2: Option<String>,

    /// The field 20.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field20: Option<String>,

    /// The field 21.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field21: Option<String>,

    /// The field 22.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field22: Option<String>,

    /// The field 23.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field23: Option<String>,

    /// The field 24.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field24: Option<String>,

    /// The field 25.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field25: Option<String>,

    /// The field 26.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field26: Option<String>,

    /// The field 27.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field27: Option<String>,

    /// The field 28.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field28: Option<String>,

    /// The field 29.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field29: Option<String>,

    /// The field 3.
    pub field3: String,

    /// The field 30.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field30: Option<String>,

    /// The field 31.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field31: Option<String>,

    /// The field 32.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field32: Option<String>,

    /// The field 33.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field33: Option<String>,

    /// The field 34.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field34: Option<String>,

    /// The field 35.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field35: Option<String>,

    /// The field 36.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field36: Option<String>,

    /// The field 37.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field37: Option<String>,

    /// The field 38.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field38: Option<String>,

    /// The field 39.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field39: Option<String>,

    /// The field 4.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field4: Option<String>,

    /// The field 5.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field5: Option<String>,

    /// The field 6.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field6: Option<String>,

    /// The field 7.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field7: Option<String>,

    /// The field 8.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field8: Option<String>,

    /// The field 9.
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field9: Option<String>,
}

/// The schema of the CRD.
impl JsonSchema for Schema {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Schema".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let fields = SchemaFields::json_schema(generator);
        json_schema!({
            "required": ["field3"],
            "title": null,
            "type": "object",
            "properties": merged(serde_json::json!({
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": { "type": "object" },
                "status": SchemaStatus::json_schema(generator)
            }), &fields)
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchemaStatus {
    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<bool>,
}

/// The properties of the object: `own`, and those of the struct.
fn merged(mut own: serde_json::Value, fields: &schemars::Schema) -> serde_json::Value {
    let properties = fields
        .pointer("/properties")
        .and_then(serde_json::Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        own[name] = schema.clone();
    }
    own
}
