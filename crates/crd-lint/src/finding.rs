//! The findings of a lint.

use std::fmt;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The API server rejects the definition, or drops or corrupts parts of objects.
    Error,
    /// The definition works, but is rarely intended.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// One problem of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The [`Lint`](crate::Lint) that found it: `unknown-function`.
    pub id: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The version whose schema has the problem: `v1`. `None` for the definition as a whole.
    pub version: Option<String>,
    /// The JSON path within an object of the kind: `.spec.ports[].name`, `.spec.labels[*]`. Empty for the object itself.
    pub path: String,
    /// The problem, in lower case and without a full stop.
    pub message: String,
    /// What to write instead.
    pub helps: Vec<String>,
}

/// ``error[list-keys]: v1, `.spec.ports`: …``, and a line for each help.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: ", self.severity, self.id)?;
        if let Some(version) = &self.version {
            f.write_str(version)?;
            if !self.path.is_empty() {
                write!(f, ", `{}`", self.path)?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)?;
        for help in &self.helps {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}
