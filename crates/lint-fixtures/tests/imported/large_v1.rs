//! `Net` of `crew.example.com/v1`, from its CRD.
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
    kind = "Net",
    plural = "nets",
    singular = "net",
    namespaced,
    derive = "Default",
    derive = "PartialEq",
    doc = "A `Net`.",
    schema = "manual"
)]
#[serde(rename_all = "camelCase")]
pub struct NetSpec {
    #[schemars(with = "Code")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,

    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag0: Option<bool>,

    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag1: Option<bool>,

    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag2: Option<bool>,

    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag3: Option<bool>,

    #[schemars(with = "bool")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag4: Option<bool>,

    #[schemars(
        with = "i64",
        extend(
            "enum" = json("[
  0,
  1,
  2,
  3,
  4,
  5,
  6,
  7,
  8,
  9,
  10,
  11,
  12,
  13,
  14,
  15,
  16,
  17,
  18,
  19,
  20,
  21,
  22,
  23,
  24,
  25,
  26,
  27,
  28,
  29,
  30,
  31,
  32,
  33,
  34,
  35,
  36,
  37,
  38,
  39,
  40,
  41,
  42,
  43,
  44,
  45,
  46,
  47,
  48,
  49,
  50,
  51,
  52,
  53,
  54,
  55,
  56,
  57,
  58,
  59,
  60,
  61,
  62,
  63,
  64,
  65,
  66,
  67,
  68,
  69,
  70,
  71,
  72,
  73,
  74,
  75,
  76,
  77,
  78,
  79,
  80,
  81,
  82,
  83,
  84,
  85,
  86,
  87,
  88,
  89,
  90,
  91,
  92,
  93,
  94,
  95,
  96,
  97,
  98,
  99
]"),
            "format" = null
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<i64>,

    #[schemars(with = "Vec<RequiredDuringSchedulingIgnoredDuringExecutionOfEverything>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_during_scheduling_ignored_during_execution_of_everything:
        Option<Vec<RequiredDuringSchedulingIgnoredDuringExecutionOfEverything>>,

    #[schemars(
        with = "BTreeMap<String, Value>",
        extend(
            "additionalProperties" = null,
            "default" = json(r#"{
  "key0": {
    "a": [
      0
    ],
    "b": "\"\u0023"
  },
  "key1": {
    "a": [
      1
    ],
    "b": "\"\u0023"
  },
  "key10": {
    "a": [
      10
    ],
    "b": "\"\u0023"
  },
  "key11": {
    "a": [
      11
    ],
    "b": "\"\u0023"
  },
  "key12": {
    "a": [
      12
    ],
    "b": "\"\u0023"
  },
  "key13": {
    "a": [
      13
    ],
    "b": "\"\u0023"
  },
  "key14": {
    "a": [
      14
    ],
    "b": "\"\u0023"
  },
  "key15": {
    "a": [
      15
    ],
    "b": "\"\u0023"
  },
  "key16": {
    "a": [
      16
    ],
    "b": "\"\u0023"
  },
  "key17": {
    "a": [
      17
    ],
    "b": "\"\u0023"
  },
  "key18": {
    "a": [
      18
    ],
    "b": "\"\u0023"
  },
  "key19": {
    "a": [
      19
    ],
    "b": "\"\u0023"
  },
  "key2": {
    "a": [
      2
    ],
    "b": "\"\u0023"
  },
  "key3": {
    "a": [
      3
    ],
    "b": "\"\u0023"
  },
  "key4": {
    "a": [
      4
    ],
    "b": "\"\u0023"
  },
  "key5": {
    "a": [
      5
    ],
    "b": "\"\u0023"
  },
  "key6": {
    "a": [
      6
    ],
    "b": "\"\u0023"
  },
  "key7": {
    "a": [
      7
    ],
    "b": "\"\u0023"
  },
  "key8": {
    "a": [
      8
    ],
    "b": "\"\u0023"
  },
  "key9": {
    "a": [
      9
    ],
    "b": "\"\u0023"
  }
}"#),
            "x-kubernetes-preserve-unknown-fields" = true
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<BTreeMap<String, Value>>,
}

/// The schema of the CRD.
impl JsonSchema for Net {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Net".into()
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
                "spec": NetSpec::json_schema(generator)
            }
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequiredDuringSchedulingIgnoredDuringExecutionOfEverything {
    #[schemars(with = "Vec<AVeryLongFieldNameThatIsMuchLongerThanTheWidthOfALine>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_very_long_field_name_that_is_much_longer_than_the_width_of_a_line:
        Option<Vec<AVeryLongFieldNameThatIsMuchLongerThanTheWidthOfALine>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AVeryLongFieldNameThatIsMuchLongerThanTheWidthOfALine {
    #[schemars(with = "String")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred_during_scheduling_ignored_during_execution_of_all: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Code {
    #[default]
    C000,
    C001,
    C002,
    C003,
    C004,
    C005,
    C006,
    C007,
    C008,
    C009,
    C010,
    C011,
    C012,
    C013,
    C014,
    C015,
    C016,
    C017,
    C018,
    C019,
    C020,
    C021,
    C022,
    C023,
    C024,
    C025,
    C026,
    C027,
    C028,
    C029,
    C030,
    C031,
    C032,
    C033,
    C034,
    C035,
    C036,
    C037,
    C038,
    C039,
    C040,
    C041,
    C042,
    C043,
    C044,
    C045,
    C046,
    C047,
    C048,
    C049,
    C050,
    C051,
    C052,
    C053,
    C054,
    C055,
    C056,
    C057,
    C058,
    C059,
    C060,
    C061,
    C062,
    C063,
    C064,
    C065,
    C066,
    C067,
    C068,
    C069,
    C070,
    C071,
    C072,
    C073,
    C074,
    C075,
    C076,
    C077,
    C078,
    C079,
    C080,
    C081,
    C082,
    C083,
    C084,
    C085,
    C086,
    C087,
    C088,
    C089,
    C090,
    C091,
    C092,
    C093,
    C094,
    C095,
    C096,
    C097,
    C098,
    C099,
    C100,
    C101,
    C102,
    C103,
    C104,
    C105,
    C106,
    C107,
    C108,
    C109,
    C110,
    C111,
    C112,
    C113,
    C114,
    C115,
    C116,
    C117,
    C118,
    C119,
    C120,
    C121,
    C122,
    C123,
    C124,
    C125,
    C126,
    C127,
    C128,
    C129,
    C130,
    C131,
    C132,
    C133,
    C134,
    C135,
    C136,
    C137,
    C138,
    C139,
    C140,
    C141,
    C142,
    C143,
    C144,
    C145,
    C146,
    C147,
    C148,
    C149,
}

/// A part of a schema that is kept as it was.
fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("valid JSON")
}
