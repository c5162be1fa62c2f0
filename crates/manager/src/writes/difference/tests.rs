use serde_json::json;

use super::*;

/// The difference of two statuses with conditions.
fn of(old: &Value, new: &Value) -> Option<Difference> {
    difference(old, new, &[&["conditions".to_owned()]])
}

#[track_caller]
fn check(old: &Value, new: &Value, patch: &Value) {
    let found = of(old, new).expect("they differ");
    assert_eq!(found.patch(old), *patch);
    let mut made = old.clone();
    found.apply(&mut made);
    assert_eq!(of(&made, new), None);
}

#[test]
fn equal_values_have_no_difference() {
    for value in [json!({}), json!({"a": [1]}), json!(null)] {
        assert_eq!(of(&value, &value), None);
    }
}

#[test]
fn a_field_cannot_become_null_but_one_that_is_can_be_removed() {
    assert_eq!(of(&json!({}), &json!({"a": null})), None);
    check(&json!({"a": null}), &json!({}), &json!({"a": null}));
}

#[test]
fn an_empty_object_is_neither_a_missing_one_nor_an_empty_list() {
    for (old, new, patch) in [
        (json!({}), json!({"a": {}}), json!({"a": {}})),
        (json!({"a": null}), json!({"a": {}}), json!({"a": {}})),
        (json!({"a": []}), json!({"a": {}}), json!({"a": {}})),
        (json!({"a": {}}), json!({"a": []}), json!({"a": []})),
        (json!({"a": {}}), json!({}), json!({"a": null})),
        (
            json!({"a": {"b": 1}}),
            json!({"a": {}}),
            json!({"a": {"b": null}}),
        ),
        (json!(null), json!({}), json!({})),
        (
            json!({"waiting": {"since": 1}}),
            json!({"running": {}}),
            json!({"waiting": null, "running": {}}),
        ),
    ] {
        check(&old, &new, &patch);
    }
}

#[test]
fn the_patch_contains_only_changed_fields() {
    check(
        &json!({"a": 1, "b": 2}),
        &json!({"a": 1, "b": 3}),
        &json!({"b": 3}),
    );
    check(
        &json!({"a": {"x": 1, "y": 2}}),
        &json!({"a": {"x": 1, "y": 3}}),
        &json!({"a": {"y": 3}}),
    );
}

#[test]
fn a_removed_field_is_null_in_the_patch() {
    check(
        &json!({"a": 1, "b": 2}),
        &json!({"a": 1}),
        &json!({"b": null}),
    );
}

#[test]
fn the_first_status_is_sent_in_full() {
    check(
        &json!(null),
        &json!({"a": {"b": 1}}),
        &json!({"a": {"b": 1}}),
    );
}

#[test]
fn a_list_that_holds_no_conditions_is_replaced() {
    check(
        &json!({"a": [1, 2]}),
        &json!({"a": [1]}),
        &json!({"a": [1]}),
    );
    let one = |kind: &str| json!({"type": kind, "status": "x"});
    for (old, new) in [
        // Another order, an insertion at the front, and both.
        (json!([one("a"), one("b")]), json!([one("b"), one("a")])),
        (json!([one("b")]), json!([one("a"), one("b")])),
        (
            json!([one("a"), one("b")]),
            json!([one("c"), one("b"), one("a")]),
        ),
    ] {
        let (old, new) = (json!({"filters": old}), json!({"filters": new}));
        check(&old, &new, &new);
        let below = |list: &Value| json!({"of": {"conditions": list["filters"]}});
        check(&below(&old), &below(&new), &below(&new));
    }
}

#[test]
fn conditions_without_a_status_or_with_equal_types_are_replaced() {
    for new in [
        json!([{"type": "b"}, {"type": "a"}]),
        json!([{"type": "a", "status": "1"}, {"type": "a", "status": "2"}]),
    ] {
        let new = json!({"conditions": new});
        check(
            &json!({"conditions": [{"type": "a", "status": "1"}]}),
            &new,
            &new,
        );
    }
}

#[test]
fn conditions_of_several_writers_are_merged_by_type() {
    for (yes, no) in [(json!("True"), json!("False")), (json!(true), json!(false))] {
        let one = |kind: &str, status: &Value| json!({"type": kind, "status": status});
        let old = json!({"conditions": [one("Ready", &no), one("Old", &yes)]});
        let new = json!({"conditions": [one("Ready", &yes)]});
        let found = of(&old, &new).unwrap();
        let mut theirs = json!({"conditions": [
            one("Old", &yes), one("Theirs", &yes), one("Ready", &no),
        ]});
        let merged = json!({"conditions": [one("Theirs", &yes), one("Ready", &yes)]});
        assert_eq!(found.patch(&theirs), merged);
        found.apply(&mut theirs);
        assert_eq!(theirs, merged);
    }
}

#[test]
fn the_order_of_conditions_does_not_matter() {
    let one = |kind: &str| json!({"type": kind, "status": "True"});
    let old = json!({"conditions": [one("a"), one("b")]});
    let new = json!({"conditions": [one("b"), one("a")]});
    assert_eq!(of(&old, &new), None);
}

#[test]
fn conditions_of_an_empty_status_are_kept_by_type() {
    let new = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    check(&json!({}), &new, &new);
    let found = of(&json!({}), &new).unwrap();
    assert!(found.has_lists(&json!({})));
}
