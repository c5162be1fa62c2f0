//! One value for each case -> a tree in which each difference occurs once, with the cases in which it does.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::condition::Cases;
use super::settings::Setting;

/// A value that may differ from case to case.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// The same in all cases.
    Same(Value),
    /// A mapping that is never empty.
    Map(Vec<(String, Choice)>),
    /// A list that is never empty.
    List(Vec<Choice>),
    /// What the chart's values set, or else this.
    Set(&'static Setting, Box<Choice>),
}

/// A part of a mapping or list: in which cases it is what.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// No case twice. In cases that none of them has, the part is missing.
    pub variants: Vec<(Cases, Node)>,
}

impl Choice {
    /// The cases in which the part exists.
    pub fn cases(&self) -> Cases {
        self.variants
            .iter()
            .flat_map(|(cases, _)| cases)
            .copied()
            .collect()
    }
}

/// The values by case. Each is there in its own cases only.
type ByCase<'a> = BTreeMap<usize, &'a Value>;

/// Merges one value for each case.
pub fn merge(values: &ByCase<'_>) -> Choice {
    let is_map = |value: &Value| value.as_object().is_some_and(|it| !it.is_empty());
    let is_list = |value: &Value| value.as_array().is_some_and(|it| !it.is_empty());
    let select = |test: &dyn Fn(&Value) -> bool| -> ByCase<'_> {
        let selected = values.iter().filter(|(_, value)| test(value));
        selected.map(|(case, value)| (*case, *value)).collect()
    };
    let mut variants = Vec::new();
    for (cases, value) in equal(&select(&|value| !is_map(value) && !is_list(value))) {
        variants.push((cases, Node::Same(value.clone())));
    }
    let maps = select(&is_map);
    if !maps.is_empty() {
        variants.push((maps.keys().copied().collect(), map(&maps)));
    }
    let lists = select(&is_list);
    if !lists.is_empty() {
        match list(&lists) {
            Some(merged) => variants.push((lists.keys().copied().collect(), merged)),
            None => variants.extend(
                equal(&lists)
                    .into_iter()
                    .map(|(cases, value)| (cases, Node::Same(value.clone()))),
            ),
        }
    }
    Choice { variants }
}

/// Groups equal values; those of the first case come first.
fn equal<'a>(values: &ByCase<'a>) -> Vec<(Cases, &'a Value)> {
    let mut groups: Vec<(Cases, &Value)> = Vec::new();
    for (case, value) in values {
        match groups.iter_mut().find(|(_, other)| same(other, value)) {
            Some((cases, _)) => _ = cases.insert(*case),
            None => groups.push((Cases::from([*case]), value)),
        }
    }
    groups
}

/// Equal parts of different cases are mostly the same part.
fn same(one: &Value, other: &Value) -> bool {
    std::ptr::eq(one, other) || one == other
}

/// The value of all cases, if they have the same.
fn only<'a>(values: &ByCase<'a>) -> Option<&'a Value> {
    let mut all = values.values().copied();
    let first = all.next()?;
    all.all(|other| same(first, other)).then_some(first)
}

fn map(values: &ByCase<'_>) -> Node {
    if let Some(value) = only(values) {
        return Node::Same(value.clone());
    }
    let objects = || {
        values
            .iter()
            .filter_map(|(case, it)| it.as_object().map(|it| (*case, it)))
    };
    let keys: BTreeSet<&String> = objects().flat_map(|(_, object)| object.keys()).collect();
    let part = |key: &String| {
        let parts: ByCase<'_> = objects()
            .filter_map(|(case, object)| object.get(key).map(|it| (case, it)))
            .collect();
        (key.clone(), merge(&parts))
    };
    Node::Map(keys.into_iter().map(part).collect())
}

