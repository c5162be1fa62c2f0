//! What is known of the Rust types of a project.

/// A struct or enum.
#[derive(Debug)]
pub struct RustType {
    /// What comments can stand at.
    pub span: Span,
    /// The line of its name: what comes before is its head.
    pub head: usize,
    /// For the type that derives `CustomResource`: kind, version, and the type of its status.
    pub kind: Option<(String, String, Option<String>)>,
    pub fields: Vec<Field>,
    /// Why deriving a CRD from it panics, and what to write.
    pub panics: Option<(String, &'static str)>,
}

/// A field, or a variant with fields.
#[derive(Debug)]
pub struct Field {
    /// What comments can stand at.
    pub span: Span,
    /// As in YAML.
    pub name: String,
    /// The type of its innermost values.
    pub target: Option<String>,
    pub flatten: bool,
    /// Attributes that must show in the schema.
    pub expected: Vec<ExpectedKeyword>,
}

/// An attribute, and the keywords of which at least one shows that the attribute had an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedKeyword {
    /// As it is written: `#[schemars(length(…))]`.
    pub attribute: String,
    /// One of them must be there.
    pub keywords: Vec<String>,
}

/// Lines of a file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub file: String,
    pub line: usize,
    pub first: usize,
    pub last: usize,
}

impl Span {
    /// `api/src/crew/v1/captain.rs:12`.
    pub fn shown(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}
