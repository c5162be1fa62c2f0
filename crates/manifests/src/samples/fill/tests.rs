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

#[test]
fn items_of_sets_and_keys_of_items_are_different() {
    let set = |items: Value| json!({ "type": "array", "minItems": 3, "x-kubernetes-list-type": "set", "items": items });
    let letters = json!({ "type": "string", "enum": ["A", "B", "C", "D"] });
    check(&set(letters), &json!(["A", "B", "C"]));
    check(
        &set(json!({ "type": "string" })),
        &json!(["example", "example-2", "example-3"]),
    );
    check(
        &set(json!({ "type": "string", "maxLength": 7 })),
        &json!(["example", "exampl2", "exampl3"]),
    );
    check(
        &set(json!({ "type": "string", "format": "ipv4" })),
        &json!(["10.0.0.1", "10.0.0.12", "10.0.0.13"]),
    );
    check(
        &set(json!({ "type": "integer", "maximum": 1 })),
        &json!([1, 0, -1]),
    );
    check(
        &set(json!({ "type": "integer", "minimum": 10, "multipleOf": 5 })),
        &json!([10, 15, 20]),
    );
    let mut keyed = set(
        json!({ "type": "object", "required": ["name", "protocol"], "properties": {
        "name": { "type": "string", "enum": ["a", "b"] }, "protocol": { "type": "string", "enum": ["TCP", "UDP"] },
    } }),
    );
    keyed["x-kubernetes-list-type"] = json!("map");
    keyed["x-kubernetes-list-map-keys"] = json!(["name", "protocol"]);
    let items = [("a", "TCP"), ("b", "TCP"), ("a", "UDP")];
    let items = items.map(|(name, protocol)| json!({ "name": name, "protocol": protocol }));
    check(&keyed, &json!(items));
    let twice = json!(["A", "B", "B"]);
    let letters = set(json!({ "type": "string", "enum": ["A", "B", "C"] }));
    assert_eq!(fill(&letters, Some(&twice)), json!(["A", "B", "C"]));
    // There are not as many.
    let few = set(json!({ "type": "boolean" }));
    assert_eq!(fill(&few, None), json!([false, true, false]));
}

#[test]
fn a_field_without_a_known_value_is_left_out_and_all_others_are_filled() {
    let arn = json!({ "type": "string", "pattern": "^arn:aws:iam::\\d{12}:role/[\\w+=,.@-]+$" });
    let inner = json!({ "type": "object", "required": ["arn", "name"], "properties": { "arn": arn, "name": { "type": "string" } } });
    let list = |items: &Value| json!({ "type": "array", "minItems": 1, "items": items });
    let schema = json!({ "type": "object", "required": ["a", "arn", "arns", "inner", "list"], "properties": {
        "a": { "type": "string" }, "arn": arn, "arns": list(&arn), "inner": inner, "list": list(&inner),
    } });
    let name = json!({ "name": "example" });
    let expected = json!({ "a": "example", "arns": [], "inner": name, "list": [name] });
    assert_eq!(fill(&schema, None), expected);
}
