//! Every fixture: what kbr prints about it, and what an API server does.

#[path = "../support/mod.rs"]
mod support;

mod cronjob;
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

/// The rows of a table: a word, then the rest of the line. Empty lines and those after `#` are none.
fn rows(table: &str) -> Vec<(&str, &str)> {
    let rows = table
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with('#'));
    rows.map(|row| row.split_once(' ').expect("a word, then the rest"))
        .collect()
}

/// The definitions of all fixtures that can be made, by kind; `null` for those whose making panics.
fn definitions() -> Vec<(&'static str, Value)> {
    let made = |crd: fn() -> _| catch_unwind(crd).map_or(Value::Null, |crd| json!(crd));
    let all = lint_fixtures::all().into_iter();
    all.map(|(kind, crd)| (kind, made(crd))).collect()
}

/// One file holds them all, so that a change of a message is seen beside the others.
#[test]
fn kbr_reports_what_is_wrong_and_how_to_fix_it() {
    let project = Project::new();
    let mut page = String::new();
    for (kind, crd) in definitions() {
        let said = project.manifests(&json!([crd]));
        write!(page, "== {kind}\n{said}").expect("a string takes it");
    }
    let path = repository().join("tests/lint/messages.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).expect("a writable file");
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == before,
        "`UPDATE=1` writes tests/lint/messages.txt again:\n{page}"
    );
}

/// A kind whose versions do not go together, which is more than one derive can say.
#[test]
fn versions_that_the_api_server_rejects_kbr_rejects_before() {
    let table = [
        (
            "twostoreds",
            json!(lint_fixtures::versions::two_stored()),
            "`v2` and `v1` are all stored",
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
        let said = project.manifests(&parts);
        assert!(said.contains("nothing was written"), "{said}");
        assert!(said.contains(expected) && said.contains("help: "), "{said}");
        assert!(said.contains("  `api/src/fixtures/versions.rs:"), "{said}");
        let mut crd = parts[0].clone();
        let versions = parts.as_array().into_iter().flatten();
        crd["spec"]["versions"] = versions
            .map(|part| part["spec"]["versions"][0].clone())
            .collect();
        whole.push((format!("{plural}.lint.example.com"), crd));
    }
    let crds: Vec<Value> = whole.iter().map(|(_, crd)| crd.clone()).collect();
    let refused = server::refusals(&crds);
    let taken: Vec<_> = whole
        .iter()
        .filter(|(name, _)| !refused.contains_key(name))
        .collect();
    // A kind that nobody serves is taken, and of use to nobody.
    let names: Vec<&str> = taken.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["unserveds.lint.example.com"], "{refused:?}");
}

/// What the API server accepts, kbr rejects only where objects would be corrupted.
#[test]
fn what_the_api_server_rejects_kbr_rejects_before() {
    let corrupted = [
        "Conditions",
        "InnerOfText",
        "LengthOfMap",
        "LengthOfNumber",
        "MapOfAnything",
        "Misspelt",
        "NotNullable",
        "PatternOfNumber",
        "RangeOfList",
        "RangeOfString",
        "StructMergeStrategy",
        "Unique",
    ];
    let project = Project::new();
    let made: Vec<_> = definitions()
        .into_iter()
        .filter(|(_, crd)| !crd.is_null())
        .collect();
    let crds: Vec<Value> = made.iter().map(|(_, crd)| crd.clone()).collect();
    let refused = server::refusals(&crds);
    let mut wrong = Vec::new();
    for (kind, crd) in made {
        let name = crd["metadata"]["name"].as_str().expect("a name");
        let theirs = refused.get(name);
        let ours = project.manifests(&json!([crd]));
        if theirs.is_some_and(|reason| server::is_cost(reason)) {
            // Estimated roughly here, so no more than a warning.
            assert!(
                ours.contains("warning: ") && ours.contains("allow=cost"),
                "{ours}"
            );
            continue;
        }
        let expected = theirs.is_some() || corrupted.contains(&kind);
        if ours.contains("error: ") != expected {
            wrong.push(format!(
                "{kind}: the API server says {theirs:?}, kbr says {ours:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A large kind of real life, with a pod template in it.
#[test]
fn the_cron_job_of_kubebuilders_book_is_let_through_and_taken() {
    let crd = json!(lint_fixtures::cronjob::definition());
    let said = Project::new().manifests(&json!([crd]));
    assert!(!said.contains("error: "), "{said}");
    assert!(
        said.contains("only server-side apply can install it"),
        "{said}"
    );
    assert_eq!(server::refusals(&[crd]), std::collections::BTreeMap::new());
}
