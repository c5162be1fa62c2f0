//! Problems with the sources of the manifests, reported all at once.

pub use crate::diagnostic::Problem;

use crate::diagnostic::Diagnostic;

impl Problem {
    /// Adds how to allow a finding that is intended.
    pub fn or_intended(self, id: &'static str) -> Self {
        self.or(id, "this is intended")
    }

    /// Adds how to allow a name that only a newer Kubernetes knows.
    pub fn or_newer(self, id: &'static str) -> Self {
        self.or(id, "your Kubernetes is newer than this kbr and has it")
    }

    fn or(self, id: &'static str, when: &str) -> Self {
        let help = format!("if {when}, write above it `// +kbr:lint:allow={id}`");
        self.allowed_by(id).help(help)
    }
}

/// One error for all problems; `None` if there are none.
pub fn error(problems: Vec<Problem>) -> Option<Diagnostic> {
    (!problems.is_empty()).then(|| Diagnostic::findings("cannot generate the manifests", problems))
}
