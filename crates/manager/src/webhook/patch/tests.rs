//! Test how changes of values become steps of a patch.

use serde_json::{Value, json};

use super::*;

fn found(raw: &str, before: &str, after: &str) -> Vec<Value> {
    let steps = changes(raw, before, after).unwrap();
    serde_json::from_str(&format!("[{steps}]")).unwrap()
}

fn patch(raw: &Value, before: &Value, after: &Value) -> Vec<Value> {
    found(&raw.to_string(), &before.to_string(), &after.to_string())
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
fn a_field_that_becomes_null_or_empty_is_not_a_missing_one() {
    for empty in [json!(null), json!({}), json!([])] {
        let steps = json!([{ "op": "add", "path": "/a", "value": empty }]);
        check(&json!({}), &json!({}), &json!({ "a": empty }), &steps);
        let (raw, before) = (json!([1, { "x": 1 }]), json!([1, {}]));
        let after = json!([{ "b": empty }]);
        let steps = json!([{ "op": "replace", "path": "", "value": after }]);
        check(&raw, &before, &after, &steps);
    }
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

#[test]
fn fields_that_are_written_alike_are_not_looked_at() {
    // What cannot be parsed shows that it is not.
    let raw = r#"{"a":[1],"b":{"unknown":1e999},"c":"d","in":{"a":1,"big":1e999},"unknown":1e999}"#;
    let before = r#"{"a":[1],"b":{"x":1e999},"c":"d","in":{"a":1,"x":1e999}}"#;
    let after = r#"{"a":[2],"b":{"x":1e999},"e":1,"in":{"a":2,"x":1e999}}"#;
    let steps = json!([
        { "op": "replace", "path": "/a", "value": [2] },
        { "op": "add", "path": "/e", "value": 1 },
        { "op": "replace", "path": "/in/a", "value": 2 },
        { "op": "remove", "path": "/c" },
    ]);
    assert_eq!(Value::Array(found(raw, before, after)), steps);
    assert_eq!(found(raw, before, before), [] as [Value; 0]);
}

#[test]
fn items_that_stay_at_their_index_get_a_step_each() {
    let raw = r#"[{"name":"a","unknown":1e999},{"name":"b"},1e999,{"c":1e999}]"#;
    let before = r#"[{"name":"a","x":1e999},{"name":"b"},1e999,{"c":1e999}]"#;
    let after = r#"[{"name":"a","x":1e999},{"name":"b","d":[1]},1e999,{"c":1e999,"e":2}]"#;
    let steps = json!([
        { "op": "add", "path": "/1/d", "value": [1] },
        { "op": "add", "path": "/3/e", "value": 2 },
    ]);
    assert_eq!(Value::Array(found(raw, before, after)), steps);
}

#[test]
fn items_that_move_keep_their_unknown_fields() {
    check(
        &json!([{ "a": 1, "unknown": 1 }, { "a": 2, "unknown": 2 }]),
        &json!([{ "a": 1 }, { "a": 2 }]),
        &json!([{ "a": 2 }, { "a": 3 }]),
        &json!([{ "op": "replace", "path": "", "value": [{ "a": 2, "unknown": 2 }, { "a": 3 }] }]),
    );
    let moved = json!([{ "name": "b" }, { "name": "a", "unknown": 1 }]);
    check(
        &json!([{ "name": "a", "unknown": 1 }, { "name": "b" }]),
        &json!([{ "name": "a" }, { "name": "b" }]),
        &json!([{ "name": "b" }, { "name": "a" }]),
        &json!([{ "op": "replace", "path": "", "value": moved }]),
    );
}

#[test]
fn changes_that_take_too_much_memory_are_an_error() {
    let list = |item: &str, count| format!("[{}]", vec![item; count].join(","));
    // The path of each step is long.
    let long = |item| format!(r#"{{"{}":{}}}"#, "x".repeat(100_000), list(item, 100));
    let (before, after) = (long(r#"{"a":1}"#), long(r#"{"a":2}"#));
    assert!(
        changes(&before, &before, &after)
            .unwrap_err()
            .is_too_large()
    );
    let (before, after) = (list("{}", ELEMENTS), list("{}", ELEMENTS + 1));
    assert!(
        changes(&before, &before, &after)
            .unwrap_err()
            .is_too_large()
    );
    let numbers = (list("1", ELEMENTS), list("1", ELEMENTS + 1));
    assert_eq!(found(&numbers.0, &numbers.0, &numbers.1).len(), 1);
}
