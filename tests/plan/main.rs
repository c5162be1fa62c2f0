//! `kbr plan` and `kbr clone`: what they say about a release is what the release then does to a cluster.

#![allow(missing_docs, reason = "tests")]

mod cluster;
mod examples;
mod hostile;
#[path = "../support/terminal.rs"]
mod pty;
mod release;
mod roles;
mod rollouts;
mod safety;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeSet;

use serde_json::json;

use cluster::{Cluster, changes, named};
use release::Release;

/// What release 2 does to the captain of this name: each is a way in which upgrades go wrong.
const CASES: [&str; 12] = [
    "claims",
    "finalized",
    "image",
    "keys",
    "moved",
    "recreated",
    "refinalized",
    "removed",
    "renamed",
    "sails",
    "same",
    "selector",
];

#[test]
fn the_plan_names_what_the_release_then_does() {
    let mut cluster = Cluster::of_captains(&CASES);
    let [today, next] = ["1", "2"].map(Release::of_captains);
    let (code, plan) = cluster.plan(&[], today, next);
    let before = cluster.state();
    let expected = named(&plan);
    let after = cluster.upgrade(next, |state| changes(&before, state) == expected);
    assert_eq!(changes(&before, &after), expected, "{plan:#}");
    // Its CRD has lost a field, which each captain has.
    let captains = CASES.map(|it| format!("changed Captain navy/{it}"));
    let wanted = [
        "changed Deployment navy/image",
        "created ConfigMap navy/captain-moved",
        "created ConfigMap navy/renamed-course",
        "created Deployment navy/captain-moved",
        "created Secret navy/keys",
        "created Ship navy/sails",
        "created StatefulSet navy/captain-moved",
        "deleted ConfigMap navy/moved",
        "deleted ConfigMap navy/removed",
        "deleted ConfigMap navy/renamed-map",
        "deleted Deployment navy/moved",
        "deleted StatefulSet navy/moved",
        "recreated Job navy/recreated",
        // Not of those whose children the API server refuses.
        "status of 10 Captain",
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
    // Nothing removes the first one any more.
    let finalizers = &find("Captain", "refinalized")["fields"][0];
    let [anchor, helm] = ["crew.example.com/anchor", "crew.example.com/helm"];
    assert_eq!(finalizers["before"], json!([anchor]));
    assert_eq!(finalizers["after"], json!([anchor, helm]));

    let invalid = plan["next"]["invalid"].as_array().unwrap().iter();
    let invalid: Vec<&str> = invalid.map(|it| it.as_str().unwrap()).collect();
    let wanted = CASES.map(|it| format!("Captain navy/{it}: spec.ship: Required value"));
    assert_eq!(invalid, wanted);

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
}

#[test]
fn a_new_webhook_that_rewrites_all_objects_is_in_the_plan_with_each_of_them() {
    let mut cluster = Cluster::of_captains(&["image", "same"]);
    let [today, next] = ["1", "defaults"].map(Release::of_captains);
    let (code, plan) = cluster.plan(&[], today, next);
    let before = cluster.state();
    let expected = named(&plan);
    let after = cluster.upgrade(next, |state| changes(&before, state) == expected);
    assert_eq!(changes(&before, &after), expected, "{plan:#}");
    let wanted = [
        "changed Captain navy/image",
        "changed Captain navy/same",
        "changed Deployment navy/image",
        "created Secret crew-system/captains-webhook-certificate",
        "status of 2 Captain",
    ];
    assert_eq!(expected, wanted.map(str::to_owned).into(), "{plan:#}");
    assert_eq!(code, 2, "{plan:#}");
    let objects = plan["changes"]["objects"].as_array().unwrap().iter();
    for captain in objects.filter(|it| it["kind"] == "Captain") {
        let fields = captain["fields"].as_array().unwrap();
        let fleet = fields.iter().find(|it| it["path"] == "spec.fleet");
        assert_eq!(fleet.unwrap()["after"], "home", "{captain:#}");
    }
}

#[test]
fn a_release_that_changes_nothing_has_an_empty_plan_each_time() {
    let cluster = Cluster::shared();
    for _ in 0..2 {
        let today = Release::of_captains("1");
        let (code, plan) = cluster.plan(&[], today, today);
        assert_eq!((code, named(&plan)), (0, BTreeSet::new()), "{plan:#}");
        assert_eq!(plan["notSeen"], json!([]), "{plan:#}");
    }
}

#[test]
fn releases_that_fight_are_named_with_the_object_the_field_and_its_values() {
    let [today, next] = ["1", "fights"].map(Release::of_captains);
    let (code, plan) = Cluster::shared().plan(&["--timeout=12"], today, next);
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
    let [today, next] = ["1", "ends"].map(Release::of_captains);
    let (code, text) = Cluster::shared().text(&[], today, next);
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
