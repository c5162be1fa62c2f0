//! Imports public CRDs as `kbr create api --from-crd` does, compiles the types, and compares their CRDs with the originals.
//!
//! | Argument | What |
//! |---|---|
//! | `sample` | a sample of 200 with each feature: equal, formatted and linted; the API server accepts the same random objects from the types |
//! | `all` | all: formatted and equal. What was equal before is compiled again only if its types have changed |
//! | `manifests` | all, 60 in a project: `kbr manifests` finds nothing that it refuses |
//! | `kopium PROGRAM` | the sample as kopium generates it, in a table beside kbr's |
//! | `list` | the features of the sample |
//!
//! `KBR_CRDS` is an archive of YAML files, one CRD each, whose folders do not matter; without it, `../shared/crds.tar.gz`.
//! `KBR_CRDS_ONLY` limits it to the files whose path contains this text; with `KBR_CRDS_FROM`, a sample begins at this path.

mod batch;
mod choice;
mod collection;
mod command;
#[path = "../../crates/lint-fixtures/tests/imported/compare.rs"]
mod compare;
mod equal;
mod features;
mod invent;
mod kopium;
mod objects;
mod program;
mod projects;
#[path = "../support/proxy.rs"]
mod proxy;
mod results;
mod sample;
mod server;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use collection::Entry;
use objects::Tally;
use server::Server;

/// How many CRDs the sample has.
const SAMPLE: usize = 200;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let entries = collection::read();
    let failures = match arguments[..] {
        ["all"] => equal::all(&entries),
        ["sample"] => {
            let mut sample = sample::choose(&entries, SAMPLE);
            let from = env::var("KBR_CRDS_FROM").unwrap_or_default();
            sample.retain(|entry| entry.name >= from);
            sampled(&sample)
        }
        ["manifests"] => {
            let entries: Vec<_> = entries.iter().collect();
            projects::check(&entries)
        }
        ["kopium", program] => {
            kopium::compare(&sample::choose(&entries, SAMPLE), Path::new(program));
            Vec::new()
        }
        ["list"] => {
            sample::list(&entries, &sample::choose(&entries, SAMPLE));
            Vec::new()
        }
        _ => vec!["usage: crds all|sample|manifests|kopium PROGRAM|list".to_owned()],
    };
    println!("{} failures", failures.len());
    ExitCode::from(u8::from(!failures.is_empty()))
}

/// Compiles and lints a sample as a project would, and passes objects through the types.
fn sampled(sample: &[&Entry]) -> Vec<String> {
    let server = Server::start();
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    let modules = sample.iter().map(|entry| (*entry, equal::modules(entry)));
    for round in equal::rounds(modules.collect()) {
        let began = Instant::now();
        let compiled = batch::compile(equal::programs(&round));
        let mut found = equal::differences(&round, &compiled);
        found.extend(equal::unformatted());
        found.extend(Some(batch::lint()).filter(|lints| !lints.is_empty()));
        objects::check(&round, &compiled, &server, &mut tally);
        found.append(&mut tally.failures);
        let names: Vec<&str> = round
            .iter()
            .flatten()
            .map(|(entry, _)| entry.name.as_str())
            .collect();
        println!(
            "{} CRDs up to {}: {} failures, {} s",
            names.len(),
            names.last().unwrap_or(&""),
            found.len(),
            began.elapsed().as_secs()
        );
        for failure in &found {
            println!("{failure}");
        }
        failures.extend(found);
    }
    println!(
        "{} objects of {} kinds came back the same",
        tally.objects, tally.kinds
    );
    for why in &tally.short {
        println!("{why}");
    }
    failures
}

/// The repository.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where crates are generated and compiled.
fn folder() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| repository().join("target"));
    target.join("crds")
}

/// The `kbr` beside this program.
///
/// # Panics
/// If it is missing.
fn kbr() -> PathBuf {
    let here = env::current_exe().expect("a path");
    let target = here.ancestors().nth(2).expect("a target folder");
    let kbr = target.join("kbr");
    assert!(
        kbr.exists(),
        "{} is missing: run `cargo build`",
        kbr.display()
    );
    kbr
}
