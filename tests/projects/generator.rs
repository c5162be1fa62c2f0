//! What the generator of CRDs costs whoever has built the operator.

use std::collections::BTreeSet;

use serde_json::{Deserializer, Value};

use super::{
    project::{Project, alone},
    support::write,
};

/// A `cargo` that also writes down what it prints.
const CARGO: &str = r#"#!/bin/sh
PATH=${PATH#*:} cargo "$@" | tee "$SAID"
"#;

/// The files of crates that are not the project's own, of all that cargo said it needs.
fn of_others(said: &str) -> BTreeSet<String> {
    let messages = Deserializer::from_str(said).into_iter::<Value>();
    let artifacts = messages
        .map(|message| message.expect("JSON"))
        .filter(|message| message["reason"] == "compiler-artifact")
        .filter(|message| {
            let id = message["package_id"].as_str().expect("a package");
            id.starts_with("registry+")
        });
    let files = artifacts.flat_map(|it| it["filenames"].as_array().cloned().unwrap_or_default());
    files.map(|file| file.to_string()).collect()
}

#[test]
fn after_the_operator_the_generator_compiles_only_what_is_the_projects_own() {
    let _alone = alone();
    let project = Project::new("generator");
    project.kbr("init --domain example.com");
    project.create_api("--group crew --version v1 --kind Captain --resource --controller");
    write(&project.0.join("bin/cargo"), CARGO.as_bytes());
    let run = |command: &str| {
        let script = format!(
            "chmod +x bin/cargo; SAID=$PWD/said PATH=$PWD/bin:$PATH {command} >&2; cat said"
        );
        of_others(&project.run("sh", &["-c", &script]))
    };
    // Names of files have a hash of all that they were built with: no other test that builds the same hides anything.
    let operator = run("cargo build --message-format=json");
    let generator = run("kbr manifests");
    assert!(operator.len() > 200 && generator.len() > 100);
    let more: Vec<_> = generator.difference(&operator).collect();
    assert!(
        more.is_empty(),
        "compiled for the generator alone: {more:#?}"
    );
}
