//! Compares the conversions that the CRDs require with those that the code registers.

use crate::crd::Crd;
use crate::kinds::Kinds;
use crate::problem::Problem;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::target::Target;
use kbr_scaffold::rust::Source;
use kbr_scaffold::rust::uses::call;

/// Looks for `manager.spoke::<Hub, Spoke>()` for each served version of the CRDs whose conversion calls the operator. Without it,
/// the conversion fails, and objects cannot be read in that version.
pub fn check_conversions(
    kinds: &Kinds,
    sources: &[Source],
    project: &Project,
    crds: &[Crd],
    problems: &mut Vec<Problem>,
) {
    let mut converted: Vec<&Target> = Vec::new();
    for source in sources {
        match pairs(kinds, source) {
            Some(found) => converted.extend(found),
            // Only the compiler can resolve these types.
            None => return,
        }
    }
    for crd in crds {
        if crd.object["spec"]["conversion"]["strategy"] != "Webhook" {
            continue;
        }
        let is_there = |version: &str| {
            converted.iter().any(|kind| {
                (
                    kind.full_group.as_str(),
                    kind.kind.as_str(),
                    kind.version.as_str(),
                ) == (&crd.group, &crd.kind, version)
            })
        };
        let served = crd
            .versions()
            .iter()
            .filter(|version| version["served"] == true);
        let names = served.filter_map(|version| version["name"].as_str());
        let missing: Vec<_> = names.filter(|name| !is_there(name)).collect();
        if !missing.is_empty() {
            problems.push(problem(crd, &missing.join("`, `"), project));
        }
    }
}

fn problem(crd: &Crd, missing: &str, project: &Project) -> Problem {
    let (group, kind) = (&crd.group, &crd.kind);
    let text = format!(
        "`{kind}` of group `{group}`: the operator does not convert `{missing}`, but the CRD requires it"
    );
    let hub = project.hub(group, kind);
    let hub = hub.map_or("…", |hub| &hub.target.version);
    Problem::new(text).help(format!(
        "register it in `src/webhooks`, `manager.spoke::<Hub, Spoke>()`, which `kbr create webhook --group {group} --version {hub} --kind {kind} --conversion` writes; or remove its `::spoke(crds)` from `api/src/lib.rs`"
    ))
}

/// Both types of each pair that a file registers; `None` if they cannot be determined without a compiler.
fn pairs<'a>(kinds: &'a Kinds, source: &Source) -> Option<Vec<&'a Target>> {
    if !source.text.contains(".spoke") {
        return Some(Vec::new());
    }
    // A file with an unterminated string is reported where its markers are read.
    let code = source.code()?;
    let mut found = Vec::new();
    for (at, method) in code.match_indices(".spoke") {
        let Some((types, _)) = call(&code[at + method.len()..]) else {
            continue;
        };
        let types = types?;
        let (hub, spoke) = types.split_once(',')?;
        for name in [hub, spoke.trim_end_matches(',')] {
            found.push(kinds.find(&source.resolve(name))?);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::crd::merge;

    const REGISTER: &str = "use api::crew::v2::Captain;
use api::crew::v1::Captain as CaptainV1;
fn register(manager: &mut Manager) {
    manager.spoke::<Captain, CaptainV1>();
}";

    /// The problems of code in a project with the hub `v2` and the spokes `v1` and `v3`.
    #[track_caller]
    fn report(code: &str) -> String {
        let api = |version: &str| {
            format!(
                "[[api]]\ngroup = 'crew'\nfull_group = 'crew.io'\nversion = '{version}'\nkind = 'Captain'\n\
                 plural = 'captains'\nsingular = 'captain'\nnamespaced = true\n"
            )
        };
        let head = "layout = 'v1'\nkbr = '0.3.0'\nname = 'captains'\ndomain = 'io'\n";
        let text = [head, &api("v1"), &api("v2"), &api("v3")].concat();
        let project = kbr_scaffold::project::parse(&text).unwrap();
        let part = |version: &str, stored: bool| -> Value {
            json!({ "metadata": { "name": "captains.crew.io" }, "spec": {
                "group": "crew.io", "scope": "Namespaced", "conversion": { "strategy": "Webhook" },
                "names": { "kind": "Captain", "plural": "captains", "singular": "captain" },
                "versions": [{ "name": version, "served": version != "v3", "storage": stored }],
            } })
        };
        let parts = [part("v1", true), part("v2", false), part("v3", false)];
        let mut problems = Vec::new();
        let crds = merge(
            &parts,
            &crate::source_map::SourceMap::default(),
            &mut problems,
        );
        assert!(problems.is_empty(), "{problems:?}");
        let sources = [Source::new("a.rs", code)];
        let kinds = Kinds::of(&project, &crds);
        check_conversions(&kinds, &sources, &project, &crds, &mut problems);
        let report: Vec<_> = problems.iter().map(ToString::to_string).collect();
        report.join("\\n")
    }

    #[test]
    fn a_served_and_registered_version_is_accepted() {
        assert_eq!(report(REGISTER), "");
        assert_eq!(
            report("manager.spoke::<api::crew::v2::Captain, api::crew::v1::Captain,>();"),
            ""
        );
    }

    #[test]
    fn a_version_without_registered_conversion_is_a_problem() {
        let problem =
            report("// manager.spoke::<api::crew::v2::Captain, api::crew::v1::Captain>();");
        assert!(
            problem.contains("the operator does not convert `v2`, `v1`, but the CRD requires it"),
            "{problem}"
        );
        assert!(
            problem.contains(
                "`kbr create webhook --group crew.io --version … --kind Captain --conversion`"
            ),
            "{problem}"
        );
    }

    #[test]
    fn types_that_only_the_compiler_can_resolve_are_not_reported() {
        assert_eq!(report("manager.spoke::<Hub, T>();"), "");
        assert_eq!(report("manager.spoke(x);"), "");
    }
}
