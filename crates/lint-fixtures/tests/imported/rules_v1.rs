//! `Watch` of `crew.example.com/v1`, from its CRD.
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

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Watch",
    plural = "watches",
    singular = "watch",
    namespaced,
    status = "WatchStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Watch`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = "!has(self.to) || self.from < self.to")]
pub struct WatchSpec {
    #[schemars(with = "String")]
    #[x_kube(validation = ("self == oldSelf", "is immutable"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String>,

    pub from: String,

    #[schemars(with = "Vec<Guard>", length(max = 8))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guards: Option<Vec<Guard>>,

    #[schemars(with = "Once")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<Once>,

    #[schemars(with = "WatchRule")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<WatchRule>,

    #[schemars(with = "String")]
    #[x_kube(validation = ("self != ''", "needs an end"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// The schema of the CRD.
impl JsonSchema for Watch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Watch".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        json_schema!({
            "description": "A watch.",
            "required": ["spec"],
            "title": null,
            "type": "object",
            "x-kubernetes-validations": [
                { "message": "begins with w", "rule": "self.metadata.name.startsWith('w')" },
                { "rule": "self.spec.from.size() < 10" }
            ],
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": { "type": "object" },
                "spec": WatchSpec::json_schema(generator),
                "status": WatchStatus::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WatchStatus {
    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.rank >= 0")
        .message(Message::Expression("'rank of ' + self.name".into()))
        .reason(Reason::FieldValueForbidden)
        .field_path(".rank")
)]
pub struct Guard {
    pub name: String,

    #[schemars(with = "i64", extend("format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!oldSelf.hasValue() || self == oldSelf.value()")
        .message("set once")
        .optional_old_self(true)
)]
pub struct Once {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WatchRule {
    #[schemars(with = "i64", extend("format" = null))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<i64>,
}
