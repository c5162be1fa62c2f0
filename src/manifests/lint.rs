//! What an API server would refuse or spoil, said before it does, with the Rust that mends it.
//!
//! The rules are those of `apiextensions-apiserver` 1.36: `pkg/apis/apiextensions/validation` and `pkg/apiserver/schema`.

mod defaults;
mod form;
mod lists;
mod names;
mod nested;
mod node;
mod patterns;
mod re2;
mod size;
pub mod value;

use super::crd::Crd;
use super::problem::Problem;
use node::Node;

/// One thing that is wrong with a version of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where, as `.spec.ports[].name`; empty for the definition itself.
    pub path: String,
    /// What is wrong.
    pub text: String,
    /// What to write.
    pub help: String,
    /// For a warning, the name that silences it; an error has none.
    pub allow: Option<&'static str>,
}

impl Finding {
    /// What the API server refuses, or spoils without a word.
    fn error(path: &str, text: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            text: text.into(),
            help: help.into(),
            allow: None,
        }
    }

    /// What works, and is seldom meant; `+kbr:lint:allow=<name>` says that it is.
    fn warning(
        name: &'static str,
        path: &str,
        text: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            allow: Some(name),
            ..Self::error(path, text, help)
        }
    }
}

/// Judges a schema wherever it says what values look like.
type Check = fn(&Node, &mut Vec<Finding>);

const CHECKS: [Check; 6] = [
    form::check,
    form::extensions,
    nested::check,
    lists::check,
    defaults::check,
    patterns::check,
];

/// All that is wrong with a kind: errors first, then warnings.
pub fn check(crd: &Crd) -> (Vec<Problem>, Vec<Problem>) {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    for version in crd.versions() {
        let mut found = Vec::new();
        names::check(crd, version, &mut found);
        nested::root(version, &mut found);
        node::walk(&version["schema"]["openAPIV3Schema"], &mut |node| {
            for check in CHECKS {
                check(node, &mut found);
            }
        });
        let name = version["name"].as_str().unwrap_or_default();
        for finding in found {
            let problem = problem(crd, name, &finding);
            match finding.allow {
                None => errors.push(problem),
                Some(_) => warnings.push(problem),
            }
        }
    }
    let stored = crd
        .versions()
        .first()
        .map_or("", |first| first["name"].as_str().unwrap_or_default());
    warnings.extend(size::check(crd).map(|finding| problem(crd, stored, &finding)));
    (errors, warnings)
}

fn problem(crd: &Crd, version: &str, finding: &Finding) -> Problem {
    let at = match finding.path.as_str() {
        "" => String::new(),
        path => format!(", `{path}`"),
    };
    let text = format!(
        "`{}` of `{}/{version}`{at}: {}",
        crd.kind, crd.group, finding.text
    );
    let allow = finding
        .allow
        .map(|name| format!(", or say that it is meant: `// +kbr:lint:allow={name}`"));
    Problem::new(text).help(format!("{}{}", finding.help, allow.unwrap_or_default()))
}
