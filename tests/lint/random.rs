//! Random types either are let through and taken by the API server, or refused by kbr: there is no third case.

use lint_fixtures::random::{definition, named};
use serde_json::Value;

use crate::project::Project;
use crate::server;

/// What kbr refuses although the API server takes it, because objects would be spoiled.
/// A default in a map is looked at by nobody, and then every object that gets it is refused.
/// The type of a default is not seen either for what is a number or a string, and for a list under a string with a format.
const SPOILED: [&str; 5] = [
    "lose their fields",
    "conditions are a list without a key",
    "[*]",
    "is of type `array`, not `string`",
    "not `integer` or `string`",
];

/// Types that were a third case once: the seed that they came from (of the generator as it was then) and their schema.
const FOUND: &str = include_str!("random-found.txt");

/// What became of some definitions.
#[derive(Debug, Default)]
struct Judged {
    taken: usize,
    by_kbr_alone: usize,
    /// Each third case.
    wrong: Vec<String>,
}

fn judge(crds: &[Value]) -> Judged {
    let said = Project::new().manifests(&Value::from(crds));
    let refused = server::refusals(crds);
    let mut judged = Judged::default();
    for crd in crds {
        let kind = crd["spec"]["names"]["kind"].as_str().expect("a kind");
        let theirs = refused.get(crd["metadata"]["name"].as_str().expect("a name"));
        let start = format!("  `{kind}` of ");
        let ours: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with(&start))
            .collect();
        let spoils = |line: &&str| SPOILED.iter().any(|known| line.contains(known));
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let number = kind.trim_start_matches("Kind");
        let line = format!("keep it in `tests/lint/random-found.txt`:\n{number} {schema}");
        match (theirs, ours.as_slice()) {
            (None, []) => judged.taken += 1,
            (Some(reason), []) if server::is_cost(reason) => judged.taken += 1,
            (Some(reason), []) => judged.wrong.push(format!(
                "{kind} is let through, and refused: {reason}\n{line}"
            )),
            (None, all) if all.iter().any(spoils) => judged.by_kbr_alone += 1,
            (None, all) => judged
                .wrong
                .push(format!("{kind} is refused, and taken: {all:?}\n{line}")),
            (Some(_), _) => {}
        }
    }
    judged
}

fn those_found_before() -> Vec<Value> {
    let rows = super::rows(FOUND).into_iter();
    let crds = rows.map(|(seed, schema)| {
        let schema = serde_json::from_str(schema).expect("JSON");
        named(seed.parse().expect("a number"), schema)
    });
    crds.collect()
}

/// As many as `KBR_RANDOM_TYPES` says, from the seed `KBR_RANDOM_SEED` on.
#[test]
fn what_kbr_lets_through_the_api_server_takes_and_the_other_way_round() {
    let Judged { wrong, .. } = judge(&those_found_before());
    assert!(wrong.is_empty(), "found before:\n{}", wrong.join("\n\n"));
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let (count, first) = (
        number("KBR_RANDOM_TYPES", 400),
        number("KBR_RANDOM_SEED", 1),
    );
    std::panic::set_hook(Box::new(|_| {}));
    let crds: Vec<Value> = (first..first + count).filter_map(definition).collect();
    drop(std::panic::take_hook());
    let Judged {
        taken,
        by_kbr_alone,
        wrong,
    } = judge(&crds);
    println!(
        "{count} types: {} definitions, {taken} taken, {} refused by both, {by_kbr_alone} by kbr because they spoil objects",
        crds.len(),
        crds.len() - taken - by_kbr_alone - wrong.len(),
    );
    assert!(
        taken > crds.len() / 20,
        "most random types are wrong, and these prove little"
    );
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        crds.len(),
        wrong.join("\n\n")
    );
}
