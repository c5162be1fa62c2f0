//! More components of the user's own than sets of them can be rendered: Helm renders what kustomize does with any of them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::peer::{Rendered, kustomize, render};
use crate::random::Random;
use crate::{COMPONENTS, assert_equal, chart, is_on, released, support, values};

/// Each with what its kustomization has besides its kind: labels of all objects, a value that another component sets, too, and flags.
const OWN: [(&str, &str, &str); 5] = [
    (
        "cost-labels",
        "costLabels",
        "labels: [{pairs: {cost: low}}]",
    ),
    (
        "debug",
        "debug",
        r#"patches: [{target: {kind: Deployment}, patch: '[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--debug"}]'}]"#,
    ),
    (
        "five",
        "five",
        r#"patches: [{target: {kind: Deployment}, patch: '[{"op": "add", "path": "/spec/replicas", "value": 5}]'}]"#,
    ),
    (
        "team-labels",
        "teamLabels",
        "labels: [{pairs: {team: crew}}]",
    ),
    (
        "verbose",
        "verbose",
        r#"patches: [{target: {kind: Deployment}, patch: '[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--verbose"}]'}]"#,
    ),
];

/// Selects the components of a case in `config/default`, in the order of a chart: by name behind the one that is listed.
fn select(project: &Path, case: usize, own: usize) {
    let known = COMPONENTS
        .iter()
        .filter(|(_, needs)| needs.iter().all(|(name, on)| is_on(name, case) == *on));
    let mut all: Vec<&str> = known.map(|(folder, _)| *folder).collect();
    let of_bits = OWN.iter().enumerate().filter(|(at, _)| own >> at & 1 == 1);
    all.extend(of_bits.map(|(_, (folder, ..))| *folder));
    all.sort_by_key(|folder| (*folder != "webhook-self-signed", *folder));
    let listed = all.iter().map(|folder| format!("\n  - ../{folder}"));
    let listed = listed.collect::<Vec<_>>().concat();
    let path = project.join("config/default/kustomization.yaml");
    let before = fs::read_to_string(&path).unwrap();
    let (resources, _) = before.split_once("\ncomponents:").unwrap();
    let none = if all.is_empty() { " []" } else { "" };
    fs::write(&path, format!("{resources}\ncomponents:{none}{listed}\n")).unwrap();
}

#[test]
fn helm_renders_what_kustomize_does_with_sets_of_many_components() {
    let project = support::example("home");
    for (folder, _, text) in OWN {
        let text =
            format!("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n{text}\n");
        let path = project
            .path()
            .join(format!("config/{folder}/kustomization.yaml"));
        support::write(&path, text.as_bytes());
    }
    chart(project.path());
    let mut random = Random(1);
    // All of the user's own, each with and without kbr's, and any others.
    let mut cases = vec![(0b11_1111, 0b1_1111), (0b01_1111, 0b1_1111), (0, 0b1_1111)];
    cases.extend((0..OWN.len()).flat_map(|at| [(0, 1 << at), (0b11_0000, 1 << at)]));
    cases.extend((0..24).map(|_| (random.below(64), random.below(32))));
    let all: Vec<Value> = cases
        .iter()
        .map(|(case, own)| {
            let mut values = values(*case);
            for (at, (_, name, _)) in OWN.iter().enumerate() {
                values["components"][name] = json!({ "enabled": own >> at & 1 == 1 });
            }
            values
        })
        .collect();
    let rendered = render(&project.path().join("dist/chart"), &all);
    for (((case, own), rendered), values) in cases.iter().zip(&rendered).zip(&all) {
        let Rendered::Objects(objects) = rendered else {
            panic!("{values}: {rendered:?}")
        };
        select(project.path(), *case, *own);
        let mut expected = released(kustomize(project.path(), "config/default"), "home");
        if !is_on("webhook", *case) {
            expected.retain(|object| object["kind"] != "CustomResourceDefinition");
        }
        assert_equal(&values.to_string(), objects, &expected);
    }
}
