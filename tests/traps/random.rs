//! Random types either are let through and taken by the API server, or refused by kbr: there is no third case.

use std::collections::BTreeSet;

use serde_json::Value;
use traps::random::definition;

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

/// As many as `KBR_RANDOM_TYPES` says, from the seed `KBR_RANDOM_SEED` on.
#[test]
fn what_kbr_lets_through_the_api_server_takes_and_the_other_way_round() {
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
    let project = Project::new();
    let said = project.manifests(&Value::from(crds.clone()));
    let refused = server::refusals(&crds);

    let (mut wrong, mut ours_only, mut taken) = (Vec::new(), BTreeSet::new(), 0);
    for crd in &crds {
        let kind = crd["spec"]["names"]["kind"].as_str().expect("a kind");
        let theirs = refused.get(crd["metadata"]["name"].as_str().expect("a name"));
        let start = format!("  `{kind}` of ");
        let ours: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with(&start))
            .collect();
        match (theirs, ours.as_slice()) {
            (None, []) => taken += 1,
            (Some(reason), []) if server::is_cost(reason) => taken += 1,
            (Some(reason), []) => wrong.push(format!(
                "{kind} is let through, and refused: {reason}\n{crd}"
            )),
            (None, all)
                if all
                    .iter()
                    .any(|line| SPOILED.iter().any(|known| line.contains(known))) =>
            {
                ours_only.insert(kind);
            }
            (None, all) => wrong.push(format!("{kind} is refused, and taken: {all:?}\n{crd}")),
            (Some(_), _) => {}
        }
    }
    println!(
        "{count} types: {} definitions, {taken} taken, {} refused by both, {} by kbr because they spoil objects",
        crds.len(),
        crds.len() - taken - ours_only.len(),
        ours_only.len()
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
