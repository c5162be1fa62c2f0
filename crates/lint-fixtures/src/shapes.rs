//! Types that have no structural schema, or a surprising one.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

crate::fixtures!(
    AnyValue,
    Tuple,
    NumberedMap,
    Recursive,
    Bytes,
    Float,
    Floats,
    Unit,
    MapOfAnything,
    FlattenedMap,
    OnlyFlattened,
    Closed,
    Embedded,
    TwoForms
);

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "AnyValue",
    plural = "anyvalues",
    namespaced
)]
pub struct AnyValueSpec {
    pub anything: serde_json::Value,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Tuple",
    plural = "tuples",
    namespaced
)]
pub struct TupleSpec {
    pub range: (i32, String),
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "NumberedMap",
    plural = "numberedmaps",
    namespaced
)]
pub struct NumberedMapSpec {
    pub ports: BTreeMap<i32, String>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Recursive",
    plural = "recursives",
    namespaced
)]
pub struct RecursiveSpec {
    pub tree: Tree,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Tree {
    pub name: String,
    pub children: Vec<Tree>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Bytes",
    plural = "bytess",
    namespaced
)]
pub struct BytesSpec {
    pub data: Vec<u8>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Float",
    plural = "floats",
    namespaced
)]
pub struct FloatSpec {
    pub ratio: f64,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Floats",
    plural = "floatss",
    namespaced
)]
pub struct FloatsSpec {
    pub points: Vec<Point>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Point {
    pub x: f32,
    // +kbr:lint:allow=float
    pub y: f32,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Unit",
    plural = "units",
    namespaced
)]
pub struct UnitSpec {
    pub nothing: (),
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "MapOfAnything",
    plural = "mapofanythings",
    namespaced
)]
pub struct MapOfAnythingSpec {
    pub settings: BTreeMap<String, serde_json::Value>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "FlattenedMap",
    plural = "flattenedmaps",
    namespaced
)]
pub struct FlattenedMapSpec {
    pub name: String,
    #[serde(flatten)]
    pub rest: BTreeMap<String, String>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "OnlyFlattened",
    plural = "onlyflatteneds",
    namespaced
)]
pub struct OnlyFlattenedSpec {
    #[serde(flatten)]
    pub rest: BTreeMap<String, String>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Closed",
    plural = "closeds",
    namespaced
)]
pub struct ClosedSpec {
    pub inner: Inner,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Inner {
    pub name: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Embedded",
    plural = "embeddeds",
    namespaced
)]
pub struct EmbeddedSpec {
    #[schemars(extend("x-kubernetes-embedded-resource" = true))]
    pub template: BTreeMap<String, String>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "TwoForms",
    plural = "twoformss",
    namespaced
)]
pub struct TwoFormsSpec {
    #[schemars(extend("x-kubernetes-int-or-string" = true, "x-kubernetes-preserve-unknown-fields" = true))]
    pub port: serde_json::Value,
}
