//! Whether serde and the schema of a kind agree: what the API server accepts can be read, and what is written of it is accepted and is the
//! same.
//!
//! Nothing here knows an attribute. Objects are made from the schema ([`objects`]), each different at one field; the project's generator
//! answers what its types read and write of them; and the rules of the API server judge the result. So a difference that no lint has a
//! name for is found, too, and at its field.

mod objects;
mod place;
mod verdict;

use std::collections::BTreeSet;

use crd_lint::{Finding, Severity, schemas};
use serde_json::Value;

use super::crd::Crd;
use super::problem::Problem;
use super::source_map::SourceMap;
use objects::{Schema, Tried};
use place::Path;

/// The source of the generator.
const GENERATOR: &str = "api/src/bin/crdgen.rs";

/// The number of required fields of a version that are replaced because serde cannot read what the schema says.
const REPLACED: usize = 8;

/// What the types of the project read and write of an object, or why they cannot. `None` if the generator does not know its kind.
pub type Answer = Option<Result<Value, String>>;

/// Asks the types of the project about objects, each in a line: an answer for each; `None` if the generator cannot answer.
pub type Ask<'a> = dyn FnMut(&[String]) -> anyhow::Result<Option<Vec<Answer>>> + 'a;

/// A version of a kind, and what is found about it.
struct Version<'a> {
    crd: &'a Crd,
    schema: Schema<'a>,
    /// An object with what is required. Once the types can read it, each other object differs from it in one field.
    base: Value,
    state: State,
    /// The field that could not be read last, and what is still to be tried there.
    failed: Option<Path>,
    replacements: Vec<Value>,
    findings: Vec<Finding>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The types have not read the first object yet.
    Open,
    Readable,
    /// They read nothing that is put into it.
    Unreadable,
    /// The generator does not know the kind.
    Unknown,
}

/// The result for each of the kinds; `None` if the generator does not answer.
///
/// # Errors
/// It cannot run.
pub fn check(
    crds: &[&Crd],
    map: &SourceMap,
    ask: &mut Ask,
) -> anyhow::Result<Option<Vec<Checked>>> {
    let mut versions: Vec<Version> = crds.iter().copied().flat_map(versions).collect();
    if !make_readable(&mut versions, ask)? {
        return Ok(None);
    }
    try_objects(&mut versions, map, ask)?;
    let checked = crds.iter().map(|crd| {
        let own = || versions.iter().filter(|it| std::ptr::eq(it.crd, *crd));
        Checked {
            found: own().flat_map(|it| distinct(&it.findings)).collect(),
            is_unknown: own().any(|it| it.state == State::Unknown),
        }
    });
    Ok(Some(checked.collect()))
}

/// Changes the first object of each version until the types can read it. Returns whether the generator answers.
fn make_readable(versions: &mut [Version], ask: &mut Ask) -> anyhow::Result<bool> {
    for _ in 0..REPLACED * objects::MOST {
        let open = versions.iter_mut().filter(|it| it.state == State::Open);
        let mut open: Vec<&mut Version> = open.collect();
        let texts: Vec<String> = open.iter().map(|it| it.base.to_string()).collect();
        if texts.is_empty() {
            break;
        }
        let Some(answers) = ask(&texts)? else {
            return Ok(false);
        };
        for ((version, text), answer) in open.iter_mut().zip(&texts).zip(answers) {
            version.state = match answer {
                None => State::Unknown,
                Some(Ok(_)) => State::Readable,
                Some(Err(why)) if version.replace(text, &why) => State::Open,
                Some(Err(_)) => State::Unreadable,
            };
        }
    }
    Ok(true)
}

/// Passes objects of each version that differ in one field through the types.
fn try_objects(versions: &mut [Version], map: &SourceMap, ask: &mut Ask) -> anyhow::Result<()> {
    let mut tried: Vec<(usize, Tried)> = Vec::new();
    for (at, version) in versions.iter().enumerate() {
        if version.state == State::Readable {
            let (kind, name) = (&version.crd.kind, version.schema.version);
            let is_own = |path: &Path| !map.locate(kind, name, &path.shown()).is_foreign;
            let all = version.schema.objects(&version.base, &is_own);
            tried.extend(all.into_iter().map(|it| (at, it)));
        }
    }
    let texts: Vec<String> = tried.iter().map(|(_, it)| it.object.to_string()).collect();
    if texts.is_empty() {
        return Ok(());
    }
    let answers = ask(&texts)?.unwrap_or_default();
    let mut before = None;
    for ((at, tried), answer) in tried.iter().zip(&answers) {
        let version = &mut versions[*at];
        let (schema, findings) = (&version.schema, &mut version.findings);
        match (before.filter(|_| tried.is_again), answer) {
            (Some(before), Some(answer)) => {
                findings.extend(verdict::unstable(schema, tried, [before, answer]));
            }
            (None, Some(answer)) => findings.extend(verdict::of(schema, tried, answer)),
            (_, None) => {}
        }
        before = answer.as_ref();
    }
    Ok(())
}

