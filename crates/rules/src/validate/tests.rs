use serde_json::json;

use super::*;

fn reasons(schema: &Value, value: &Value) -> Vec<String> {
    let found = problems(value, schema).into_iter();
    found
        .map(|it| format!("{} {}", it.path, it.plain))
        .collect()
}

#[test]
fn types_bounds_and_formats_are_validated() {
    let schema = json!({ "type": "object", "required": ["a"], "properties": {
        "a": { "type": "integer", "minimum": 1, "maximum": 5 },
        "b": { "type": "string", "maxLength": 3, "pattern": "^[a-z]+$", "nullable": true },
        "c": { "type": "array", "maxItems": 1, "items": { "enum": ["x", "y"], "type": "string" } },
        "d": { "x-kubernetes-int-or-string": true },
    } });
    assert_eq!(
        reasons(
            &schema,
            &json!({ "a": 1, "b": null, "c": ["x"], "d": "5%" })
        ),
        [""; 0]
    );
    assert_eq!(
        reasons(&schema, &json!({})),
        [" has no `a`, which is required"]
    );
    let expected = [
        ".a is above 5",
        ".b is longer than 3",
        ".c has more than 1 items",
        ".c[1] is not one of `x`, `y`",
        ".d is of type `boolean`, not `integer` or `string`",
    ];
    let value = json!({ "a": 6, "b": "ABCD", "c": ["x", "z"], "d": true });
    assert_eq!(reasons(&schema, &value), expected);
    assert_eq!(
        reasons(&schema, &json!({ "a": "1" })),
        [".a is of type `string`, not `integer`"]
    );
}

#[test]
fn one_of_and_similar_keywords_count_matches() {
    let one = json!({ "type": "object", "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] });
    assert!(reasons(&one, &json!({ "a": 1 })).is_empty());
    assert_eq!(reasons(&one, &json!({})).len(), 1);
    assert_eq!(reasons(&one, &json!({ "a": 1, "b": 1 })).len(), 1);
    assert_eq!(
        reasons(&json!({ "not": { "required": ["a"] } }), &json!({ "a": 1 })).len(),
        1
    );
}

/// The rows that an API server of Kubernetes 1.37.2 accepts and rejects as defaults.
#[test]
fn a_multiple_is_one_by_the_arithmetic_of_the_api_server() {
    for (kind, factor, value, expected) in [
        ("number", json!(0.1), json!(0.3), true),
        ("number", json!(0.1), json!(0.7), true),
        ("number", json!(0.1), json!(-0.3), true),
        ("number", json!(0.1), json!(1.0), false),
        ("number", json!(0.01), json!(4.35), true),
        ("number", json!(0.1), json!(0.35), false),
        ("number", json!(0.1), json!(1e-11), false),
        ("number", json!(0.1), json!(0), false),
        ("number", json!(0.1), json!(3), false),
        ("number", json!(1.5), json!(4), true),
        ("number", json!(1.5), json!(4.5), true),
        ("number", json!(1.5), json!(4.0), true),
        ("number", json!(2), json!(4), true),
        ("number", json!(2), json!(4.5), false),
        ("integer", json!(2), json!(4), true),
        ("integer", json!(2), json!(5), false),
        ("integer", json!(1.5), json!(3), false),
    ] {
        let schema = json!({ "type": kind, "multipleOf": factor });
        let mut value = value;
        crate::normalise(&mut value);
        let found = reasons(&schema, &value);
        assert_eq!(found.is_empty(), expected, "{schema} {value}: {found:?}");
    }
}
