use lint_fixtures::disagreements::{DOUBTFUL, Kind, RIGHT, WRONG};
use serde_json::to_value;

use super::*;
use crate::crd;

/// What is found about a kind: `error .spec.value: …`, a line each.
fn findings((name, definition, again): &Kind) -> Vec<String> {
    let map = SourceMap::default();
    let printed = [to_value(definition()).unwrap()];
    let mut problems = Vec::new();
    let mut crds = crd::merge(&printed, &map, &mut problems);
    assert_eq!((crds.len(), problems), (1, Vec::new()), "{name}");
    let lints = crd_lint::lint(&crds[0].object);
    let lints = lints.iter().filter(|it| it.severity == Severity::Error);
    assert_eq!(lints.collect::<Vec<_>>(), Vec::<&Finding>::new(), "{name}");
    crds[0].drop_formats();
    let ask = &mut |objects: &[String]| {
        let answers = objects.iter().map(|object| Some(again(object)));
        Ok(Some(answers.collect()))
    };
    let checked = check(&[&crds[0]], &map, ask).unwrap().unwrap();
    let found = checked.into_iter().flat_map(|it| it.found);
    let found = found.map(|it| format!("{} {}: {}", it.severity, it.path, it.message));
    found.collect()
}

#[test]
fn a_type_that_disagrees_with_its_schema_is_found_at_its_field() {
    let all = WRONG.iter().chain(DOUBTFUL);
    let lines = all.map(|kind| format!("{}\n    {}\n", kind.0, findings(kind).join("\n    ")));
    let lines: String = lines.collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/agreement/tests.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &lines).unwrap();
    }
    assert_eq!(
        lines,
        std::fs::read_to_string(path).unwrap(),
        "run `make update`"
    );
}

#[test]
fn a_type_that_agrees_with_its_schema_has_no_finding() {
    for kind in RIGHT {
        assert_eq!(findings(kind), Vec::<String>::new(), "{}", kind.0);
    }
}

#[test]
fn what_is_around_a_field_has_a_finding_only_if_it_is_worse() {
    let finding = |severity, path: &str| Finding {
        id: "serde",
        severity,
        version: None,
        path: path.to_owned(),
        message: String::new(),
        helps: Vec::new(),
    };
    let kept = |findings: &[Finding]| {
        let kept = distinct(findings).into_iter();
        kept.map(|it| format!("{} {}", it.severity, it.path))
            .collect::<Vec<_>>()
    };
    let (error, warning) = (Severity::Error, Severity::Warning);
    let both = |outer, inner| kept(&[finding(outer, ".spec"), finding(inner, ".spec.a")]);
    assert_eq!(both(error, error), ["error .spec.a"]);
    assert_eq!(both(warning, error), ["error .spec.a"]);
    assert_eq!(both(warning, warning), ["warning .spec.a"]);
    assert_eq!(both(error, warning), ["error .spec", "warning .spec.a"]);
    let same = [
        finding(warning, ".spec.a"),
        finding(error, ".spec.a"),
        finding(warning, ".spec.ab"),
    ];
    assert_eq!(kept(&same), ["error .spec.a", "warning .spec.ab"]);
}
