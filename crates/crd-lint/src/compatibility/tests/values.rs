//! Changes of what values a field may have.

use super::*;

#[test]
fn a_stricter_scalar_is_a_warning_and_anything_that_does_not_ratchet_an_error() {
    let number = |maximum: u32| json!({ "type": "integer", "maximum": maximum });
    let list = |items: Value| json!({ "type": "array", "items": items });
    let keyed = |maximum: u32| {
        json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"],
            "items": { "type": "object", "properties": { "key": { "type": "string" }, "power": number(maximum) } },
        })
    };
    let cases = [
        (number(9), number(5), "values-restricted warning .spec.it"),
        (
            keyed(9),
            keyed(5),
            "values-restricted warning .spec.it[].power",
        ),
        (
            list(number(9)),
            list(number(5)),
            "values-restricted error .spec.it[]",
        ),
        (
            json!({ "type": "string" }),
            json!({ "type": "string", "pattern": "^a" }),
            "pattern-changed warning .spec.it",
        ),
        (
            list(number(9)),
            json!({ "type": "array", "items": number(9), "maxItems": 3 }),
            "size-restricted error .spec.it",
        ),
        (
            json!({ "type": "string" }),
            json!({ "type": "integer" }),
            "type-changed error .spec.it",
        ),
        (
            json!({ "type": "integer" }),
            json!({ "type": "number" }),
            "type-changed warning .spec.it",
        ),
        (
            json!({ "type": "string", "nullable": true }),
            json!({ "type": "string" }),
            "null-rejected error .spec.it",
        ),
        (
            json!({ "type": "string" }),
            json!({ "type": "string", "not": { "enum": ["a"] } }),
            "restriction-changed error .spec.it",
        ),
        (
            json!({ "type": "string" }),
            json!({ "type": "string", "default": "a" }),
            "default-changed warning .spec.it",
        ),
        (
            keyed(9),
            list(keyed(9)["items"].clone()),
            "list-type-changed warning .spec.it",
        ),
    ];
    for (old, new, expected) in cases {
        assert_eq!(of_field(&old, &new), [expected]);
    }
}

#[test]
fn a_bound_that_allows_more_is_not_a_finding() {
    let range = |minimum: i32, maximum: i32| json!({ "type": "integer", "minimum": minimum, "maximum": maximum });
    assert_eq!(of_field(&range(1, 5), &range(0, 9)), [""; 0]);
    assert_eq!(
        of_field(&range(1, 5), &json!({ "type": "integer" })),
        [""; 0]
    );
    assert_eq!(
        of_field(&range(1, 5), &range(2, 9)),
        ["values-restricted warning .spec.it"]
    );
    let exclusive =
        json!({ "type": "integer", "minimum": 1, "maximum": 5, "exclusiveMaximum": true });
    assert_eq!(
        of_field(&range(1, 5), &exclusive),
        ["values-restricted warning .spec.it"]
    );
    assert_eq!(of_field(&exclusive, &range(1, 5)), [""; 0]);
    let wider = json!({ "type": "integer", "minimum": 1, "maximum": 6, "exclusiveMaximum": true });
    assert_eq!(of_field(&range(1, 5), &wider), [""; 0]);
    let text = |key: &str, value: u32| json!({ "type": "string", key: value });
    assert_eq!(
        of_field(&text("minLength", 1), &text("minLength", 0)),
        [""; 0]
    );
    assert_eq!(
        of_field(&text("maxLength", 3), &text("minLength", 0)),
        [""; 0]
    );
}

#[test]
fn a_number_may_become_wider_and_a_format_that_is_not_checked_does_not_matter() {
    let number = |format: &str| json!({ "type": "integer", "format": format });
    let text = |format: &str| json!({ "type": "string", "format": format });
    for (old, new, expected) in [
        (number("int32"), number("int64"), ""),
        (number("uint32"), number("uint64"), ""),
        (number("uint32"), number("int64"), ""),
        (
            number("int64"),
            number("int32"),
            "pattern-changed warning .spec.it",
        ),
        (
            number("int32"),
            number("uint32"),
            "pattern-changed warning .spec.it",
        ),
        (text("a"), text("b"), ""),
        (
            text("date"),
            text("date-time"),
            "pattern-changed warning .spec.it",
        ),
    ] {
        assert_eq!(of_field(&old, &new).join(""), expected, "{old} {new}");
    }
}

#[test]
fn an_enum_is_compared_with_all_that_replaces_it() {
    let old = json!({ "type": "string", "enum": ["a", "b"] });
    assert_eq!(
        of_field(
            &old,
            &json!({ "type": "string", "pattern": "^[a-z]$", "maxLength": 1 })
        ),
        [""; 0]
    );
    assert_eq!(
        of_field(&old, &json!({ "type": "string", "pattern": "^[b-z]$" })),
        ["pattern-changed warning .spec.it"]
    );
    assert_eq!(
        of_field(&old, &json!({ "type": "string", "enum": ["b", "c"] })),
        ["enum-restricted error .spec.it"]
    );
}
