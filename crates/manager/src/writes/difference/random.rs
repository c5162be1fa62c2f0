//! Random pairs of values, and RFC 7396 as its text has it, beside the patches that are computed.

use serde_json::{Map, Value, json};

use super::{Difference, difference};

/// How many pairs each test tries.
const PAIRS: u64 = 50_000;

/// Xorshift64* (Vigna 2016).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % most
    }

    /// Any value, among them many that are empty.
    fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 6 } else { 9 }) {
            0 => Value::Null,
            1 => json!({}),
            2 => json!([]),
            3 => json!(self.below(2)),
            4 => json!(["", "a"][usize::from(self.below(2) == 0)]),
            5 => json!(self.below(2) == 0),
            6 => (0..self.below(3)).map(|_| self.value(depth - 1)).collect(),
            _ => self.object(depth - 1).into(),
        }
    }

    fn object(&mut self, depth: u64) -> Map<String, Value> {
        let names = ["a", "b", "conditions"];
        let mut object = Map::new();
        for name in names {
            if self.below(3) > 0 {
                let is_list = name == "conditions" && self.below(2) == 0;
                let value = if is_list {
                    self.conditions()
                } else {
                    self.value(depth)
                };
                object.insert(name.to_owned(), value);
            }
        }
        object
    }

    /// A list in a random order, in which a type occurs rarely twice.
    fn conditions(&mut self) -> Value {
        let one = |random: &mut Self| {
            let kind = ["A", "B", "C"][usize::try_from(random.below(3)).unwrap()];
            json!({"type": kind, "status": random.below(2).to_string()})
        };
        (0..self.below(4)).map(|_| one(self)).collect()
    }

    /// A value like another one.
    fn like(&mut self, value: &Value, depth: u64) -> Value {
        match value {
            Value::Object(fields) if self.below(4) > 0 => {
                let fields = fields.iter().map(|(name, value)| {
                    let value = match self.below(3) {
                        0 => self.value(depth),
                        1 => self.like(value, depth.saturating_sub(1)),
                        _ => value.clone(),
                    };
                    (name.clone(), value)
                });
                Value::Object(fields.collect())
            }
            _ => self.value(depth),
        }
    }
}

/// `MergePatch` of RFC 7396, section 2, line by line.
fn merge_patch(target: Option<Value>, patch: &Value) -> Value {
    if let Value::Object(patch) = patch {
        let mut target = match target {
            Some(Value::Object(target)) => target,
            _ => Map::new(),
        };
        for (name, value) in patch {
            if value.is_null() {
                if target.contains_key(name) {
                    target.remove(name);
                }
            } else {
                let merged = merge_patch(target.get(name).cloned(), value);
                target.insert(name.clone(), merged);
            }
        }
        Value::Object(target)
    } else {
        patch.clone()
    }
}

/// A value as a merge patch can make it: a field that is `null` cannot be told from a missing one, but an element of a list,
/// and what is in that, can.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                kept.map(|(name, value)| (name.clone(), without_nulls(value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

/// With every list of conditions in the order of its types, wherever that is a map.
fn sorted(value: &Value, is_map: bool) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted = |(name, value): (&String, &Value)| {
                (name.clone(), sorted(value, name == "conditions"))
            };
            Value::Object(fields.iter().map(sorted).collect())
        }
        Value::Array(items) if is_map => {
            let mut items = items.clone();
            let kind = |item: &Value| item["type"].as_str().map(str::to_owned);
            if items.iter().all(|item| kind(item).is_some()) {
                items.sort_by_key(kind);
            }
            Value::Array(items)
        }
        other => other.clone(),
    }
}

/// Tries random pairs, and whatever third value is stored meanwhile.
fn each(test: impl Fn(&Value, &Value, Value)) {
    for seed in 0..PAIRS {
        let mut random = Random::new(seed);
        let old = random.value(4);
        let new = random.like(&old, 4);
        let third = random.like(&old, 4);
        test(&old, &new, third);
    }
}

fn made(change: Option<&Difference>, mut to: Value) -> Value {
    if let Some(change) = change {
        change.apply(&mut to);
    }
    to
}

#[test]
fn a_patch_makes_the_new_value_of_the_old_one() {
    each(|old, new, _| {
        let change = difference(old, new, &[]);
        let patch = change.as_ref().map(|change| change.patch(old));
        let merged = patch.as_ref().map_or_else(
            || old.clone(),
            |patch| merge_patch(Some(old.clone()), patch),
        );
        assert_eq!(
            without_nulls(&merged),
            without_nulls(new),
            "{old} -> {new}: {patch:?}"
        );
        assert_eq!(
            without_nulls(&made(change.as_ref(), old.clone())),
            without_nulls(new),
            "{old} -> {new}"
        );
        // Sent again, it changes nothing.
        assert_eq!(
            difference(&merged, new, &[]),
            None,
            "{old} -> {new}: {patch:?}"
        );
    });
}

#[test]
fn a_change_is_applied_to_any_value_as_its_patch_is() {
    each(|old, new, third| {
        let Some(change) = difference(old, new, &[]) else {
            return;
        };
        let patch = change.patch(old);
        let merged = merge_patch(Some(third.clone()), &patch);
        assert_eq!(
            made(Some(&change), third.clone()),
            merged,
            "{patch} to {third}"
        );
    });
}

#[test]
fn conditions_of_a_patch_are_those_of_the_new_value() {
    let (own, nested) = (
        ["conditions".to_owned()],
        ["a".to_owned(), "conditions".to_owned()],
    );
    each(|old, new, _| {
        let paths = [&own[..], &nested[..]];
        let change = difference(old, new, &paths);
        let patch = change.as_ref().map(|change| change.patch(old));
        let merged = patch.as_ref().map_or_else(
            || old.clone(),
            |patch| merge_patch(Some(old.clone()), patch),
        );
        let plain = |value: &Value| sorted(&without_nulls(value), false);
        assert_eq!(plain(&merged), plain(new), "{old} -> {new}: {patch:?}");
        assert_eq!(
            plain(&made(change.as_ref(), old.clone())),
            plain(new),
            "{old} -> {new}"
        );
        assert_eq!(
            difference(&merged, new, &paths),
            None,
            "{old} -> {new}: {patch:?}"
        );
    });
}
