//! `kbr manifests finalizers`: the finalizers that the operator's controllers set, as their registrations name them.

use std::collections::BTreeSet;
use std::path::Path;

use super::kinds::Kinds;
use super::packages::packages;
use super::problem::{self, Problem};
use super::registrations::finalizers;
use super::sources::Sources;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::rust::Source;
use kbr_scaffold::workdir;

/// `RESOURCE=FINALIZER` for each finalizer of a controller, such as `captains.crew.example.com=crew.example.com/captain`.
/// Reads the sources and builds nothing.
///
/// # Errors
/// The sources cannot be read, or the name of a finalizer is neither a string nor a constant that is one.
pub fn named(root: &Path) -> anyhow::Result<BTreeSet<String>> {
    let project = &workdir::load(root)?;
    // Markers are not used here, so `kbr manifests` reports invalid ones.
    let sources = Sources::read(root, &packages(root)?, &mut Vec::new())?;
    let (found, problems) = find(&Kinds::recorded(project), &sources);
    match problem::error(problems) {
        Some(error) => Err(error.into()),
        None => Ok(found),
    }
}

fn find(kinds: &Kinds, sources: &Sources) -> (BTreeSet<String>, Vec<Problem>) {
    let mut found = BTreeSet::new();
    let mut problems = Vec::new();
    for source in &sources.files {
        for finalizer in finalizers(kinds, source) {
            let arguments = &source.text[source.text.len() - finalizer.arguments.len()..];
            match name(arguments, sources) {
                Some(name) => {
                    found.insert(format!("{}={name}", resource(finalizer.kind)));
                }
                None => problems.push(unknown(source, finalizer.line)),
            }
        }
    }
    (found, problems)
}

/// `captains.crew.example.com`, or `pods` of the core group.
fn resource(kind: &Target) -> String {
    match kind.full_group.as_str() {
        "" => kind.plural.clone(),
        group => format!("{}.{group}", kind.plural),
    }
}

/// The name in the first argument: a string, or a constant that is one.
fn name(arguments: &str, sources: &Sources) -> Option<String> {
    let first = arguments.trim_start();
    if let Some(text) = string(first) {
        return Some(text.to_owned());
    }
    let end = first.find(|sign: char| !(sign.is_alphanumeric() || "_:".contains(sign)))?;
    let constant = first[..end].rsplit("::").next()?;
    let values: BTreeSet<_> = sources
        .files
        .iter()
        .flat_map(|it| values(it, constant))
        .collect();
    // Constants of this name with different values are a question for the compiler.
    match values.into_iter().collect::<Vec<_>>()[..] {
        [value] => Some(value.to_owned()),
        _ => None,
    }
}

/// The strings that the file gives to constants of this name.
fn values<'a>(source: &'a Source, constant: &str) -> impl Iterator<Item = &'a str> {
    let code = source.code().unwrap_or_default();
    let declared = format!("const {constant}:");
    let all: Vec<_> = code.match_indices(&declared).collect();
    all.into_iter().filter_map(|(at, _)| {
        let value = at + code[at..].find('=')? + 1;
        string(source.text[value..].trim_start())
    })
}

/// The content of the string literal with which the text begins. Names of finalizers need no escapes.
fn string(text: &str) -> Option<&str> {
    let (content, _) = text.strip_prefix('"')?.split_once('"')?;
    (!content.contains('\\')).then_some(content)
}

fn unknown(source: &Source, line: usize) -> Problem {
    Problem::new("kbr cannot read the name of this finalizer")
        .at(&format!("{}:{line}", source.path))
        .help("write it as a string, or as a constant: `const FINALIZER: &str = \"…\";`")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROJECT: &str =
        "layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"crew\"\ndomain = \"example.com\"\n";
    const KINDS: &str = "use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};\n";

    /// The finalizers in a file, and the problems.
    fn check(code: &str, expected: &[&str], problems: &[&str]) {
        let project = kbr_scaffold::project::parse(PROJECT).expect("a project");
        let sources = Sources::of("a.rs", &format!("{KINDS}{code}"), Vec::new());
        let (found, unknown) = find(&Kinds::recorded(&project), &sources);
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{code}");
        let unknown: Vec<_> = unknown.iter().map(ToString::to_string).collect();
        assert_eq!(unknown.len(), problems.len(), "{code}: {unknown:?}");
        for (found, expected) in unknown.iter().zip(problems) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn a_finalizer_is_a_string_or_a_constant() {
        let call = |name: &str| format!("x.controller::<Job>(\"job\").finalizer({name}, f);\n");
        let found = &["jobs.batch=a.b/c"];
        check(&call("\"a.b/c\""), found, &[]);
        check(&call("\n    \"a.b/c\""), found, &[]);
        let constant = "pub(crate) const NAME: &str =\n    \"a.b/c\";\n";
        check(&(call("NAME") + constant), found, &[]);
        check(&(call("super::NAME") + constant), found, &[]);
        check(
            &(call("NAME") + constant + "// const NAME: &str = \"x\";"),
            found,
            &[],
        );
        let unknown = "`a.rs:2`: kbr cannot read the name of this finalizer";
        check(&call("NAME"), &[], &[unknown]);
        check(&call("name()"), &[], &[unknown]);
        check(&call("\"a\\u{62}\""), &[], &[unknown]);
        check(
            &(call("NAME") + constant + "const NAME: &str = \"x\";"),
            &[],
            &[unknown],
        );
    }

    #[test]
    fn only_controllers_have_finalizers_each_its_own() {
        check(
            "x.controller::<Job>(\"job\").reconcile(r);\ny.finalizer(\"a\", f);",
            &[],
            &[],
        );
        check(
            "// x.controller::<Job>(\"job\").finalizer(\"a/b\", f);",
            &[],
            &[],
        );
        check(
            "x.controller::<Job>(\"job\").finalizer(\"a/b\", f);\nx.controller::<Pod>(\"pod\").finalizer(\"a/b\", f);",
            &["jobs.batch=a/b", "pods=a/b"],
            &[],
        );
    }
}
