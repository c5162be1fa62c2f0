//! The types that kopium generates, in a table beside kbr's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use kbr_scaffold::imported::Definition;
use serde_json::Value;

use super::batch;
use super::collection::Entry;
use super::compare::merged;
use super::equal::{self, modules};
use super::features::{features, places};
use super::program::Module;
use super::results;

/// How far a CRD came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Failed,
    Broken,
    Compiled,
    Equal,
}

/// A row of the table: how many CRDs have a feature, and how far they came.
#[derive(Debug, Default)]
struct Row {
    all: usize,
    generated: usize,
    compiled: usize,
    equal: usize,
    kept: usize,
    /// kbr's.
    ours: usize,
}

/// Prints what kopium makes of a sample, and how many CRDs with each feature it and kbr reproduce.
pub fn compare(sample: &[&Entry], program: &Path) {
    let mut outcomes: BTreeMap<&str, (Outcome, Option<Value>)> = BTreeMap::new();
    let mut generated = Vec::new();
    for entry in sample {
        match generate(entry, program) {
            Ok(modules) => generated.push((*entry, modules)),
            Err(why) => {
                println!("{}: generates nothing: {why}", entry.name);
                outcomes.insert(&entry.name, (Outcome::Failed, None));
            }
        }
    }
    for round in equal::rounds(generated) {
        let compiled = batch::compile(equal::programs(&round));
        let mut crds = BTreeMap::new();
        for (program, _) in &compiled.programs {
            crds.extend(batch::crds(program));
        }
        for (entry, modules) in round.iter().flatten() {
            let parts: Option<Vec<Value>> = modules
                .iter()
                .map(|module| crds.get(&module.name).cloned().flatten())
                .collect();
            let crd = parts.map(merged);
            let outcome = match (equal::compared(entry, modules, &compiled, &crds), &crd) {
                (Ok(()), _) => Outcome::Equal,
                (Err(why), Some(_)) => {
                    println!("{}: {why}", entry.name);
                    Outcome::Compiled
                }
                (Err(why), None) => {
                    println!("{}: {why}", entry.name);
                    Outcome::Broken
                }
            };
            outcomes.insert(&entry.name, (outcome, crd));
        }
    }
    table(sample, &outcomes);
}

fn table(sample: &[&Entry], outcomes: &BTreeMap<&str, (Outcome, Option<Value>)>) {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for entry in sample {
        if let Some((outcome, crd)) = outcomes.get(entry.name.as_str()) {
            count(entry, *outcome, crd.as_ref(), &mut rows);
        }
    }
    println!(
        "| Feature | CRDs | kopium generates | compiles | keeps the feature | equal | kbr: equal |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (feature, row) in rows {
        let Row {
            all,
            generated,
            compiled,
            equal,
            kept,
            ours,
        } = row;
        println!("| {feature} | {all} | {generated} | {compiled} | {kept} | {equal} | {ours} |");
    }
}

/// Adds a CRD to the rows of its features.
fn count(entry: &Entry, outcome: Outcome, crd: Option<&Value>, rows: &mut BTreeMap<&str, Row>) {
    let is_ours = equal::record(entry, &modules(entry)).exists();
    let theirs = crd
        .map(|crd| places(crd, &Definition::read(crd)))
        .unwrap_or_default();
    let original = places(&entry.crd, &entry.definition);
    let features = features(&entry.crd, &entry.definition);
    for feature in features.into_iter().chain([" all"]) {
        let row = rows.entry(feature).or_default();
        let mut those = original
            .iter()
            .filter(|(_, of)| *of == feature || feature == " all");
        row.all += 1;
        row.generated += usize::from(outcome > Outcome::Failed);
        row.compiled += usize::from(outcome > Outcome::Broken);
        row.equal += usize::from(outcome == Outcome::Equal);
        row.kept += usize::from(crd.is_some() && those.all(|place| theirs.contains(place)));
        row.ours += usize::from(is_ours);
    }
}

/// The modules that kopium makes of a CRD.
fn generate(entry: &Entry, program: &Path) -> Result<Vec<Module>, String> {
    let file = super::folder().join("crd.yaml");
    results::write(&file, &entry.text);
    let modules = entry.definition.versions.iter().map(|version| {
        let mut kopium = Command::new(program);
        kopium
            .args([
                "--auto",
                "--preserve-metadata",
                "--api-version",
                &version.name,
                "-f",
            ])
            .arg(&file);
        let output = kopium.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(why.lines().next().unwrap_or_default().to_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // Such types are never read, so they show nothing.
        let kind = kind(&text).ok_or("no type of the kind")?.to_owned();
        Ok(Module {
            kind,
            name: entry.module(&version.name),
            version: version.name.clone(),
            text,
        })
    });
    let modules = modules.collect();
    fs::remove_file(file).ok();
    modules
}

/// The name of the struct that kube makes, which may differ from the kind.
fn kind(text: &str) -> Option<&str> {
    let named = |key: &str| text.split_once(&format!("{key} = \""))?.1.split('"').next();
    named("root").or(named("kind"))
}
