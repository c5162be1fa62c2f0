//! Projects with many kinds each: what `kbr create api --from-crd` writes passes `kbr manifests`.

use std::fs;

use super::collection::Entry;
use super::command::{is_lower_case, kbr};
use super::results;

/// How many CRDs a project has.
const EACH: usize = 60;

/// Imports all CRDs, and generates the manifests of their projects. Returns what fails, with the project's number.
pub fn check(entries: &[&Entry]) -> Vec<String> {
    let mut failures = Vec::new();
    let usable: Vec<_> = entries
        .iter()
        .filter(|entry| !is_lower_case(entry))
        .collect();
    for (number, entries) in usable.chunks(EACH).enumerate() {
        let project = super::folder().join("projects");
        fs::remove_dir_all(&project).ok();
        results::write(&project.join("crd.yaml"), "");
        let mut run = |arguments: &str| {
            let done = kbr(&project, arguments);
            done.map_err(|why| failures.push(format!("project {number}: {why}")))
                .is_ok()
        };
        run("init --domain example.com --project-name ships");
        for entry in entries {
            results::write(&project.join("crd.yaml"), &entry.text);
            if !run("create api --from-crd crd.yaml --controller=false") {
                println!("project {number}: {} is not imported", entry.name);
            }
        }
        let passes = run("manifests");
        println!("project {number}: {} CRDs, {passes}", entries.len());
    }
    failures
}
