//! A sample with each feature, the same in every run.

use std::collections::{BTreeMap, BTreeSet};

use super::choice;
use super::collection::Entry;
use super::features::features;
use super::results::digest;

/// Chooses `count` CRDs: in turn one for each feature, the rarest first, in an order that is unlike that of projects.
pub fn choose(entries: &[Entry], count: usize) -> Vec<&Entry> {
    let features = |entry: &Entry| features(&entry.crd, &entry.definition);
    let named = entries.iter().map(|it| (it.name.as_str(), features(it)));
    let chosen = choice::sample(named, count, digest);
    let is_chosen = |entry: &&Entry| chosen.contains(entry.name.as_str());
    entries.iter().filter(is_chosen).collect()
}

/// Prints how many CRDs have each feature, of all and of the sample.
pub fn list(entries: &[Entry], sample: &[&Entry]) {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let sampled: BTreeSet<&str> = sample.iter().map(|entry| entry.name.as_str()).collect();
    for entry in entries {
        for feature in features(&entry.crd, &entry.definition) {
            let count = counts.entry(feature).or_default();
            count.0 += 1;
            count.1 += usize::from(sampled.contains(entry.name.as_str()));
        }
    }
    for (feature, (all, sampled)) in counts {
        println!("{all:5} {sampled:4} {feature}");
    }
    let nodes =
        |entries: &mut dyn Iterator<Item = &Entry>| entries.map(Entry::nodes).sum::<usize>();
    println!("{:5} {:4} CRDs", entries.len(), sample.len());
    println!(
        "{:5} {:4} nodes",
        nodes(&mut entries.iter()),
        nodes(&mut sample.iter().copied())
    );
}
