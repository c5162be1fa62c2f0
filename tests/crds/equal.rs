//! The CRD of the types is that of the archive.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value;

use super::batch::{self, Compiled};
use super::choice;
use super::collection::Entry;
use super::command;
use super::compare::{data, difference, merged};
use super::program::{Module, without_serde};
use super::results::{self, digest};

/// CRDs with their modules.
pub type Round<'a> = Vec<Vec<(&'a Entry, Vec<Module>)>>;

/// The modules of a CRD, as kbr writes them.
pub fn modules(entry: &Entry) -> Vec<Module> {
    let types = entry.definition.types().into_iter();
    let modules = types.map(|types| Module {
        kind: entry.definition.kind.clone(),
        name: entry.module(&types.version),
        version: types.version,
        text: types.text,
    });
    modules.collect()
}

/// Programs of these CRDs, as many as are compiled at a time.
pub fn rounds(entries: Vec<(&Entry, Vec<Module>)>) -> Vec<Round<'_>> {
    let entries = entries.into_iter();
    let weighed = entries.map(|(entry, modules)| (entry.nodes(), (entry, modules)));
    choice::rounds(choice::programs(weighed.collect()))
}

/// The modules of each program.
pub fn programs(round: &Round) -> Vec<Vec<Module>> {
    let programs = round.iter();
    let modules = programs.map(|entries| entries.iter().flat_map(|(_, modules)| modules.clone()));
    modules.map(Iterator::collect).collect()
}

/// Imports all CRDs, and compiles those whose types were not found to be equal before.
pub fn all(entries: &[Entry]) -> Vec<String> {
    let mut waiting = Vec::new();
    let mut failures = Vec::new();
    for entry in entries {
        let modules = modules(entry);
        if let Err(why) = command::check(entry, &modules) {
            println!("{}: {why}", entry.name);
            failures.push(entry.name.clone());
        }
        if !record(entry, &modules).exists() {
            waiting.push((entry, modules));
        }
    }
    println!(
        "{} CRDs; {} were equal before",
        entries.len(),
        entries.len() - waiting.len()
    );
    // Those of the same size together, the small ones first.
    waiting.sort_by_key(|(entry, _)| (entry.nodes(), &entry.name));
    for round in rounds(waiting) {
        failures.extend(compiled_and_compared(&round));
    }
    failures
}

fn compiled_and_compared(round: &Round) -> Vec<String> {
    let began = Instant::now();
    let full = programs(round);
    batch::write(&full);
    let mut found = unformatted();
    let light = full.into_iter();
    let light = light.map(|modules| modules.into_iter().map(light_module).collect());
    found.extend(differences(round, &batch::compile(light.collect())));
    let entries = || round.iter().flatten().map(|(entry, _)| entry);
    let nodes: usize = entries().map(|entry| entry.nodes()).sum();
    let seconds = began.elapsed().as_secs();
    println!(
        "{} CRDs, {nodes} nodes, {} failures, {seconds} s",
        entries().count(),
        found.len()
    );
    for failure in &found {
        println!("{failure}");
    }
    found
}

fn light_module(module: Module) -> Module {
    Module {
        text: without_serde(&module.text),
        ..module
    }
}

/// The files that rustfmt would change.
pub fn unformatted() -> Vec<String> {
    let files = batch::unformatted();
    files
        .into_iter()
        .map(|file| format!("not formatted: {file}"))
        .collect()
}

/// What differs between the CRDs and those of their types. The equal ones are recorded.
pub fn differences(round: &Round, compiled: &Compiled) -> Vec<String> {
    let mut crds = BTreeMap::new();
    for (program, _) in &compiled.programs {
        crds.extend(batch::crds(program));
    }
    let mut failures = Vec::new();
    for (entry, modules) in round.iter().flatten() {
        match compared(entry, modules, compiled, &crds) {
            Ok(()) => results::write(&record(entry, modules), ""),
            Err(why) => failures.push(format!("{}: {why}", entry.name)),
        }
    }
    failures
}

/// Whether the CRD of the types is equal, or why not.
pub fn compared(
    entry: &Entry,
    modules: &[Module],
    compiled: &Compiled,
    crds: &BTreeMap<String, Option<Value>>,
) -> Result<(), String> {
    let mut parts = Vec::new();
    for module in modules {
        if let Some(error) = compiled.broken.get(&module.name) {
            return Err(format!("does not compile: {error}"));
        }
        let crd = crds.get(&module.name).cloned().flatten();
        parts.push(crd.ok_or("the macros panic")?);
    }
    if parts.is_empty() {
        return Err("no types".to_owned());
    }
    difference("", &data(&entry.crd), &data(&merged(parts))).map_or(Ok(()), Err)
}

/// The file that says that these modules are equal to their CRD.
pub fn record(entry: &Entry, modules: &[Module]) -> PathBuf {
    let texts: String = modules.iter().map(|module| module.text.as_str()).collect();
    super::folder()
        .join("equal")
        .join(digest(&(entry.crd.to_string() + &texts)))
}
