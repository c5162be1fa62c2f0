//! Turns the changes of a value into the steps of a JSON patch.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::servers::budget::Budget;

/// The fields that identify an element in most lists of Kubernetes.
pub(super) const NAMES: [&str; 5] = ["name", "type", "key", "mountPath", "ip"];

/// The bytes that a step takes besides its path and its value, once as values and three times as text.
const STEP: usize = 1024;

/// The bytes that an element takes while its place is looked up, besides its text.
const SOURCE: usize = 192;

/// The steps of a JSON patch (RFC 6902) that were found. Once the budget is exceeded, steps are missing.
pub(super) struct Steps<'b> {
    pub(super) made: Vec<Value>,
    pub(super) budget: &'b Budget,
}

impl<'b> Steps<'b> {
    pub(super) fn new(budget: &'b Budget) -> Self {
        let made = Vec::new();
        Self { made, budget }
    }

    pub(super) fn add(&mut self, path: &str, value: &Value) {
        self.push(
            path,
            || json!({ "op": "add", "path": path, "value": value }),
        );
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.push(path, || json!({ "op": "remove", "path": path }));
    }

    /// Adds a step of these bytes, besides its value.
    fn push(&mut self, path: &str, step: impl FnOnce() -> Value) {
        if self.budget.charge(STEP + 4 * path.len()) {
            self.made.push(step());
        }
    }
}

/// Finds the change from `before` to `after`, to apply it to `raw`.
pub(super) fn compare(
    raw: &Value,
    before: &Value,
    after: &Value,
    path: &str,
    steps: &mut Steps<'_>,
) {
    if before == after {
        return;
    }
    match (raw, before, after) {
        (Value::Object(raw), Value::Object(before), Value::Object(after)) => {
            fields(raw, before, after, path, steps);
        }
        (Value::Array(raw), Value::Array(before), Value::Array(after))
            if raw.len() == before.len() && in_place(before, after, steps.budget) =>
        {
            for (at, after) in after.iter().enumerate() {
                compare(&raw[at], &before[at], after, &format!("{path}/{at}"), steps);
            }
        }
        _ => {
            let value = merged(raw, before, after, steps.budget);
            if *raw != value {
                steps.push(
                    path,
                    || json!({ "op": "replace", "path": path, "value": value }),
                );
            }
        }
    }
}

fn fields(
    raw: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    path: &str,
    steps: &mut Steps<'_>,
) {
    for (name, after) in after {
        let before = before.get(name).unwrap_or(&Value::Null);
        if before == after {
            continue;
        }
        let path = format!("{path}/{}", escaped(name));
        match raw.get(name) {
            Some(raw) => compare(raw, before, after, &path, steps),
            None => steps.add(&path, after),
        }
    }
    for name in before.keys() {
        if !after.contains_key(name) && raw.contains_key(name) {
            let path = format!("{path}/{}", escaped(name));
            steps.remove(&path);
        }
    }
}

/// `raw` with the change from `before` to `after`.
fn merged(raw: &Value, before: &Value, after: &Value, budget: &Budget) -> Value {
    if before == after {
        return raw.clone();
    }
    match (raw, before, after) {
        (Value::Object(raw), Value::Object(before), Value::Object(after)) => {
            let mut merged_fields = raw.clone();
            merged_fields.retain(|name, _| after.contains_key(name) || !before.contains_key(name));
            for (name, after) in after {
                let before = before.get(name).unwrap_or(&Value::Null);
                if before == after {
                    continue;
                }
                let raw = raw.get(name).unwrap_or(&Value::Null);
                merged_fields.insert(name.clone(), merged(raw, before, after, budget));
            }
            Value::Object(merged_fields)
        }
        (Value::Array(raw), Value::Array(before), Value::Array(after))
            if raw.len() == before.len() =>
        {
            let sources = sources(before, after, budget);
            let element = |(value, source): (&Value, Option<usize>)| match source {
                Some(at) => merged(&raw[at], &before[at], value, budget),
                None => value.clone(),
            };
            Value::Array(after.iter().zip(sources).map(element).collect())
        }
        _ => after.clone(),
    }
}

/// Whether each element is still at its index, so that one step for each changed element is enough.
fn in_place(before: &[Value], after: &[Value], budget: &Budget) -> bool {
    let stays = |(at, source)| source == Some(at);
    before.len() == after.len()
        && sources(before, after, budget)
            .into_iter()
            .enumerate()
            .all(stays)
}

/// For each element of `after`, the index in `before` that it comes from: an equal element, or else one with the same
/// name, or else, in a list without names, the one at the same index. Each index is used once.
fn sources(before: &[Value], after: &[Value], budget: &Budget) -> Vec<Option<usize>> {
    let used = budget.used();
    if !budget.charge(SOURCE * before.len().max(after.len())) {
        return vec![None; after.len()];
    }
    let mut taken = vec![false; before.len()];
    let mut sources = vec![None; after.len()];
    // Look elements up by their JSON text, because the sender of an object decides how long its lists are.
    let mut take = |written: &dyn Fn(usize, &Value) -> Option<String>| {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (from, value) in before.iter().enumerate().rev() {
            if let Some(text) = (!taken[from]).then(|| written(from, value)).flatten() {
                places.entry(text).or_default().push(from);
            }
        }
        for (at, value) in after.iter().enumerate() {
            let place = || places.get_mut(&written(at, value)?)?.pop();
            if let Some(from) = sources[at].is_none().then(place).flatten() {
                sources[at] = Some(from);
                taken[from] = true;
            }
        }
    };
    // Prefer the element at the same index: of two equal elements, neither moves.
    take(&|at, value| Some(format!("{at} {value}")));
    take(&|_, value| Some(value.to_string()));
    take(&|_, value| name(value).map(|(key, name)| format!("{key} {name}")));
    if before.len() == after.len() {
        let nameless = |value: &Value| value.is_object() && name(value).is_none();
        take(&|at, value| nameless(value).then(|| at.to_string()));
    }
    budget.back_to(used);
    sources
}

/// The field that identifies an element in most lists of Kubernetes.
fn name(element: &Value) -> Option<(&str, &Value)> {
    NAMES
        .into_iter()
        .find_map(|key| Some((key, element.get(key)?)))
}

/// Escapes a name for use in a JSON pointer (RFC 6901).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
