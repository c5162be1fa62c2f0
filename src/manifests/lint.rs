//! The findings about definitions, as problems of this project: at the line of Rust, without those that are allowed.

mod ignored;

use crd_lint::{Finding, Severity};
use serde_json::{Value, json};

use super::allow::{self, Allow};
use super::crd::Crd;
use super::problem::Problem;
use super::source_map::{Located, RustType, SourceMap};

/// All that is wrong with a kind: errors first, then warnings.
pub fn check(crd: &Crd, map: &SourceMap, allow: &Allow) -> (Vec<Problem>, Vec<Problem>) {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    let mut findings = crd_lint::lint(&crd.object);
    findings.extend(ignored::check(crd, map));
    for finding in findings {
        let version = finding.version.as_deref();
        let version = version.unwrap_or_else(|| stored(crd));
        let located = map.locate(&crd.kind, version, &finding.path);
        if allow::is_allowable(finding.id)
            && (allow.has(finding.id) || map.allows(&located, finding.id))
        {
            continue;
        }
        let problem = problem(crd, &finding, &located);
        match finding.severity {
            Severity::Error => errors.push(problem),
            Severity::Warning => warnings.push(problem),
        }
    }
    (errors, warnings)
}

/// The version that stands for a definition as a whole.
fn stored(crd: &Crd) -> &str {
    let mut stored = crd.versions().iter();
    let stored = stored.find(|version| version["storage"] == json!(true));
    let name = stored.or(crd.versions().first()).map(|it| &it["name"]);
    name.and_then(Value::as_str).unwrap_or_default()
}

fn problem(crd: &Crd, finding: &Finding, located: &Located) -> Problem {
    let of = match &finding.version {
        Some(version) => format!("`{}/{version}`", crd.group),
        None => format!("group `{}`", crd.group),
    };
    let at = match finding.path.as_str() {
        "" => String::new(),
        path => format!(", `{path}`"),
    };
    let text = format!("`{}` of {of}{at}: {}", crd.kind, finding.message);
    let problem = helps(finding)
        .into_iter()
        .fold(Problem::new(text), Problem::help);
    let problem = match finding.severity {
        Severity::Warning => problem.or_meant(finding.id),
        Severity::Error if allow::is_allowable(finding.id) => problem.or_newer(finding.id),
        Severity::Error => problem,
    };
    match located.shown() {
        Some(place) => problem.at(&place),
        None => problem,
    }
}

/// What to do in a project of kbr's.
fn helps(finding: &Finding) -> Vec<String> {
    match finding.id {
        "size" => vec!["`make install` and `make deploy` use that; `max_description_length = 0` under `[manifests]` in PROJECT makes it smaller".to_owned()],
        _ => finding.helps.clone(),
    }
}

/// What may have made the generator fail.
pub fn panics(map: &SourceMap) -> Vec<Problem> {
    let problem = |known: &RustType| {
        let (why, help) = known.panics.clone()?;
        let text = format!("perhaps because {why}");
        Some(Problem::new(text).at(&known.span.shown()).help(help))
    };
    map.panicking().filter_map(problem).collect()
}
