//! Test how changes of values become steps of a patch.

use super::*;

fn patch(raw: &Value, before: &Value, after: &Value) -> Vec<Value> {
    let budget = Budget::all();
    let mut steps = Steps::new(&budget);
    compare(raw, before, after, "", &mut steps);
    steps.made
}

#[track_caller]
fn check(raw: &Value, before: &Value, after: &Value, steps: &Value) {
    let patch = Value::Array(patch(raw, before, after));
    assert_eq!(patch, *steps);
}

#[test]
fn unknown_fields_are_kept() {
    let raw = json!({ "a": 1, "unknown": true, "in": { "b": 1, "unknown": 1 } });
    let before = json!({ "a": 1, "in": { "b": 1 } });
    let after = json!({ "a": 2, "in": { "c": 1 } });
    let steps = json!([
        { "op": "replace", "path": "/a", "value": 2 },
        { "op": "add", "path": "/in/c", "value": 1 },
        { "op": "remove", "path": "/in/b" },
    ]);
    check(&raw, &before, &after, &steps);
    check(&raw, &before, &before, &json!([]));
}

#[test]
fn values_filled_in_by_the_type_are_not_a_change() {
    let (raw, before) = (json!({}), json!({ "a": 1, "b": null, "c": [] }));
    check(&raw, &before, &before, &json!([]));
    let after = json!({ "a": 2, "b": null, "c": [] });
    let steps = json!([{ "op": "add", "path": "/a", "value": 2 }]);
    check(&raw, &before, &after, &steps);
    // Removing a field that was not there is not a change, either.
    check(&raw, &before, &json!({ "a": 1 }), &json!([]));
}

#[test]
fn names_are_escaped() {
    let steps = json!([{ "op": "add", "path": "/a~1b~0c", "value": 1 }]);
    check(&json!({}), &json!({}), &json!({ "a/b~c": 1 }), &steps);
}

#[test]
fn a_list_element_keeps_its_unknown_fields() {
    let raw = json!([{ "name": "a", "unknown": 1 }, { "name": "b" }]);
    let before = json!([{ "name": "a" }, { "name": "b" }]);
    let after = json!([{ "name": "a", "image": "x" }, { "name": "b" }]);
    let steps = json!([{ "op": "add", "path": "/0/image", "value": "x" }]);
    check(&raw, &before, &after, &steps);
}

#[test]
fn a_moved_list_element_keeps_its_unknown_fields() {
    let raw = json!({ "l": [{ "name": "a", "unknown": 1 }] });
    let before = json!({ "l": [{ "name": "a" }] });
    let after = json!({ "l": [{ "name": "sidecar" }, { "name": "a", "image": "x" }] });
    let value = json!([{ "name": "sidecar" }, { "name": "a", "unknown": 1, "image": "x" }]);
    let steps = json!([{ "op": "replace", "path": "/l", "value": value }]);
    check(&raw, &before, &after, &steps);
}

#[test]
fn a_list_element_without_a_name_is_matched_by_index() {
    let steps = json!([{ "op": "add", "path": "/0/protocol", "value": "TCP" }]);
    check(
        &json!([{ "port": 80, "unknown": 1 }]),
        &json!([{ "port": 80 }]),
        &json!([{ "port": 80, "protocol": "TCP" }]),
        &steps,
    );
}

#[test]
fn a_list_of_100_000_elements_is_compared_quickly() {
    let element = |at: usize| json!({ "name": at.to_string() });
    let before: Value = (0..100_000).map(element).collect();
    let after: Value = (1..100_001).rev().map(element).collect();
    let steps = patch(&before, &before, &after);
    assert_eq!(steps[0]["value"], after);
}

#[test]
fn a_list_of_plain_values_is_replaced_as_a_whole() {
    let steps = json!([{ "op": "replace", "path": "/l", "value": [1, 3] }]);
    check(
        &json!({ "l": [1, 2] }),
        &json!({ "l": [1, 2] }),
        &json!({ "l": [1, 3] }),
        &steps,
    );
}
