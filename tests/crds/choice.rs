//! Which CRDs are in a sample, and which are compiled together. Its tests run with those of `crates/lint-fixtures/tests/imported`.

use std::collections::{BTreeMap, BTreeSet};

/// How large the schemas of a program may be together, in nodes: a compiler of 3,000 takes 2 to 3 GB.
const NODES: usize = 3000;

/// How many programs are compiled at a time.
const PROGRAMS: usize = 2;

/// Chooses `count` names, each with its features: in turn one for each feature, the rarest first. `order` is theirs within a feature.
pub fn sample<'a>(
    named: impl IntoIterator<Item = (&'a str, BTreeSet<&'static str>)>,
    count: usize,
    order: impl Fn(&str) -> String,
) -> BTreeSet<&'a str> {
    let mut having: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, features) in named {
        for feature in features {
            having.entry(feature).or_default().push(name);
        }
    }
    for all in having.values_mut() {
        all.sort_by_key(|name| std::cmp::Reverse(order(name)));
    }
    let mut turns: Vec<Vec<&str>> = having.into_values().collect();
    turns.sort_by_key(Vec::len);
    let mut chosen = BTreeSet::new();
    while chosen.len() < count && turns.iter().any(|left| !left.is_empty()) {
        for left in &mut turns {
            while let Some(name) = left.pop() {
                if chosen.len() < count && chosen.insert(name) {
                    break;
                }
            }
        }
    }
    chosen
}

/// Divides modules, each with its number of nodes, into programs.
pub fn programs<T>(modules: Vec<(usize, T)>) -> Vec<Vec<T>> {
    let mut programs: Vec<Vec<T>> = Vec::new();
    let mut room = 0;
    for (nodes, module) in modules {
        match programs.last_mut() {
            Some(last) if nodes <= room => last.push(module),
            _ => {
                programs.push(vec![module]);
                room = NODES;
            }
        }
        room = room.saturating_sub(nodes);
    }
    programs
}

/// Programs that are compiled at the same time.
pub fn rounds<T>(programs: Vec<Vec<T>>) -> Vec<Vec<Vec<T>>> {
    let mut rounds: Vec<Vec<Vec<T>>> = Vec::new();
    for program in programs {
        match rounds.last_mut().filter(|round| round.len() < PROGRAMS) {
            Some(round) => round.push(program),
            None => rounds.push(vec![program]),
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 names: all have `common`, every fourth `some`, and one each `rare` and `rarest`.
    fn named() -> Vec<(&'static str, BTreeSet<&'static str>)> {
        const NAMES: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN";
        let features = |at: usize| {
            let rows = [
                ("common", true),
                ("some", at.is_multiple_of(4)),
                ("rare", at == 17),
                ("rarest", at == 18),
            ];
            rows.into_iter()
                .filter(|(_, has)| *has)
                .map(|(it, _)| it)
                .collect()
        };
        (0..NAMES.len())
            .map(|at| (&NAMES[at..=at], features(at)))
            .collect()
    }

    #[test]
    fn a_sample_has_each_feature_and_its_size() {
        for count in [3, 10, 39] {
            let chosen = sample(named(), count, str::to_owned);
            assert_eq!(chosen.len(), count);
            let chosen = named()
                .into_iter()
                .filter(|(name, _)| chosen.contains(name));
            let features: BTreeSet<_> = chosen.flat_map(|(_, features)| features).collect();
            assert_eq!(features.len(), 4, "{count}: {features:?}");
        }
        assert_eq!(sample(named(), 100, str::to_owned).len(), 40);
    }

    #[test]
    fn a_sample_does_not_depend_on_the_order_of_the_archive() {
        let reversed = named().into_iter().rev();
        assert_eq!(
            sample(reversed, 9, str::to_owned),
            sample(named(), 9, str::to_owned)
        );
    }

    #[test]
    fn a_program_has_as_many_nodes_as_a_compiler_bears() {
        let nodes = [2000, 900, 101, 5000, 1, 2999, 1, 1];
        let modules = nodes.into_iter().map(|nodes| (nodes, nodes)).collect();
        let programs = programs(modules);
        let expected: [&[usize]; 5] = [&[2000, 900], &[101], &[5000], &[1, 2999], &[1, 1]];
        assert_eq!(programs, expected);
        assert_eq!(
            rounds(programs).iter().map(Vec::len).collect::<Vec<_>>(),
            [2, 2, 1]
        );
    }
}
