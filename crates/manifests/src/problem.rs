//! Problems with the sources of the manifests, reported all at once.

pub use kbr_host::diagnostic::Problem;

use kbr_host::diagnostic::Diagnostic;

/// Adds how to allow a finding that is intended.
pub fn or_intended(problem: Problem, id: &'static str) -> Problem {
    or(problem, id, "this is intended")
}

/// Adds how to allow a name that only a newer Kubernetes knows.
pub fn or_newer(problem: Problem, id: &'static str) -> Problem {
    let when = "your Kubernetes is newer than this kbr and has it";
    or(problem, id, when)
}

fn or(problem: Problem, id: &'static str, when: &str) -> Problem {
    let help = format!("if {when}, write above it `// +kbr:lint:allow={id}`");
    problem.allowed_by(id).help(help)
}

/// One error for all problems; `None` if there are none.
pub fn error(problems: Vec<Problem>) -> Option<Diagnostic> {
    (!problems.is_empty()).then(|| Diagnostic::findings("cannot generate the manifests", problems))
}
