//! The definition of a lint, and the report of its function.

use serde_json::Value;

use crate::definition::Definition;
use crate::finding::Severity;
use crate::node::Node;

/// One lint: a row of [`LINTS`](crate::LINTS).
#[derive(Debug)]
pub struct Lint {
    /// Its stable name: `unknown-function`.
    pub id: &'static str,
    /// The severity of its findings.
    pub severity: Severity,
    /// Whether a newer Kubernetes may accept what it finds, because it has more functions, formats or keywords.
    pub version_dependent: bool,
    /// What it finds, in one line.
    pub explanation: &'static str,
    pub(crate) check: Check,
}

impl Lint {
    /// Whether its findings can be allowed: warnings, and errors that depend on the version of Kubernetes.
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

/// The function of a lint, by its scope.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Checks the definition as a whole.
    Definition(fn(&Definition, &mut Vec<Hit>)),
    /// Checks one version.
    Version(fn(&Value, &mut Vec<Hit>)),
    /// Checks each schema that describes values.
    Schema(fn(&Node, &mut Vec<Hit>)),
    /// Checks a match condition of a webhook: only [`check_condition`](crate::check_condition) reports it.
    Condition,
}

/// A problem reported by the function of a lint; the lint adds id and severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The JSON path; empty for the object itself.
    pub path: String,
    /// The problem.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl Hit {
    /// A problem at a path, and what to write instead.
    pub fn new(path: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            message: message.into(),
            help: help.into(),
        }
    }
}
