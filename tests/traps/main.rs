//! Every trap: what kbr says of it.

#[path = "../support/mod.rs"]
mod support;

mod project;

use std::fmt::Write as _;
use std::fs;
use std::panic::catch_unwind;

use serde_json::{Value, json};

use project::Project;
use support::repository;

/// The definitions of all traps that can be made, by kind; `null` for those whose making panics.
fn definitions() -> Vec<(&'static str, Value)> {
    let made = |crd: fn() -> _| catch_unwind(crd).map_or(Value::Null, |crd| json!(crd));
    let all = traps::all().into_iter();
    all.map(|(kind, crd)| (kind, made(crd))).collect()
}

/// One file holds them all, so that a change of a message is seen beside the others.
#[test]
fn kbr_says_what_is_wrong_and_how_to_mend_it() {
    let project = Project::new();
    let mut page = String::new();
    for (kind, crd) in definitions() {
        let said = project.manifests(&json!([crd]));
        write!(page, "== {kind}\n{said}").expect("a string takes it");
    }
    let path = repository().join("tests/traps/said.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).expect("a writable file");
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == before,
        "`UPDATE=1` writes tests/traps/said.txt anew:\n{page}"
    );
}
