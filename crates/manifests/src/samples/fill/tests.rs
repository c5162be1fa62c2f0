use super::*;

#[track_caller]
fn check(schema: &Value, expected: &Value) {
    assert_eq!(fill(schema, None), *expected, "of {schema}");
    assert!(is_valid(schema, expected), "{expected} of {schema}");
}

#[test]
fn examples_come_before_defaults_and_defaults_before_allowed_values() {
    check(
        &json!({ "type": "string", "example": "a", "default": "b", "enum": ["c", "b", "a"] }),
        &json!("a"),
    );
    check(
        &json!({ "type": "string", "default": "b", "enum": ["c", "b"] }),
        &json!("b"),
    );
    check(
        &json!({ "type": "string", "enum": ["c", "b"] }),
        &json!("c"),
    );
    check(
        &json!({ "type": "string", "example": "no", "maxLength": 1 }),
        &json!("e"),
    );
}

#[test]
fn numbers_are_within_the_bounds() {
    check(&json!({ "type": "integer" }), &json!(1));
    check(&json!({ "type": "integer", "minimum": 5 }), &json!(5));
    check(
        &json!({ "type": "integer", "minimum": 5, "exclusiveMinimum": true }),
        &json!(6),
    );
    check(&json!({ "type": "integer", "maximum": -3 }), &json!(-3));
    check(
        &json!({ "type": "integer", "minimum": 7, "multipleOf": 5 }),
        &json!(10),
    );
    check(
        &json!({ "type": "number", "minimum": 0.25, "maximum": 0.5 }),
        &json!(0.375),
    );
    check(&json!({ "x-kubernetes-int-or-string": true }), &json!(1));
}

#[test]
fn texts_match_the_length_pattern_and_format() {
    check(&json!({ "type": "string" }), &json!("example"));
    check(
        &json!({ "type": "string", "minLength": 10, "maxLength": 10 }),
        &json!("exampleexa"),
    );
    check(&json!({ "type": "string", "maxLength": 3 }), &json!("exa"));
    check(
        &json!({ "type": "string", "pattern": "^[0-9]+(s|m|h)$" }),
        &json!("10m"),
    );
    check(
        &json!({ "type": "string", "format": "ipv4" }),
        &json!("10.0.0.1"),
    );
    check(
        &json!({ "type": "string", "format": "date-time" }),
        &json!("2026-01-01T00:00:00Z"),
    );
}

#[test]
fn objects_have_the_required_fields_without_default() {
    let schema = json!({ "type": "object", "required": ["a", "b", "c"], "properties": {
        "a": { "type": "string" },
        "b": { "type": "boolean", "default": true },
        "c": { "type": "array", "minItems": 2, "items": { "type": "object", "required": ["d"], "properties": { "d": { "type": "integer", "minimum": 3 } } } },
        "e": { "type": "string" },
    } });
    check(
        &schema,
        &json!({ "a": "example", "c": [{ "d": 3 }, { "d": 3 }] }),
    );
    let map = json!({ "type": "object", "minProperties": 1, "additionalProperties": { "type": "integer" } });
    check(&map, &json!({ "example-1": 1 }));
}

#[test]
fn an_embedded_object_has_a_kind() {
    let schema = json!({ "type": "object", "x-kubernetes-embedded-resource": true });
    assert!(!is_valid(&schema, &json!({})));
    check(&schema, &json!({ "apiVersion": "v1", "kind": "ConfigMap" }));
}

#[test]
fn one_variant_of_an_enum_is_chosen() {
    let schema = json!({
        "type": "object", "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
        "properties": { "a": { "type": "object" }, "b": { "type": "string" } },
    });
    check(&schema, &json!({ "a": {} }));
}

#[test]
fn valid_values_are_kept_and_invalid_ones_replaced() {
    let schema = json!({ "type": "object", "required": ["b"], "properties": {
        "a": { "type": "string" }, "b": { "type": "integer" }, "c": { "type": "string", "maxLength": 1 },
    } });
    let now = json!({ "a": "mine", "c": "too long", "gone": 1 });
    assert_eq!(
        fill(&schema, Some(&now)),
        json!({ "a": "mine", "b": 1, "c": "e" })
    );
}
