//! A sample with each feature, the same in every run.

use std::collections::{BTreeMap, BTreeSet};

use super::collection::Entry;
use super::features::features;
use super::results::digest;

/// Chooses `count` CRDs: in turn one for each feature, the rarest first.
pub fn choose(entries: &[Entry], count: usize) -> Vec<&Entry> {
    let mut having: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        for feature in features(&entry.crd, &entry.definition) {
            having.entry(feature).or_default().push(entry);
        }
    }
    // In an order that is unlike that of projects.
    for all in having.values_mut() {
        all.sort_by_key(|entry| std::cmp::Reverse(digest(&entry.name)));
    }
    let mut turns: Vec<Vec<&Entry>> = having.into_values().collect();
    turns.sort_by_key(Vec::len);
    let mut chosen: BTreeMap<&str, &Entry> = BTreeMap::new();
    while chosen.len() < count && turns.iter().any(|left| !left.is_empty()) {
        for left in &mut turns {
            while let Some(entry) = left.pop() {
                if chosen.len() < count && chosen.insert(&entry.name, entry).is_none() {
                    break;
                }
            }
        }
    }
    chosen.into_values().collect()
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
