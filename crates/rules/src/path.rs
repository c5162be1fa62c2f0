//! The path of a value in an object.

use std::fmt;

/// A step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field of an object.
    Field(String),
    /// A key of a map.
    Key(String),
    /// An index of a list.
    Index(usize),
}

/// A path, written as in the API server's messages: `spec.ports[0]`, `spec.labels[a]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(pub Vec<Step>);

impl FieldPath {
    /// Written with all names alike: `.spec.ports[0]`, `.spec.labels.a`. Empty for the whole.
    #[must_use]
    pub fn dotted(&self) -> String {
        let steps = self.0.iter().map(|step| match step {
            Step::Field(name) | Step::Key(name) => format!(".{name}"),
            Step::Index(index) => format!("[{index}]"),
        });
        steps.collect()
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if at == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Key(name) => write!(f, "[{name}]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
