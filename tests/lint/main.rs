//! Tests every fixture with kbr and with a real API server.

#[path = "../support/mod.rs"]
mod support;

mod cronjob;
mod multiples;
mod project;
mod random;
mod rules;
mod samples;
mod server;

use std::fmt::Write as _;
use std::fs;
use std::panic::catch_unwind;

use serde_json::{Value, json};

use project::Project;
use support::repository;

/// The rows of a table: a word, then the rest of the line. Skips empty lines and comments.
fn rows(table: &str) -> Vec<(&str, &str)> {
    let rows = table
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with('#'));
    rows.map(|row| row.split_once(' ').expect("a word, then the rest"))
        .collect()
}

/// The definitions of all fixtures by kind; the message if the derive macro panics.
fn definitions() -> Vec<(&'static str, Value)> {
    let made = |crd: fn() -> _| match catch_unwind(crd) {
        Ok(crd) => json!(crd),
        Err(panic) => json!(panic.downcast_ref::<String>()),
    };
    let all = lint_fixtures::all().into_iter();
    all.map(|(kind, crd)| (kind, made(crd))).collect()
}

/// One file contains all messages, so that a changed message is reviewed next to the others.
#[test]
fn kbr_reports_each_problem_and_how_to_fix_it() {
    let project = Project::new();
    let mut page = String::new();
    for (kind, crd) in definitions() {
        let printed = project.manifests(&json!([crd]));
        write!(page, "== {kind}\n{printed}").expect("a string takes it");
    }
    let path = repository().join("tests/lint/messages.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).expect("a writable file");
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == before,
        "`UPDATE=1` rewrites tests/lint/messages.txt:\n{page}"
    );
}

/// Kinds whose versions contradict each other, which a single derive cannot express.
#[test]
fn kbr_rejects_versions_that_the_api_server_rejects() {
    let table = [
        (
            "twostoreds",
            json!(lint_fixtures::versions::two_stored()),
            "`v2` and `v1` are all storage versions",
        ),
        (
            "unserveds",
            json!(lint_fixtures::versions::unserved()),
            "no version is served",
        ),
        (
            "unstoreds",
            json!(lint_fixtures::versions::unstored()),
            "no version is stored",
        ),
    ];
    let project = Project::new();
    let mut whole = Vec::new();
    for (plural, parts, expected) in table {
        let printed = project.manifests(&parts);
        assert!(printed.contains("nothing was written"), "{printed}");
        assert!(
            printed.contains(expected) && printed.contains("help: "),
            "{printed}"
        );
        assert!(
            printed.contains("  `api/src/fixtures/versions.rs:"),
            "{printed}"
        );
        let mut crd = parts[0].clone();
        let versions = parts.as_array().into_iter().flatten();
        crd["spec"]["versions"] = versions
            .map(|part| part["spec"]["versions"][0].clone())
            .collect();
        whole.push((format!("{plural}.lint.example.com"), crd));
    }
    let crds: Vec<Value> = whole.iter().map(|(_, crd)| crd.clone()).collect();
    let rejected = server::rejections(&crds);
    let accepted: Vec<_> = whole
        .iter()
        .filter(|(name, _)| !rejected.contains_key(name))
        .collect();
    // The API server accepts a kind that is not served, although it is useless.
    let names: Vec<&str> = accepted.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["unserveds.lint.example.com"], "{rejected:?}");
}

/// kbr rejects a definition that the API server accepts only if objects would be corrupted.
#[test]
fn kbr_rejects_definitions_that_the_api_server_rejects() {
    let corrupted = [
        "Conditions",
        "HiddenColumns",
        "InnerOfText",
        "LengthOfMap",
        "LengthOfNumber",
        "MapOfAnything",
        "Misspelt",
        "NotNullable",
        "OutsideBounds",
        "PatternOfNumber",
        "RangeOfList",
        "RangeOfString",
        "StructMergeStrategy",
        "Unique",
    ];
    let project = Project::new();
    let made: Vec<_> = definitions()
        .into_iter()
        .filter(|(_, crd)| crd.is_object())
        .collect();
    let crds: Vec<Value> = made.iter().map(|(_, crd)| crd.clone()).collect();
    let rejected = server::rejections(&crds);
    let mut wrong = Vec::new();
    for (kind, crd) in made {
        let name = crd["metadata"]["name"].as_str().expect("a name");
        let theirs = rejected.get(name);
        let ours = project.manifests(&json!([crd]));
        if theirs.is_some_and(|reason| server::is_cost(reason)) {
            // kbr's estimate is rough, so it is only a warning.
            assert!(
                ours.contains("warning: ") && ours.contains("allow=cost"),
                "{ours}"
            );
            continue;
        }
        let expected = theirs.is_some() || corrupted.contains(&kind);
        if ours.contains("error: ") != expected {
            wrong.push(format!("{kind}: API server: {theirs:?}, kbr: {ours:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A large realistic kind, which contains a pod template.
#[test]
fn kbr_and_the_api_server_accept_the_cron_job_of_kubebuilders_book() {
    let crd = json!(lint_fixtures::cronjob::definition());
    let printed = Project::new().manifests(&json!([crd]));
    assert!(!printed.contains("error: "), "{printed}");
    assert!(
        printed.contains("can only be installed with server-side apply"),
        "{printed}"
    );
    assert_eq!(
        server::rejections(&[crd]),
        std::collections::BTreeMap::new()
    );
}
