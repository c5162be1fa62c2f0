use super::super::markers::markers;
use super::*;
use kbr_scaffold::rust::Source;

mod golden;
mod manifests;
mod merged;
mod rejected;

fn roles(markers_text: &[&str]) -> (Roles, Vec<String>) {
    let lines: Vec<String> = markers_text
        .iter()
        .map(|text| format!("// +kbr:rbac:{text}"))
        .collect();
    let source = lines.join("\n");
    let mut problems = Vec::new();
    let found = markers(&Source::new("a.rs", &source), &mut problems);
    let roles = Roles::new("manager-role", &found, &own(), &mut problems);
    (roles, problems.iter().map(ToString::to_string).collect())
}

/// The project's own kinds.
fn own() -> Vec<(String, String)> {
    let names = ["captains/status", "captains/finalizers", "captains"];
    names
        .map(|name| ("crew.example.com".to_owned(), name.to_owned()))
        .to_vec()
}

/// Each rule as `groups / resources / names / urls : verbs`, under its role as `namespace/name`.
fn check(markers: &[&str], expected: &[&str]) {
    let (roles, problems) = roles(markers);
    assert_eq!(problems, [""; 0]);
    let join = |set: &Set| set.iter().map(String::as_str).collect::<Vec<_>>().join(";");
    let shown: Vec<String> = roles
        .0
        .iter()
        .flat_map(|((namespace, name), rules)| {
            let head = format!("= {namespace}/{name}");
            let lines = rules.iter().map(|r| {
                let of = [&r.groups, &r.resources, &r.names, &r.urls].map(join);
                format!("{} : {}", of.join(" / "), join(&r.verbs))
            });
            std::iter::once(head).chain(lines).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(shown, expected);
}

fn rejected(marker: &str, reason: &str) {
    let (_, problems) = roles(&[marker]);
    let [problem] = &problems[..] else {
        panic!("one problem with {marker}, not {problems:?}");
    };
    assert!(
        problem.starts_with("`a.rs:1`: ") && problem.contains(reason),
        "{problem}"
    );
}
