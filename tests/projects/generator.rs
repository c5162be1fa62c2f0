//! The build time of the CRD generator after the operator was built.

use std::collections::BTreeSet;

use serde_json::{Deserializer, Value};

use super::{project::Project, support::write};

/// A `cargo` that also records its output.
const CARGO: &str = r#"#!/bin/sh
PATH=${PATH#*:} cargo "$@" | tee "$MESSAGES"
"#;

/// The files of external crates in cargo's output.
fn external_files(output: &str) -> BTreeSet<String> {
    let messages = Deserializer::from_str(output).into_iter::<Value>();
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

/// The project is built.
pub fn shares_the_operators_compiled_dependencies(project: &Project) {
    write(&project.0.join("bin/cargo"), CARGO.as_bytes());
    let run = |command: &str| {
        let script = format!(
            "chmod +x bin/cargo; MESSAGES=$PWD/messages PATH=$PWD/bin:$PATH {command} >&2; cat messages"
        );
        external_files(&project.run("sh", &["-c", &script]))
    };
    // File names contain a hash of the build's inputs, so other tests that build the same crates do not affect the result.
    let operator = run("cargo build --message-format=json");
    let generator = run("kbr manifests");
    assert!(operator.len() > 200 && generator.len() > 100);
    let more: Vec<_> = generator.difference(&operator).collect();
    assert!(
        more.is_empty(),
        "compiled only for the generator: {more:#?}"
    );
}
