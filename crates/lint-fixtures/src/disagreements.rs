//! Types whose schema says something else than serde reads or writes, and some that only look so. Each compiles.

#![allow(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    clippy::wildcard_imports,
    reason = "serde prescribes the signatures, and the modules are made by a macro"
)]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::Ipv6Addr;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, CustomResourceExt, KubeSchema};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, to_value};

/// A kind: its name, its definition, and what serde writes of an object that it reads.
pub type Kind = (&'static str, fn() -> CustomResourceDefinition, Again);

/// What a project's generator answers about an object.
pub type Again = fn(&str) -> Result<Value, String>;

fn again<K: Serialize + DeserializeOwned>(object: &str) -> Result<Value, String> {
    let written = serde_json::from_str::<K>(object).and_then(to_value);
    written.map_err(|error| error.to_string())
}

/// Kinds of which each has one field, `value`.
macro_rules! kinds {
    ($list:ident: $($module:ident $object:ident $kind:literal { $(#[$attribute:meta])* $type:ty })*) => {
        $(#[allow(dead_code, reason = "some fields are read or written by serde alone")]
        pub mod $module {
            use super::*;

            #[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
            #[kube(group = "fixtures.example.com", version = "v1", kind = $kind, namespaced)]
            pub struct Spec {
                $(#[$attribute])*
                pub value: $type,
            }
        })*

        /// The kinds, each with its name.
        pub const $list: &[Kind] = &[$((
            $kind,
            <$module::$object as CustomResourceExt>::crd,
            again::<$module::$object>,
        )),*];
    };
}

// What the API server accepts cannot be read, or what is written is rejected or dropped.
kinds!(WRONG:
    null_choice NullChoiceKind "NullChoiceKind" { Option<Choice> }
    null_choice_in_list NullChoiceInListKind "NullChoiceInListKind" { Vec<Ship> }
    null_choice_in_map NullChoiceInMapKind "NullChoiceInMapKind" { BTreeMap<String, Ship> }
    written_as_text WrittenAsTextKind "WrittenAsTextKind" { #[serde(serialize_with = "text::serialize", deserialize_with = "text::deserialize")] u16 }
    optional_as_text OptionalAsTextKind "OptionalAsTextKind" { #[serde(default, serialize_with = "optional_text::serialize", deserialize_with = "optional_text::deserialize", skip_serializing_if = "Option::is_none")] Option<u16> }
    two_names TwoNamesKind "TwoNamesKind" { #[serde(rename(serialize = "outside", deserialize = "inside"))] String }
    two_cases TwoCasesKind "TwoCasesKind" { Cases }
    two_names_of_variants TwoNamesOfVariantsKind "TwoNamesOfVariantsKind" { Gear }
    never_written NeverWrittenKind "NeverWrittenKind" { #[serde(skip_serializing)] String }
    never_read NeverReadKind "NeverReadKind" { #[serde(skip_deserializing)] String }
    left_out_if_empty LeftOutIfEmptyKind "LeftOutIfEmptyKind" { #[serde(skip_serializing_if = "BTreeMap::is_empty")] BTreeMap<String, String> }
    left_out_if_zero LeftOutIfZeroKind "LeftOutIfZeroKind" { #[serde(skip_serializing_if = "is_zero")] i32 }
    optional_in_schema OptionalInSchemaKind "OptionalInSchemaKind" { #[schemars(with = "Option<String>")] String }
    wider_in_schema WiderInSchemaKind "WiderInSchemaKind" { #[schemars(with = "BTreeMap<String, String>")] Inner }
    other_variant OtherVariantKind "OtherVariantKind" { #[schemars(with = "MoreChoices")] Choice }
    one_item OneItemKind "OneItemKind" { #[serde(serialize_with = "single::serialize", deserialize_with = "single::deserialize")] #[schemars(with = "Vec<String>")] String }
);

// Some texts or numbers cannot be read, a value is lost, or the order changes.
kinds!(DOUBTFUL:
    address AddressKind "AddressKind" { std::net::SocketAddr }
    parsed ParsedKind "ParsedKind" { #[schemars(with = "String")] Parsed }
    int_or_string IntOrStringKind "IntOrStringKind" { IntOrString }
    too_wide TooWideKind "TooWideKind" { #[schemars(with = "i64")] u8 }
    unordered UnorderedKind "UnorderedKind" { HashSet<String> }
    unordered_in_map UnorderedInMapKind "UnorderedInMapKind" { BTreeMap<String, HashSet<i32>> }
    single_precision SinglePrecisionKind "SinglePrecisionKind" { f32 }
    read_only ReadOnlyKind "ReadOnlyKind" { #[serde(default, skip_serializing)] Option<String> }
);

// Hard, and right.
kinds!(RIGHT:
    choice_left_out ChoiceLeftOutKind "ChoiceLeftOutKind" { #[serde(default, skip_serializing_if = "Option::is_none")] Option<Choice> }
    null_text NullTextKind "NullTextKind" { Option<String> }
    sorted SortedKind "SortedKind" { BTreeSet<String> }
    double DoubleKind "DoubleKind" { f64 }
    shape ShapeOfKind "ShapeOfKind" { Shape }
    shapes ShapesKind "ShapesKind" { Vec<Shape> }
    flat FlatKind "FlatKind" { Flat }
    untagged UntaggedKind "UntaggedKind" { Untagged }
    deep DeepKind "DeepKind" { Option<Box<Inner>> }
    text_in_both TextInBothKind "TextInBothKind" { #[serde(serialize_with = "text::serialize", deserialize_with = "text::deserialize")] #[schemars(with = "String", regex(pattern = "^[0-9]{1,4}$"))] u16 }
    empty_list EmptyListKind "EmptyListKind" { #[serde(default, skip_serializing_if = "Vec::is_empty")] Vec<String> }
    with_default WithDefaultKind "WithDefaultKind" { #[serde(default = "seven")] i32 }
    conditions ConditionsKind "ConditionsKind" { #[serde(default)] Vec<Condition> }
    time TimeOfKind "TimeOfKind" { Option<Time> }
    anything AnythingKind "AnythingKind" { #[schemars(schema_with = "anything")] Value }
    limited LimitedKind "LimitedKind" { #[schemars(range(min = -5, max = 5))] i8 }
    quantity QuantityOfKind "QuantityOfKind" { Option<k8s_openapi::apimachinery::pkg::api::resource::Quantity> }
    template TemplateKind "TemplateKind" { Option<k8s_openapi::api::core::v1::PodTemplateSpec> }
    v6 V6Kind "V6Kind" { #[schemars(regex(pattern = "^[0-9a-f]{1,4}(:[0-9a-f]{1,4}){7}$"))] Ipv6Addr }
    constant ConstantKind "ConstantKind" { Constant }
);

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum Choice {
    Fast,
    Slow,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all(serialize = "kebab-case", deserialize = "snake_case"))]
pub enum Gear {
    FullAhead,
    DeadSlow,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
enum MoreChoices {
    Fast,
    Slow,
    Never,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Ship {
    name: String,
    speed: Option<Choice>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all(serialize = "snake_case", deserialize = "camelCase"))]
pub struct Cases {
    first_name: String,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Inner {
    first_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<Level>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Level {
    #[serde(default)]
    levels: BTreeMap<String, Vec<Choice>>,
    count: u32,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase")]
pub enum Shape {
    Circle { radius: u32 },
    Square { side: u32, filled: bool },
    Named(Inner),
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub struct Flat {
    own: String,
    #[serde(flatten)]
    inner: Level,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[serde(untagged)]
pub enum Untagged {
    Git { repository: String, branch: String },
    Image { image: String },
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
pub enum Constant {
    Only,
}

/// Read from `a-b`.
#[derive(Clone, Debug)]
pub struct Parsed(String);

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.contains('-') {
            Ok(Self(text))
        } else {
            Err(D::Error::custom("no `-` in it"))
        }
    }
}

impl Serialize for Parsed {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

fn seven() -> i32 {
    7
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

fn anything(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}

/// A number that is text in JSON.
mod text {
    use super::*;

    pub fn serialize<S: Serializer>(number: &u16, to: S) -> Result<S::Ok, S::Error> {
        number.to_string().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u16, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

mod optional_text {
    use super::*;

    pub fn serialize<S: Serializer>(number: &Option<u16>, to: S) -> Result<S::Ok, S::Error> {
        number.map(|number| number.to_string()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u16>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom))
            .transpose()
    }
}

/// One string where the schema has a list.
mod single {
    use super::*;

    pub fn serialize<S: Serializer>(text: &String, to: S) -> Result<S::Ok, S::Error> {
        text.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        String::deserialize(from)
    }
}
