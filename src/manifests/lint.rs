//! What an API server would refuse or spoil, said before it does, with the Rust that mends it.
//!
//! The rules are those of `apiextensions-apiserver` 1.36: `pkg/apis/apiextensions/validation` and `pkg/apiserver/schema`.

mod defaults;
mod form;
mod formats;
mod ignored;
mod lists;
mod names;
mod nested;
mod node;
mod patterns;
pub mod places;
mod re2;
pub mod rules;
mod size;
pub mod value;

use super::crd::Crd;
use super::markers::Marker;
use super::problem::{Problem, nearest};
use node::Node;
use places::Places;
use serde_json::{Value, json};

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

const CHECKS: [Check; 7] = [
    form::check,
    form::extensions,
    nested::check,
    lists::check,
    defaults::check,
    patterns::check,
    rules::check,
];

/// All that is wrong with a kind: errors first, then warnings.
pub fn check(crd: &Crd, places: &Places) -> (Vec<Problem>, Vec<Problem>) {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    let stored = |version: &&Value| version["storage"] == json!(true);
    for version in crd.versions() {
        let name = version["name"].as_str().unwrap_or_default();
        let mut found = Vec::new();
        names::check(crd, version, &mut found);
        nested::root(version, &mut found);
        node::walk(&version["schema"]["openAPIV3Schema"], &mut |node| {
            for check in CHECKS {
                check(node, &mut found);
            }
            if let Some(field) = places.way(&crd.kind, name, &node.path).field {
                ignored::check(node, &field.claims, &mut found);
            }
        });
        if stored(&version) {
            found.extend(size::check(crd));
        }
        for finding in found {
            let way = places.way(&crd.kind, name, &finding.path);
            let problem = || problem(crd, name, &finding, way.shown());
            match finding.allow {
                None => errors.push(problem()),
                Some(warning) if places.allows(&way, warning) => {}
                Some(_) => warnings.push(problem()),
            }
        }
    }
    (errors, warnings)
}

/// The warnings that a comment can silence.
const ALLOWED: [&str; 6] = ["bytes", "cost", "float", "format", "size", "versions"];

/// What is wrong with the comments that silence warnings.
pub fn comments(markers: &[Marker]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for marker in markers {
        for (key, names) in &marker.arguments {
            let unknown = names
                .iter()
                .filter(|name| !ALLOWED.contains(&name.as_str()));
            problems.extend(unknown.map(|name| {
                let text = format!("`{name}` is no warning that can be allowed");
                let near = nearest(name, ALLOWED);
                Problem::new(text).at(&marker.at).did_you_mean(near)
            }));
            if key != "allow" {
                let text = format!("`{key}` is no argument of `+kbr:lint`");
                problems.push(
                    Problem::new(text)
                        .at(&marker.at)
                        .help("write `// +kbr:lint:allow=<name>`"),
                );
            }
        }
    }
    problems
}

/// What may have made the generator fail.
pub fn panics(places: &Places) -> Vec<Problem> {
    let all = places.panicking();
    let problem = |known: &places::Type| {
        let (why, help) = known.panics.clone()?;
        let text = format!("perhaps because {why}");
        Some(Problem::new(text).at(&known.spot.shown()).help(help))
    };
    all.filter_map(problem).collect()
}

fn problem(crd: &Crd, version: &str, finding: &Finding, place: Option<String>) -> Problem {
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
        .map(|name| format!(", or say above it that it is meant: `// +kbr:lint:allow={name}`"));
    let help = format!("{}{}", finding.help, allow.unwrap_or_default());
    let problem = Problem::new(text).help(help);
    match place {
        Some(place) => problem.at(&place),
        None => problem,
    }
}
