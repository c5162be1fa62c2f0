//! What a schema becomes in Rust: the types of a version, their fields, and what the derive macros would not say.

use serde_json::{Map, Value};

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
    List(Box<Ty>),
    Map(Box<Ty>),
    /// One of [`Model::types`].
    Own(usize),
}

/// A type of the file.
#[derive(Debug)]
pub struct TypeDef {
    pub name: String,
    pub docs: Option<String>,
    pub body: Body,
    /// What the macros add to or leave out of the schema of the type: `null` removes a field.
    pub overlay: Map<String, Value>,
    /// The schema that the macros generate for the type, with the overlay.
    pub schema: Map<String, Value>,
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
}

/// The types of a version.
#[derive(Debug, Default)]
pub struct Model {
    pub types: Vec<TypeDef>,
}
