//! For random types, kbr and the API server agree: both accept or both reject them.

use lint_fixtures::random::{definition, named};
use serde_json::Value;

use crate::project::Project;
use crate::server;

/// Findings for which kbr rejects types that the API server accepts, because objects would be corrupted. The API server does not check
/// defaults in maps, and then rejects every object that gets one. It does not check the type of a default for an int-or-string either,
/// nor for a list if the schema is a string with a format.
const CORRUPTING: [&str; 5] = [
    "lose their fields",
    "list of conditions has no key",
    "[*]",
    "is of type `array`, not `string`",
    "not `integer` or `string`",
];

/// Types on which kbr and the API server once disagreed: the seed (of the generator at that time) and the schema.
const FOUND: &str = include_str!("random-found.txt");

/// The results for some definitions.
#[derive(Debug, Default)]
struct Comparison {
    accepted: usize,
    by_kbr_only: usize,
    /// The disagreements.
    wrong: Vec<String>,
}

fn compare(crds: &[Value]) -> Comparison {
    let printed = Project::new().manifests(&Value::from(crds));
    let rejected = server::rejections(crds);
    let mut comparison = Comparison::default();
    for crd in crds {
        let kind = crd["spec"]["names"]["kind"].as_str().expect("a kind");
        let theirs = rejected.get(crd["metadata"]["name"].as_str().expect("a name"));
        let start = format!("  `{kind}` of ");
        let ours: Vec<&str> = printed
            .lines()
            .filter(|line| line.starts_with(&start))
            .collect();
        let corrupts = |line: &&str| CORRUPTING.iter().any(|known| line.contains(known));
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let number = kind.trim_start_matches("Kind");
        let line = format!("keep it in `tests/lint/random-found.txt`:\n{number} {schema}");
        match (theirs, ours.as_slice()) {
            (None, []) => comparison.accepted += 1,
            (Some(reason), []) if server::is_cost(reason) => comparison.accepted += 1,
            (Some(reason), []) => comparison.wrong.push(format!(
                "kbr accepts {kind}, but the API server rejects it: {reason}\n{line}"
            )),
            (None, all) if all.iter().any(corrupts) => comparison.by_kbr_only += 1,
            (None, all) => comparison.wrong.push(format!(
                "kbr rejects {kind}, but the API server accepts it: {all:?}\n{line}"
            )),
            (Some(_), _) => {}
        }
    }
    comparison
}

fn earlier_disagreements() -> Vec<Value> {
    let rows = super::rows(FOUND).into_iter();
    let crds = rows.map(|(seed, schema)| {
        let schema = serde_json::from_str(schema).expect("JSON");
        named(seed.parse().expect("a number"), schema)
    });
    crds.collect()
}

/// Tests `KBR_RANDOM_TYPES` types, starting with the seed `KBR_RANDOM_SEED`.
#[test]
fn kbr_and_the_api_server_agree_on_random_types() {
    let Comparison { wrong, .. } = compare(&earlier_disagreements());
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
    let Comparison {
        accepted,
        by_kbr_only,
        wrong,
    } = compare(&crds);
    println!(
        "{count} types: {} definitions, {accepted} accepted, {} rejected by both, {by_kbr_only} only by kbr because they corrupt objects",
        crds.len(),
        crds.len() - accepted - by_kbr_only - wrong.len(),
    );
    assert!(
        accepted > crds.len() / 20,
        "too few of the random types are valid to prove much"
    );
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        crds.len(),
        wrong.join("\n\n")
    );
}
