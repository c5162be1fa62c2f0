//! The definition of a rule, and the report of its function.

use serde_json::Value;

use super::pair::Pair;
use crate::definition::Definition;
use crate::finding::Severity;

/// One rule: a row of [`RULES`](super::RULES).
#[derive(Debug)]
pub struct Rule {
    /// Its stable name: `field-removed`.
    pub id: &'static str,
    /// The worst severity of its findings. Those that the API server tolerates in existing objects are warnings.
    pub severity: Severity,
    /// Whether its findings can be allowed: all but those that a cluster is known to reject.
    pub is_allowable: bool,
    /// What it finds, in one line.
    pub explanation: &'static str,
    pub(super) check: Check,
}

impl Rule {
    pub(super) const fn error(id: &'static str, explanation: &'static str, check: Check) -> Self {
        Self {
            id,
            severity: Severity::Error,
            is_allowable: true,
            explanation,
            check,
        }
    }

    pub(super) const fn warning(id: &'static str, explanation: &'static str, check: Check) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(id, explanation, check)
        }
    }

    /// A rule whose findings cannot be allowed.
    pub(super) const fn always(self) -> Self {
        Self {
            is_allowable: false,
            ..self
        }
    }
}

/// The function of a rule, by its scope. The older definition comes first.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Compares the definitions as a whole.
    Definition(fn(&Definition, &Definition, &mut Vec<Break>)),
    /// Compares a version with the older one of the same name.
    Version(fn(&Value, &Value, &mut Vec<Break>)),
    /// Compares each schema that describes values with the older one at the same path.
    Schema(fn(&Pair, &mut Vec<Break>)),
}

/// An incompatible change; the rule adds id and severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// The JSON path; empty for the object itself.
    pub path: String,
    /// The change.
    pub message: String,
    /// What to do instead.
    pub help: String,
    /// Whether existing objects stay usable, so that it is only a warning.
    pub is_tolerated: bool,
}

impl Break {
    /// A change at a path, and what to do instead.
    pub fn new(path: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            message: message.into(),
            help: help.into(),
            is_tolerated: false,
        }
    }

    /// A stricter validation of the value itself; a warning if the API server tolerates existing ones.
    pub fn stricter(pair: &Pair, message: impl Into<String>, instead: &str) -> Self {
        let consequence = if pair.ratchets() {
            "existing objects can still be updated, but new ones with such a value are rejected"
        } else {
            "updates of existing objects are rejected even if they do not change it"
        };
        let help = format!("{consequence}: {instead}");
        Self::new(pair.path(), message, help).tolerated_if(pair.ratchets())
    }

    /// Makes it a warning if `tolerated`.
    pub fn tolerated_if(self, tolerated: bool) -> Self {
        Self {
            is_tolerated: self.is_tolerated || tolerated,
            ..self
        }
    }
}
