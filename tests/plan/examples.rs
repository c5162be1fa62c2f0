//! Releases of the examples: each plan is what the release then does to another cluster, object by object.
//!
//! `examples/*.toml` lists the releases: each replaces texts in files of the example.

mod build;
mod specs;

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::{Cluster, changes, named};
use crate::support::repository;

use build::{Edit, build};
use specs::specs;

#[derive(Deserialize)]
struct Releases {
    /// What all of them replace, and today's release.
    #[serde(default)]
    today: Vec<Edit>,
    release: Vec<Planned>,
}

/// A release, and what the plan for it must have, so that it is not empty by accident.
#[derive(Deserialize)]
struct Planned {
    what: String,
    /// `changed Deployment`.
    changes: BTreeSet<String>,
    /// Whether the API server refuses a write of it.
    #[serde(default)]
    refused: bool,
    /// Whether its CRDs no longer accept the stored objects.
    #[serde(default)]
    invalid: bool,
    edit: Vec<Edit>,
}

/// All are built in the same folder, and without a sandbox they have the same ports.
static ONE: Mutex<()> = Mutex::new(());

fn list(example: &str) -> Releases {
    let list = repository().join(format!("tests/plan/examples/{example}.toml"));
    toml::from_str(&fs::read_to_string(list).unwrap()).unwrap()
}

fn releases(example: &str) -> Vec<Planned> {
    list(example).release
}

fn are_planned(example: &str) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Releases {
        today: edits,
        release,
    } = list(example);
    let today = build(example, "today", &edits);
    let (world, objects) = specs(example);
    for (at, planned) in release.iter().enumerate() {
        let what = format!("{example}: {}", planned.what);
        let edits = [&edits[..], &planned.edit].concat();
        let next = build(example, &at.to_string(), &edits);
        let mut cluster = Cluster::with(&today, &world, &objects);
        let (code, plan) = cluster.plan(&[], &today, &next);
        let before = cluster.state();
        let expected = named(&plan);
        let after = cluster.upgrade(&next, |state| changes(&before, state) == expected);
        assert_eq!(changes(&before, &after), expected, "{what}: {plan:#}");
        let kinds: BTreeSet<String> = expected.iter().filter_map(|it| kind(it)).collect();
        assert_eq!(kinds, planned.changes, "{what}: {plan:#}");
        let next = &plan["next"];
        let has = |field: &str| !next[field].as_array().unwrap().is_empty();
        let found = ["refused", "invalid", "denied", "notInstalled"].map(has);
        assert_eq!(
            found,
            [planned.refused, planned.invalid, false, false],
            "{what}: {next:#}"
        );
        assert_eq!(next["failed"], Value::Null, "{what}: {next:#}");
        let expected_code = match (planned.refused || planned.invalid, expected.is_empty()) {
            (true, _) => 3,
            (false, true) => 0,
            (false, false) => 2,
        };
        assert_eq!(code, expected_code, "{what}: {plan:#}");
        println!("{what}: {} changes, equal", expected.len());
    }
}

/// `changed Deployment` of `changed Deployment navy/a`; nothing of the number of changes of a status.
fn kind(change: &str) -> Option<String> {
    let (kind, _) = change.rsplit_once(' ')?;
    (!change.starts_with("status of ")).then(|| kind.to_owned())
}

#[test]
#[ignore = "`make test-release` runs it: it compiles releases of an example"]
fn releases_of_at_do_what_their_plans_say() {
    are_planned("at");
}

#[test]
#[ignore = "`make test-release` runs it: it compiles releases of an example"]
fn releases_of_cronjob_do_what_their_plans_say() {
    are_planned("cronjob");
}

#[test]
#[ignore = "`make test-release` runs it: it compiles releases of an example"]
fn releases_of_ecsbinding_do_what_their_plans_say() {
    are_planned("ecsbinding");
}

#[test]
#[ignore = "`make test-release` runs it: it compiles releases of an example"]
fn releases_of_foo_do_what_their_plans_say() {
    are_planned("foo");
}

#[test]
#[ignore = "`make test-release` runs it: it compiles releases of an example"]
fn releases_of_guestbook_do_what_their_plans_say() {
    are_planned("guestbook");
}

#[test]
#[ignore = "`make test-release` runs it: it compiles releases of an example"]
fn releases_of_home_do_what_their_plans_say() {
    are_planned("home");
}

#[test]
#[ignore = "`make test-release` runs it: it compiles releases of an example"]
fn releases_of_ippool_do_what_their_plans_say() {
    are_planned("ippool");
}

#[test]
#[ignore = "`make test-release` runs it: it compiles releases of an example"]
fn a_release_that_ends_changes_nothing_whatever_version_is_stored() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Clients use another version than the stored one, and each read needs the webhook.
    let mut edits = releases("home").pop().unwrap().edit;
    let today = build("home", "stored", &edits);
    edits.push(Edit {
        file: "src/main.rs".to_owned(),
        from: "async fn run(options: Options) -> anyhow::Result<()> {".to_owned(),
        to: "async fn run(options: Options) -> anyhow::Result<()> {\n    anyhow::ensure!(!options.enable_webhooks, \"cannot start\");".to_owned(),
    });
    let next = build("home", "ends", &edits);
    let (world, objects) = specs("home");
    let cluster = Cluster::with(&today, &world, &objects);
    let (code, plan) = cluster.plan(&[], &today, &next);
    assert_eq!((code, named(&plan)), (3, BTreeSet::new()), "{plan:#}");
    assert_eq!(plan["drift"]["objects"], json!([]), "{plan:#}");
}

#[test]
#[ignore = "`make test-release` runs it: it plans twenty times"]
fn twenty_plans_of_a_release_are_equal() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let today = build("guestbook", "today", &[]);
    let next = build("guestbook", "0", &releases("guestbook")[0].edit);
    let (world, objects) = specs("guestbook");
    let cluster = Cluster::with(&today, &world, &objects);
    let plan = || cluster.plan(&[], &today, &next).1["changes"].take();
    let first = plan();
    assert_eq!(
        first["objects"].as_array().unwrap().len(),
        3 * objects.len()
    );
    for _ in 1..20 {
        assert_eq!(plan(), first);
    }
}
