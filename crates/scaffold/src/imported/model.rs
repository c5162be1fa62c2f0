//! What a schema becomes in Rust: the types of a version, their fields, and what the derive macros would not say.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::known::Known;

/// A schema by its keywords. What they contain is not copied: each schema is a part of all those around it.
pub type Schema<'a> = BTreeMap<Cow<'a, str>, Cow<'a, Value>>;

/// The keywords of a schema.
pub fn keywords<'a>(schema: impl IntoIterator<Item = (&'a String, &'a Value)>) -> Schema<'a> {
    let keywords = schema.into_iter();
    keywords
        .map(|(key, value)| (Cow::Borrowed(key.as_str()), Cow::Borrowed(value)))
        .collect()
}

/// A type of Rust, without `Option`.
#[derive(Clone, Debug, PartialEq)]
pub enum Ty {
    Bool,
    I32,
    I64,
    F64,
    Text,
    IntOrString,
    Quantity,
    /// Anything: the schema is kept as it is.
    Any,
    /// A type of k8s-openapi, whose schema is kept as it is.
    Known(&'static Known),
    List(Box<Ty>),
    Map(Box<Ty>),
    /// One of [`Model::types`].
    Own(usize),
}

/// A type of the file.
#[derive(Debug)]
pub struct TypeDef<'a> {
    pub name: String,
    pub docs: Option<String>,
    pub body: Body,
    /// What the macros add to or leave out of the schema of the type: `null` removes a field.
    pub overlay: Map<String, Value>,
    /// The schema that the macros generate for the type, with the overlay.
    pub schema: Schema<'a>,
    /// Whether the file imports it.
    pub is_shared: bool,
}

#[derive(Debug)]
pub enum Body {
    Struct {
        fields: Vec<Field>,
        /// Whether it keeps fields that the schema does not name.
        open: bool,
    },
    /// Variants and their values.
    Enum(Vec<(String, String)>),
}

#[derive(Debug)]
pub struct Field {
    /// The name in JSON.
    pub name: String,
    /// The name in Rust.
    pub ident: String,
    pub ty: Ty,
    pub required: bool,
    pub nullable: bool,
    pub docs: Option<String>,
    pub overlay: Map<String, Value>,
    /// The function with the schema, of [`Model::functions`].
    pub function: Option<String>,
    /// The function with the value that the API server adds, of [`Model::defaults`].
    pub default: Option<String>,
}

/// A function that returns the default of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultFunction {
    pub name: String,
    /// The type, as Rust.
    pub ty: String,
    /// The value, as Rust.
    pub value: String,
}

/// The types of a version.
#[derive(Debug, Default)]
pub struct Model<'a> {
    pub types: Vec<TypeDef<'a>>,
    /// Functions that return a schema, which the macros would generate differently.
    pub functions: Vec<(String, Map<String, Value>)>,
    /// Functions that return the default of a required field.
    pub defaults: Vec<DefaultFunction>,
    /// The types of k8s-openapi that are imported; others are named by their path.
    pub imported: Vec<&'static Known>,
}
