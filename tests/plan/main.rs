//! `kbr plan` and `kbr clone`: what they say about a release is what the release then does to a cluster.

#![allow(missing_docs, reason = "tests")]

mod cluster;
mod rollouts;
mod safety;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeSet;

use cluster::{Cluster, changes, named};

/// What release 2 does to the captain of this name: each is a way in which upgrades go wrong.
const CASES: [&str; 8] = [
    "claims",
    "finalized",
    "image",
    "keys",
    "recreated",
    "renamed",
    "same",
    "selector",
];

#[test]
fn the_plan_names_what_the_release_then_does() {
    let cluster = Cluster::with(&CASES);
    let (code, plan) = cluster.plan(&[], "1", "2");
    let before = cluster.state();
    let expected: BTreeSet<String> = named(&plan["changes"]);
    let after = cluster.upgrade(|state| changes(&before, state) == expected);
    assert_eq!(changes(&before, &after), expected, "{plan:#}");
    // Its CRD has lost a field, which each captain has.
    let captains = CASES.map(|it| format!("changed Captain navy/{it}"));
    let wanted = [
        "changed Deployment navy/image",
        "created ConfigMap navy/renamed-course",
        "created Secret navy/keys",
        "deleted ConfigMap navy/renamed-map",
        "recreated Job navy/recreated",
    ];
    let wanted: BTreeSet<String> = wanted
        .map(str::to_owned)
        .into_iter()
        .chain(captains)
        .collect();
    assert_eq!(expected, wanted, "{plan:#}");
    assert_eq!(code, 3);

    let find = |kind: &str, name: &str| {
        let mut objects = plan["changes"]["objects"].as_array().unwrap().iter();
        objects
            .find(|it| it["kind"] == kind && it["name"] == name)
            .unwrap()
    };
    assert_eq!(find("Deployment", "image")["restarts"], 2);
    let image = &find("Deployment", "image")["fields"][0];
    assert_eq!(image["path"], "spec.template.spec.containers[helm].image");
    assert_eq!(
        (&image["before"], &image["after"]),
        (&"helm:1.4".into(), &"helm:1.5".into())
    );
    let lost = &find("Captain", "same")["fields"][0];
    assert_eq!(
        (&lost["path"], &lost["before"]),
        (&"spec.rank".into(), &"admiral".into())
    );
    assert_eq!(find("Secret", "keys")["owner"], "Captain keys");
    let finalizers = &find("Captain", "finalized")["fields"][0];
    assert_eq!(finalizers["path"], "metadata.finalizers");

    let refused = plan["next"]["refused"].as_array().unwrap();
    let refused: Vec<(&str, bool)> = refused
        .iter()
        .map(|it| {
            (
                it["object"].as_str().unwrap(),
                it["message"].as_str().unwrap().contains("spec"),
            )
        })
        .collect();
    assert_eq!(refused, [("navy/selector", true), ("navy/claims", true)]);
    let status = &plan["changes"]["status"][0];
    assert_eq!(
        (&status["kind"], &status["fields"][0]),
        (&"Captain".into(), &"observedRelease".into())
    );
    assert_eq!(status["objects"], 6);
}

#[test]
fn a_release_that_changes_nothing_has_an_empty_plan_each_time() {
    let cluster = Cluster::shared();
    for _ in 0..2 {
        let (code, plan) = cluster.plan(&[], "1", "1");
        assert_eq!(
            (code, named(&plan["changes"])),
            (0, BTreeSet::new()),
            "{plan:#}"
        );
        assert_eq!(plan["notSeen"], serde_json::json!([]), "{plan:#}");
    }
}

#[test]
fn releases_that_fight_are_named_with_the_object_the_field_and_its_values() {
    let (code, plan) = Cluster::shared().plan(&["--timeout=12"], "1", "fights");
    assert_eq!(code, 3, "{plan:#}");
    let unsettled = &plan["next"]["failed"]["neverIdle"][0];
    assert_eq!(unsettled["object"], "configmaps/navy/same", "{plan:#}");
    let field = &unsettled["fields"][0];
    assert_eq!(field["path"], "data.course");
    let values: BTreeSet<&str> = ["before", "after"]
        .map(|it| field[it].as_str().unwrap())
        .into();
    assert_eq!(values, BTreeSet::from(["north", "south"]));
}

#[test]
fn a_release_that_ends_is_reported_with_its_status_and_its_log() {
    let (code, text) = Cluster::shared().text(&[], "1", "ends");
    assert_eq!(code, 3, "{text}");
    assert!(
        text.contains("the new release does not run: exit status: 3"),
        "{text}"
    );
    assert!(
        text.contains("cannot find the configuration of the fleet"),
        "{text}"
    );
}
