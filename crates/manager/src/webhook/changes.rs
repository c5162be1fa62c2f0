//! Finds the changes of a defaulter, as a JSON patch.
//!
//! Three texts are compared: the object as it was sent, and the object as its type serializes it before and after the
//! change. A difference between the latter two is a change. Fields that the type does not know are in neither, and
//! stay. What is written alike before and after, mostly most of it, is not parsed.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    charged,
    patch::{NAMES, Steps, compare, escaped},
    text::{Fields, fields, items},
};
use crate::servers::budget::Budget;

/// The bytes that an item of a list takes while its place is looked up.
const PLACE: usize = 4 * size_of::<&str>();

/// The text of an object before and after a change.
#[derive(Clone, Copy)]
struct Texts<'a> {
    raw: &'a str,
    before: &'a str,
    after: &'a str,
}

/// The steps of a JSON patch (RFC 6902) that apply the change from `before` to `after` to `raw`, all as text. Once the
/// budget is exceeded, steps are missing.
pub(super) fn changes(
    raw: &str,
    before: &str,
    after: &str,
    budget: &Budget,
) -> serde_json::Result<Vec<Value>> {
    let mut steps = Steps::new(budget);
    let texts = Texts { raw, before, after };
    find(texts, "", &mut steps)?;
    Ok(steps.made)
}

fn find(texts: Texts<'_>, path: &str, steps: &mut Steps<'_>) -> serde_json::Result<()> {
    let Texts { raw, before, after } = texts;
    if before == after {
        return Ok(());
    }
    let all = |bracket| texts.all().iter().all(|text| text.starts_with(bracket));
    let (budget, used) = (steps.budget, steps.budget.used());
    if all('{') {
        let [raw, before, after] = texts.all().map(|text| fields(text, budget));
        let charged = budget.used() - used;
        in_fields(&raw, &before, &after, path, steps)?;
        budget.free(charged);
    } else if all('[') && in_place(texts, budget) {
        let before_and_after = items(before).zip(items(after));
        for (at, (raw, (before, after))) in items(raw).zip(before_and_after).enumerate() {
            if before != after {
                let texts = Texts { raw, before, after };
                find(texts, &format!("{path}/{at}"), steps)?;
            }
        }
    } else {
        let [raw, before, after] = texts.all().map(|text| charged::from_str(text, budget));
        // Steps may contain copies of all values.
        let charged = budget.used() - used;
        budget.charge(charged);
        compare(&raw?, &before?, &after?, path, steps);
        budget.free(charged);
    }
    Ok(())
}

impl<'a> Texts<'a> {
    fn all(self) -> [&'a str; 3] {
        [self.raw, self.before, self.after]
    }
}

fn in_fields(
    raw: &Fields<'_>,
    before: &Fields<'_>,
    after: &Fields<'_>,
    path: &str,
    steps: &mut Steps<'_>,
) -> serde_json::Result<()> {
    for (name, field) in after {
        let before = before.get(name).map_or("null", |field| field.value);
        if before == field.value {
            continue;
        }
        let path = format!("{path}/{}", escaped(name));
        match raw.get(name) {
            Some(raw) => {
                let (raw, after) = (raw.value, field.value);
                find(Texts { raw, before, after }, &path, steps)?;
            }
            None => steps.add(&path, &charged::from_str(field.value, steps.budget)?),
        }
    }
    for name in before.keys() {
        if !after.contains_key(name) && raw.contains_key(name) {
            steps.remove(&format!("{path}/{}", escaped(name)));
        }
    }
    Ok(())
}

/// Whether each item of a list is still at its index: it is the same, or a changed object of the same name that is not
/// equal to another item. Otherwise the lists are compared as values, which takes more memory.
fn in_place(texts: Texts<'_>, budget: &Budget) -> bool {
    let [raw, before, after] = texts.all().map(|text| items(text).count());
    if raw != before || before != after {
        return false;
    }
    let used = budget.used();
    if !budget.charge(PLACE * before) {
        return false;
    }
    let known: HashSet<_> = items(texts.before).collect();
    let pairs = items(texts.before).zip(items(texts.after));
    let stays = |(before, after)| {
        before == after || (!known.contains(after) && is_named_alike(before, after, budget))
    };
    let stay = pairs.into_iter().all(stays);
    budget.back_to(used);
    stay
}

