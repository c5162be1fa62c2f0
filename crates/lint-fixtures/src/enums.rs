//! Enums that a CRD cannot describe.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::fixtures!(
    UntaggedScalars,
    UntaggedStructs,
    InternallyTagged,
    AdjacentlyTagged,
    MixedEnum,
    OptionalTaggedEnum,
    NumericEnum,
    TupleVariant,
    UntaggedFields,
    UntaggedTypes,
    TwoFlattened
);

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "UntaggedScalars",
    plural = "untaggedscalarss",
    namespaced
)]
pub struct UntaggedScalarsSpec {
    pub value: Scalar,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(untagged)]
pub enum Scalar {
    Number(i64),
    Text(String),
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "UntaggedStructs",
    plural = "untaggedstructss",
    namespaced
)]
pub struct UntaggedStructsSpec {
    pub source: Source,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(untagged)]
pub enum Source {
    Git { repository: String },
    Image { image: String },
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "InternallyTagged",
    plural = "internallytaggeds",
    namespaced
)]
pub struct InternallyTaggedSpec {
    pub action: Action,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "type")]
pub enum Action {
    Start { at: String },
    Stop { reason: String },
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "AdjacentlyTagged",
    plural = "adjacentlytaggeds",
    namespaced
)]
pub struct AdjacentlyTaggedSpec {
    pub step: Step,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "type", content = "value")]
pub enum Step {
    Wait(i32),
    Say(String),
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "MixedEnum",
    plural = "mixedenums",
    namespaced
)]
pub struct MixedEnumSpec {
    pub mode: Mode,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub enum Mode {
    Off,
    On { level: i32 },
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "OptionalTaggedEnum",
    plural = "optionaltaggedenums",
    namespaced
)]
pub struct OptionalTaggedEnumSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub enum Place {
    Node { name: String },
    Zone { name: String },
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "NumericEnum",
    plural = "numericenums",
    namespaced
)]
pub struct NumericEnumSpec {
    pub level: Level,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(untagged)]
pub enum Level {
    Word(Word),
    Number(i32),
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub enum Word {
    Low,
    High,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "TupleVariant",
    plural = "tuplevariants",
    namespaced
)]
pub struct TupleVariantSpec {
    pub shape: Shape,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub enum Shape {
    Circle(i32),
    Box(i32, i32),
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "UntaggedFields",
    plural = "untaggedfieldss",
    namespaced
)]
pub struct UntaggedFieldsSpec {
    pub origin: Origin,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(untagged)]
pub enum Origin {
    Git {
        /// The URL of git.
        url: String,
        branch: String,
    },
    Http {
        /// The URL of a file.
        url: String,
        branch: String,
    },
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "UntaggedTypes",
    plural = "untaggedtypess",
    namespaced
)]
pub struct UntaggedTypesSpec {
    pub tools: Vec<Tool>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(untagged)]
pub enum Tool {
    Saw(Saw),
    Hammer(Hammer),
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Saw {
    pub weight: i32,
    pub teeth: i32,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Hammer {
    pub weight: i64,
}

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "lint.example.com",
    version = "v1",
    kind = "TwoFlattened",
    plural = "twoflatteneds",
    namespaced
)]
pub struct TwoFlattenedSpec {
    #[serde(flatten)]
    pub engine: Drive,
    #[serde(flatten)]
    pub cargo: Cargo,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub enum Drive {
    Sail { area: i32 },
    Screw { blades: i32 },
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub enum Cargo {
    Grain { tons: i32 },
    Oil { barrels: i32 },
}
