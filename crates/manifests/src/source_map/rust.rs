//! The Rust types of a project, as far as the source map knows them.

use std::collections::BTreeMap;

use kbr_scaffold::rust::derived::Derived;

/// A struct or enum.
#[derive(Debug)]
pub struct RustType {
    /// The lines where a comment belongs to it.
    pub span: Span,
    /// The line of its name; the header is above.
    pub head: usize,
    /// Its comment, as schemars reads it.
    pub doc: String,
    /// For the type that derives `CustomResource`.
    pub kind: Option<Derived>,
    pub fields: Vec<Field>,
    /// The fields that are not flattened, by name.
    pub by_name: BTreeMap<String, usize>,
    /// Why deriving a CRD from it panics, as far as the type itself shows it.
    pub panics: Option<Panic>,
    /// Whether it derives `KubeSchema` and has `#[serde(default)]`, which do not compile together.
    pub has_default: bool,
    /// Whether it is an enum whose variants have no name in YAML.
    pub untagged: bool,
}

/// Why the generator panics.
#[derive(Clone, Debug)]
pub struct Panic {
    /// The field that would have several schemas; `None` if a whole value would have several types.
    pub field: Option<String>,
    /// The variants of which the panic names one; empty if it may name none.
    pub variants: Vec<String>,
    /// The reason.
    pub why: String,
    /// What to write instead.
    pub help: &'static str,
}

/// A field, or a variant with fields.
#[derive(Debug)]
pub struct Field {
    /// The lines where a comment belongs to it.
    pub span: Span,
    /// Its name in YAML.
    pub name: String,
    /// The type of its innermost values.
    pub target: Option<String>,
    pub flatten: bool,
    /// Its comment, as schemars reads it; empty for a variant.
    pub doc: String,
    /// Its text in Rust with attributes and comments, by which two are compared.
    pub text: String,
    /// Attributes that must leave a keyword in the schema.
    pub expected: Vec<ExpectedKeyword>,
}

/// An attribute and its keywords; the attribute had an effect if the schema has at least one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedKeyword {
    /// The text, such as `#[schemars(length(…))]`.
    pub attribute: String,
    /// The schema must have one of them.
    pub keywords: Vec<String>,
}

/// A range of lines in a file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub file: String,
    pub line: usize,
    pub first: usize,
    pub last: usize,
}

impl Span {
    /// Such as `api/src/crew/v1/captain.rs:12`.
    pub fn shown(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}
