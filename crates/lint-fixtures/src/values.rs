//! Defaults and patterns that the API server rejects.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

crate::fixtures!(
    BadDefault,
    BadPattern,
    BadPattern2,
    PrunedDefault,
    DefaultInMap,
    NullDefault,
    RequiredDefault,
    Format,
    RuledDefault,
    EnumDefault,
    NullEnumDefault,
    OutsideBounds,
    WideIntegers
);

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "BadDefault",
    plural = "baddefaults",
    namespaced
)]
pub struct BadDefaultSpec {
    #[schemars(range(min = 1, max = 10))]
    #[serde(default = "hundred")]
    pub replicas: i32,
}

fn hundred() -> i32 {
    100
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "BadPattern",
    plural = "badpatterns",
    namespaced
)]
pub struct BadPatternSpec {
    #[schemars(regex(pattern = "^(?!kube-).*$"))]
    pub name: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "BadPattern2",
    plural = "badpattern2s",
    namespaced
)]
pub struct BadPattern2Spec {
    #[schemars(regex(pattern = "[a-z&&[^b]]\\<x"))]
    pub name: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "PrunedDefault",
    plural = "pruneddefaults",
    namespaced
)]
pub struct PrunedDefaultSpec {
    #[schemars(extend("default" = {"nmae": "x"}))]
    pub port: Port,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Port {
    pub name: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "DefaultInMap",
    plural = "defaultinmaps",
    namespaced
)]
pub struct DefaultInMapSpec {
    pub ports: BTreeMap<String, Defaulted>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Defaulted {
    #[serde(default = "protocol")]
    pub protocol: String,
}

fn protocol() -> String {
    "TCP".to_owned()
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "NullDefault",
    plural = "nulldefaults",
    namespaced
)]
pub struct NullDefaultSpec {
    #[serde(default)]
    pub limits: Limits,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
pub struct Limits {
    pub cpu: Option<String>,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RequiredDefault",
    plural = "requireddefaults",
    namespaced
)]
pub struct RequiredDefaultSpec {
    #[schemars(extend("default" = {}))]
    pub port: Port,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "Format",
    plural = "formats",
    namespaced
)]
pub struct FormatSpec {
    #[schemars(extend("format" = "hostnaem"))]
    pub host: String,
}

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "RuledDefault",
    plural = "ruleddefaults",
    namespaced
)]
pub struct RuledDefaultSpec {
    #[x_kube(validation = ("self.matches('^[a-z]+$')", "lower case only"))]
    #[serde(default = "protocol")]
    pub name: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "EnumDefault",
    plural = "enumdefaults",
    namespaced
)]
pub struct EnumDefaultSpec {
    #[schemars(extend("enum" = ["UDP"]))]
    #[serde(default = "protocol")]
    pub name: String,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "NullEnumDefault",
    plural = "nullenumdefaults",
    namespaced
)]
pub struct NullEnumDefaultSpec {
    #[serde(default)]
    pub engine: Engine,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
pub struct Engine {
    pub fuel: Option<Fuel>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub enum Fuel {
    Coal,
    Oil,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "OutsideBounds",
    plural = "outsideboundss",
    namespaced
)]
pub struct OutsideBoundsSpec {
    #[schemars(range(max = 4_294_967_295_i64))]
    pub word: i32,
    #[schemars(range(max = 300))]
    pub byte: u8,
    #[schemars(extend("multipleOf" = 0.5))]
    pub half: i64,
    #[schemars(range(max = 9_223_372_036_854_775_807_i64))]
    pub long: i64,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "WideIntegers",
    plural = "wideintegerss",
    namespaced
)]
pub struct WideIntegersSpec {
    pub hash: u64,
    pub size: Option<usize>,
    #[schemars(range(max = 9_007_199_254_740_993_i64))]
    pub rounded: i64,
    #[schemars(range(max = 9_007_199_254_740_991_i64))]
    pub bounded: u64,
}