/// The result for a kind.
#[derive(Debug, Default)]
pub struct Checked {
    pub found: Vec<Finding>,
    /// Whether the generator answers no object of some version.
    pub is_unknown: bool,
}

/// The warning that the generator does not answer objects of a kind with the types at these paths.
pub fn unknown(crd: &Crd, types: &[String]) -> Problem {
    let text = format!(
        "the generator does not read objects of `{}`, so serde is not compared with its schema",
        crd.kind
    );
    let lines: Vec<String> = types
        .iter()
        .map(|path| format!("`again::<{path}>,`"))
        .collect();
    let help = format!(
        "in `{GENERATOR}`, add the type of each version to the list in `answer`: {}",
        lines.join(", ")
    );
    Problem::new(text).at(GENERATOR).help(help)
}

/// The warning that the generator does not answer at all.
pub fn unanswered() -> Problem {
    let text = "the generator does not read objects, so serde is not compared with the schemas";
    let help = format!(
        "write in `{GENERATOR}` what `kbr init` writes there in a new project, and the type of each version in the list in `answer`"
    );
    Problem::new(text).at(GENERATOR).help(help)
}

/// Kinds of which the second run of the generator prints something else.
pub fn unsteady(first: &[Crd], second: &[Crd], map: &SourceMap) -> Vec<Problem> {
    let differ = first
        .iter()
        .zip(second)
        .filter(|(first, second)| first != second);
    let problem = |(first, second): (&Crd, &Crd)| {
        let versions = first.versions().iter().zip(second.versions());
        let mut places = versions.filter_map(|(a, b)| {
            let [a_schema, b_schema] = [a, b].map(|it| schemas(&it["schema"]["openAPIV3Schema"]));
            let mut both = a_schema.into_iter().zip(b_schema);
            let (path, _) = both
                .find(|((_, a), (_, b))| a["default"] != b["default"])?
                .0;
            Some((a["name"].as_str().unwrap_or_default(), path))
        });
        let place = places.next();
        let at = match &place {
            Some((version, path)) => {
                format!(" of `{}/{version}`, `{path}`: the default", first.group)
            }
            None => ": the definition".to_owned(),
        };
        let text = format!(
            "`{}`{at} differs from run to run, so that what `kbr manifests` writes is stale at once",
            first.kind
        );
        let problem = Problem::new(text).help("a default may depend neither on the time nor on the order of a `HashSet` or `HashMap`: use a `BTreeSet` or `BTreeMap`");
        let shown =
            place.and_then(|(version, path)| map.locate(&first.kind, version, &path).shown());
        match shown {
            Some(shown) => problem.at(&shown),
            None => problem,
        }
    };
    differ.map(problem).collect()
}

/// One finding for each field, the first error or the first warning. What is around a field fails with it, so it has no finding unless
/// it is the worse one.
fn distinct(findings: &[Finding]) -> Vec<Finding> {
    let mut all: Vec<&Finding> = findings.iter().collect();
    all.sort_by_key(|finding| finding.severity == Severity::Warning);
    let mut seen = BTreeSet::new();
    all.retain(|finding| seen.insert(finding.path.as_str()));
    let is_around = |finding: &Finding| {
        all.iter().any(|inner| {
            let rest = inner.path.strip_prefix(finding.path.as_str());
            let is_inner = rest.is_some_and(|rest| rest.starts_with(['.', '[']));
            let is_worse = finding.severity == Severity::Error && inner.severity != Severity::Error;
            is_inner && !is_worse
        })
    };
    let kept = all.iter().filter(|finding| !is_around(finding));
    kept.map(|finding| (*finding).clone()).collect()
}

fn versions(crd: &Crd) -> Vec<Version<'_>> {
    let versions = crd.versions().iter().filter_map(|version| {
        let schema = Schema::of(crd, version)?;
        let base = schema.base()?;
        Some(Version {
            crd,
            schema,
            base,
            state: State::Open,
            failed: None,
            replacements: Vec::new(),
            findings: Vec::new(),
        })
    });
    versions.collect()
}

impl Version<'_> {
    /// Puts something else where serde failed, and notes it. Returns whether there was something left to put.
    fn replace(&mut self, text: &str, why: &str) -> bool {
        let failed = place::failed(text, why);
        if self.failed.as_ref() != Some(&failed) {
            if self.findings.len() == REPLACED {
                return false;
            }
            let value = failed.get(&self.base).cloned().unwrap_or_default();
            let found = verdict::unreadable(&self.schema, &failed, &value, why);
            self.replacements = self.schema.others(&self.base, &failed);
            if found.severity == Severity::Error {
                self.replacements.extend(place::others(why));
                self.schema.replaced.push(failed.shown());
            }
            self.findings.push(found);
            self.replacements.reverse();
            self.failed = Some(failed.clone());
        }
        let next = self.replacements.pop();
        next.is_some_and(|value| failed.set(&mut self.base, value))
    }
}

#[cfg(test)]
mod tests;