/// Whether these are objects with the same name, or without one.
fn is_named_alike(before: &str, after: &str, budget: &Budget) -> bool {
    if !before.starts_with('{') || !after.starts_with('{') {
        return false;
    }
    let used = budget.used();
    let [before, after] = [before, after].map(|text| {
        let fields = fields(text, budget);
        let name = |key: &'static str| Some((key, fields.get(key)?.value));
        NAMES.into_iter().find_map(name)
    });
    budget.back_to(used);
    before == after
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(raw: &str, before: &str, after: &str, expected: &Value) {
        let steps = changes(raw, before, after, &Budget::all()).unwrap();
        assert_eq!(Value::Array(steps), *expected);
    }

    #[test]
    fn fields_that_are_written_alike_are_skipped() {
        // What cannot be parsed shows that it is not.
        let raw =
            r#"{"a":[1],"b":{"unknown":1e999},"c":"d","in":{"a":1,"big":1e999},"unknown":1e999}"#;
        let before = r#"{"a":[1],"b":{"x":1e999},"c":"d","in":{"a":1,"x":1e999}}"#;
        let after = r#"{"a":[2],"b":{"x":1e999},"e":1,"in":{"a":2,"x":1e999}}"#;
        let steps = json!([
            { "op": "replace", "path": "/a", "value": [2] },
            { "op": "add", "path": "/e", "value": 1 },
            { "op": "replace", "path": "/in/a", "value": 2 },
            { "op": "remove", "path": "/c" },
        ]);
        check(raw, before, after, &steps);
        check(raw, before, before, &json!([]));
        assert!(changes(raw, before, r#"{"a":1e999}"#, &Budget::all()).is_err());
    }

    #[test]
    fn items_that_stay_at_their_index_are_not_parsed() {
        let raw = r#"[{"name":"a","unknown":1e999},{"name":"b"},1e999,{"c":1e999}]"#;
        let before = r#"[{"name":"a","x":1e999},{"name":"b"},1e999,{"c":1e999}]"#;
        let after = r#"[{"name":"a","x":1e999},{"name":"b","d":[1]},1e999,{"c":1e999,"e":2}]"#;
        let steps = json!([
            { "op": "add", "path": "/1/d", "value": [1] },
            { "op": "add", "path": "/3/e", "value": 2 },
        ]);
        check(raw, before, after, &steps);
    }

    #[test]
    fn items_that_move_keep_their_unknown_fields() {
        let raw = r#"[{"a":1,"unknown":1},{"a":2,"unknown":2}]"#;
        let (before, after) = (r#"[{"a":1},{"a":2}]"#, r#"[{"a":2},{"a":3}]"#);
        let value = json!([{ "a": 2, "unknown": 2 }, { "a": 3 }]);
        check(
            raw,
            before,
            after,
            &json!([{ "op": "replace", "path": "", "value": value }]),
        );
        let raw = r#"[{"name":"a","unknown":1},{"name":"b"}]"#;
        let (before, after) = (
            r#"[{"name":"a"},{"name":"b"}]"#,
            r#"[{"name":"b"},{"name":"a"}]"#,
        );
        let value = json!([{ "name": "b" }, { "name": "a", "unknown": 1 }]);
        check(
            raw,
            before,
            after,
            &json!([{ "op": "replace", "path": "", "value": value }]),
        );
    }

    #[test]
    fn changes_are_found_within_the_budget() {
        let list = |item: &str| format!("[{}]", vec![item; 1000].join(","));
        let (before, after) = (list(r#"{"a":1}"#), list(r#"{"a":2}"#));
        for most in [0, 10_000, 100_000, 1_000_000] {
            let budget = Budget::of(most);
            changes(&before, &before, &after, &budget).unwrap_or_default();
            assert!(budget.exceeded(), "{most}");
        }
        let steps = changes(&before, &before, &after, &Budget::all()).unwrap();
        assert_eq!(steps.len(), 1000);
    }
}
