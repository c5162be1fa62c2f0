//! Attributes without an effect on the CRD.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

crate::fixtures!(
    LengthOfMap,
    RangeOfString,
    PatternOfNumber,
    StructMergeStrategy,
    Const,
    NotNullable,
    Unique,
    Misspelt,
    LengthOfNumber,
    RangeOfList,
    InnerOfText
);

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "LengthOfMap",
    plural = "lengthofmaps",
    namespaced
)]
pub struct LengthOfMapSpec {
    #[schemars(length(max = 10))]
    pub labels: BTreeMap<String, String>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RangeOfString",
    plural = "rangeofstrings",
    namespaced
)]
pub struct RangeOfStringSpec {
    #[schemars(range(min = 1))]
    pub name: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "PatternOfNumber",
    plural = "patternofnumbers",
    namespaced
)]
pub struct PatternOfNumberSpec {
    #[schemars(regex(pattern = "^a"))]
    pub count: i32,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "StructMergeStrategy",
    plural = "structmergestrategys",
    namespaced
)]
pub struct StructMergeStrategySpec {
    #[x_kube(merge_strategy = StructMerge::Atomic)]
    pub inner: Inner,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Inner {
    pub name: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Const",
    plural = "consts",
    namespaced
)]
pub struct ConstSpec {
    #[schemars(extend("const" = "a"))]
    pub name: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "NotNullable",
    plural = "notnullables",
    namespaced
)]
pub struct NotNullableSpec {
    #[schemars(extend("nullable" = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Unique",
    plural = "uniques",
    namespaced
)]
pub struct UniqueSpec {
    #[schemars(extend("uniqueItems" = true))]
    pub names: Vec<String>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Misspelt",
    plural = "misspelts",
    namespaced
)]
pub struct MisspeltSpec {
    #[schemars(extend("minimun" = 1))]
    pub count: i32,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "LengthOfNumber",
    plural = "lengthofnumbers",
    namespaced
)]
pub struct LengthOfNumberSpec {
    #[schemars(length(min = 1))]
    pub count: i32,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RangeOfList",
    plural = "rangeoflists",
    namespaced
)]
pub struct RangeOfListSpec {
    #[schemars(range(min = 1))]
    pub counts: Vec<i32>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "InnerOfText",
    plural = "inneroftexts",
    namespaced
)]
pub struct InnerOfTextSpec {
    #[schemars(inner(length(min = 1)))]
    pub name: String,
}
