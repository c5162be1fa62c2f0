//! `Poem` of `crew.example.com/v1`, from its CRD.
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

/// A poem,
/// in lines.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Poem",
    plural = "poems",
    singular = "poem",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Poem`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct PoemSpec {
    /// Example:
    #[schemars(with = "String", extend("description" = "Example:\n\n```yaml\na: b\n```\n"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,

    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,

    #[schemars(with = "String", extend("description" = "#1 of all"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,

    #[schemars(with = "String", extend("description" = "# Title\n\nText"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,

    #[schemars(with = "String", extend("description" = "zero\u{200b}width and\ttab"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<String>,

    /// First:
    #[schemars(with = "String", extend("description" = "First:\n\n    fn main() {}"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indented: Option<String>,

    #[schemars(with = "Vec<PoemItem>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Vec<PoemItem>>,

    /// - one
    /// - two
    ///   more
    #[schemars(
        with = "String",
        extend(
            "description" = "- one\n- two\n  more\n\nDeprecated: use [other] <b> https://example.com."
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,

    /// / and */ and \ and "quotes"
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slash: Option<String>,

    /// leading
    #[schemars(with = "String", extend("description" = "  leading"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spaces: Option<String>,

    #[schemars(with = "String", extend("example" = "x", "title" = "A title"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub titled: Option<String>,

    #[schemars(with = "String", extend("description" = "ends with a space \nand goes on"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trailing: Option<String>,

    /// naïve – “quoted” ü
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unicode: Option<String>,
}

/// The schema of the CRD.
impl JsonSchema for Poem {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Poem".into()
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
                "spec": PoemSpec::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("description" = "# An item"))]
pub struct PoemItem {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
}
