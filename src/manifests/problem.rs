//! What is wrong with the sources of the manifests, all at once.

pub use crate::diagnostic::Problem;

use crate::diagnostic::Diagnostic;

impl Problem {
    /// Adds how to say that a finding is meant.
    pub fn or_meant(self, id: &'static str) -> Self {
        self.or(id, "it is meant")
    }

    /// Adds how to say that a newer Kubernetes has what is unknown here.
    pub fn or_newer(self, id: &'static str) -> Self {
        self.or(id, "your Kubernetes is newer than this kbr and has it")
    }

    fn or(self, id: &'static str, when: &str) -> Self {
        let help = format!("if {when}, write above it `// +kbr:lint:allow={id}`");
        self.allowed_by(id).help(help)
    }
}

/// One error for all of them; `None` when there are none.
pub fn error(problems: Vec<Problem>) -> Option<Diagnostic> {
    (!problems.is_empty()).then(|| Diagnostic::findings("cannot generate the manifests", problems))
}