/// `None` if the lists have no common order, or nothing tells their items apart.
fn list(values: &ByCase<'_>) -> Option<Node> {
    if let Some(value) = only(values) {
        return Some(Node::Same(value.clone()));
    }
    let lists: BTreeMap<usize, &Vec<Value>> = values
        .iter()
        .filter_map(|(case, it)| it.as_array().map(|it| (*case, it)))
        .collect();
    let by_name = lists
        .values()
        .copied()
        .flatten()
        .all(|item| item["name"].is_string());
    let identity = |item: &Value| {
        if by_name {
            item["name"].to_string()
        } else {
            item.to_string()
        }
    };
    let sequences: BTreeMap<usize, Vec<String>> = lists
        .iter()
        .map(|(case, items)| (*case, items.iter().map(identity).collect()))
        .collect();
    let item = |name: &String| {
        let items: ByCase<'_> = sequences
            .iter()
            .filter_map(|(case, names)| {
                let position = names.iter().position(|other| other == name)?;
                Some((*case, &lists[case][position]))
            })
            .collect();
        merge(&items)
    };
    let order = order(&sequences.values().map(Vec::as_slice).collect::<Vec<_>>())?;
    Some(Node::List(order.iter().map(item).collect()))
}

/// One order of which each sequence is a part. `None` if there is no such order, or a sequence has an element twice.
fn order(sequences: &[&[String]]) -> Option<Vec<String>> {
    let twice = |it: &&[String]| it.iter().collect::<BTreeSet<_>>().len() < it.len();
    if sequences.iter().any(twice) {
        return None;
    }
    let mut left: Vec<&[String]> = sequences.to_vec();
    let mut order = Vec::new();
    loop {
        left.retain(|sequence| !sequence.is_empty());
        if left.is_empty() {
            return Some(order);
        }
        let heads = left.iter().map(|sequence| &sequence[0]);
        // The next is in no other sequence behind something that is still left.
        let next = heads
            .into_iter()
            .find(|head| !left.iter().any(|sequence| sequence[1..].contains(*head)))?;
        let next = next.clone();
        for sequence in &mut left {
            if sequence[0] == next {
                *sequence = &sequence[1..];
            }
        }
        order.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The value in one case, from the tree.
    fn value(choice: &Choice, case: usize) -> Option<Value> {
        let (_, node) = choice
            .variants
            .iter()
            .find(|(cases, _)| cases.contains(&case))?;
        Some(match node {
            Node::Same(value) => value.clone(),
            Node::Map(parts) => {
                let parts = parts.iter();
                parts
                    .filter_map(|(key, part)| Some((key.clone(), value(part, case)?)))
                    .collect()
            }
            Node::List(items) => items.iter().filter_map(|item| value(item, case)).collect(),
            Node::Set(..) => panic!("nothing sets values here"),
        })
    }

    fn check(values: &[Value]) -> Choice {
        let by_case: ByCase<'_> = values.iter().enumerate().collect();
        let merged = merge(&by_case);
        for (case, expected) in values.iter().enumerate() {
            assert_eq!(value(&merged, case).as_ref(), Some(expected), "case {case}");
        }
        merged
    }

    #[test]
    fn each_case_is_what_it_was() {
        check(&[
            json!({ "a": 1 }),
            json!({ "a": 1, "b": 2 }),
            json!({ "a": 2 }),
        ]);
        check(&[
            json!({ "a": {} }),
            json!({ "a": { "b": 1 } }),
            json!({ "a": null }),
        ]);
        check(&[json!([1, 2]), json!([1, 3, 2]), json!([3, 2]), json!([])]);
        check(&[json!([1, 2]), json!([2, 1])]);
        check(&[json!([1, 1]), json!([1])]);
        check(&[
            json!({ "a": [{ "name": "x", "v": 1 }] }),
            json!({ "a": [{ "name": "y" }, { "name": "x", "v": 2 }] }),
        ]);
        check(&[json!([{ "name": "x" }, 1]), json!([1])]);
    }

    #[test]
    fn what_is_equal_is_not_divided() {
        let same = json!({ "a": [1, { "b": 2 }] });
        let merged = check(&[same.clone(), same.clone()]);
        assert_eq!(merged.variants, [(Cases::from([0, 1]), Node::Same(same))]);
    }

    #[test]
    fn a_named_item_is_merged_with_itself() {
        let of = |value: i32| json!([{ "name": "x", "value": value, "other": 1 }]);
        let merged = check(&[of(1), of(2)]);
        let Node::List(items) = &merged.variants[0].1 else {
            panic!("{merged:?}")
        };
        assert_eq!(items.len(), 1);
        assert!(matches!(&items[0].variants[..], [(_, Node::Map(parts))] if parts.len() == 3));
    }
}
