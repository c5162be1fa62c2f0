//! Reports where PROJECT, which records the commands that ran, differs from the types, which decide the manifests.

use std::collections::BTreeSet;

use serde_json::Value;

use super::crd::Crd;
use super::problem::Problem;
use kbr_host::lines::Lines;
use kbr_scaffold::project::Project;
use kbr_scaffold::resource::Resource;

/// Help for a kind that PROJECT and the types describe differently.
const HELP: &str = "update `[[api]]` to match the type, or revert the type: kbr generates manifests from types, but later commands read PROJECT";

/// A warning for each kind that differs.
pub fn differences(project: &Project, crds: &[Crd]) -> Vec<Problem> {
    let mut warnings = Vec::new();
    let mut seen = BTreeSet::new();
    for api in project.apis() {
        if !seen.insert((&api.full_group, &api.kind)) {
            continue;
        }
        let known: Vec<&Resource> = project
            .apis()
            .filter(|other| other.is_version_of(api))
            .collect();
        let typed = crds.iter().find(|crd| is_of(crd, api));
        let name = format!("`{}` of group `{}`", api.kind, api.full_group);
        match typed {
            Some(crd) => warnings.extend(compare(&name, &known, crd)),
            None => warnings.push(
                Problem::new(format!("PROJECT lists {name}, but no type defines it")).help(HELP),
            ),
        }
    }
    let unknown = crds
        .iter()
        .filter(|crd| !project.apis().any(|api| is_of(crd, api)));
    warnings.extend(unknown.map(|crd| {
        let text = format!(
            "a type defines `{}` of group `{}`, but PROJECT does not list it",
            crd.kind, crd.group
        );
        Problem::new(text).help("add an `[[api]]` as `kbr create api` does: kbr generates manifests from types, but later commands read PROJECT")
    }));
    warnings
}

fn is_of(crd: &Crd, api: &Resource) -> bool {
    crd.group == api.full_group && crd.kind == api.kind
}

/// `known` holds every version of the kind of `crd`, at least one.
fn compare(name: &str, known: &[&Resource], crd: &Crd) -> Option<Problem> {
    let first = known.first()?;
    let names = &crd.object["spec"]["names"];
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let scope = if first.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    // The API server derives a missing singular name from the kind.
    let singular = word(&names["singular"]).unwrap_or_else(|| first.kind_lower());
    let in_order = |mut words: Vec<String>| {
        words.sort_unstable();
        words.join(", ")
    };
    let short_names = names["shortNames"].as_array().into_iter().flatten();
    let versions = crd.versions().iter().map(|version| &version["name"]);
    let differences: Vec<String> = [
        ("plural", first.plural.clone(), crd.plural.clone()),
        ("singular", first.singular.clone(), singular),
        (
            "scope",
            scope.to_owned(),
            word(&crd.object["spec"]["scope"]).unwrap_or_default(),
        ),
        (
            "short names",
            in_order(first.short_names.clone()),
            in_order(short_names.filter_map(word).collect()),
        ),
        (
            "versions",
            in_order(known.iter().map(|api| api.version.clone()).collect()),
            in_order(versions.filter_map(word).collect()),
        ),
    ]
    .into_iter()
    .filter(|(_, project, types)| project != types)
    .map(|(what, project, types)| {
        format!("  {what}: `{project}` in PROJECT, `{types}` in the types")
    })
    .collect();
    (!differences.is_empty()).then(|| {
        Problem::new(format!("PROJECT and the types disagree about {name}"))
            .below(differences.iter().collect::<Lines>())
            .help(HELP)
    })
}
