//! What a lint is, and what its function reports.

use serde_json::Value;

use crate::definition::Definition;
use crate::finding::Severity;
use crate::node::Node;

/// One lint: a row of [`LINTS`](crate::LINTS).
#[derive(Debug)]
pub struct Lint {
    /// Its name, which never changes: `unknown-function`.
    pub id: &'static str,
    /// How bad what it finds is.
    pub severity: Severity,
    /// Whether a newer Kubernetes may accept what it finds, because it knows more functions, formats or words.
    pub version_dependent: bool,
    /// What it finds, in one line.
    pub explanation: &'static str,
    pub(crate) check: Check,
}

impl Lint {
    /// Whether a finding may be meant: any warning, and an error that depends on the version of Kubernetes.
    #[must_use]
    pub fn is_allowable(&self) -> bool {
        self.severity == Severity::Warning || self.version_dependent
    }

    pub(crate) const fn error(id: &'static str, explanation: &'static str, check: Check) -> Self {
        Self {
            id,
            severity: Severity::Error,
            version_dependent: false,
            explanation,
            check,
        }
    }

    pub(crate) const fn warning(id: &'static str, explanation: &'static str, check: Check) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(id, explanation, check)
        }
    }

    pub(crate) const fn version_dependent(self) -> Self {
        Self {
            version_dependent: true,
            ..self
        }
    }
}

/// The function of a lint, by what it looks at.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// The definition as a whole.
    Definition(fn(&Definition, &mut Vec<Hit>)),
    /// One version of it.
    Version(fn(&Value, &mut Vec<Hit>)),
    /// Each schema that describes values.
    Schema(fn(&Node, &mut Vec<Hit>)),
    /// A match condition of a webhook: [`check_condition`](crate::rules::check_condition) alone reports it.
    Condition,
}

/// What the function of a lint reports; the lint itself gives it id and severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The JSON path; empty for the object itself.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to write.
    pub help: String,
}

impl Hit {
    /// Reports what is wrong at a path, and what to write instead.
    pub fn new(path: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            message: message.into(),
            help: help.into(),
        }
    }
}
