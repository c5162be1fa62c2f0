//! Fields that are removed, required or dropped.

use super::*;

#[test]
fn only_the_outermost_removed_field_is_reported_and_a_renamed_one_is_recognized() {
    let inner = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    assert_eq!(
        of_field(&inner, &json!({ "type": "object" })),
        ["field-removed error .spec.it.a"]
    );
    let (old, new) = (
        json!({ "properties": { "it": inner } }),
        json!({ "properties": { "that": inner } }),
    );
    let findings = compare(&crd(&old), &crd(&new));
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0]
            .message
            .contains("`that` is new and has the same schema"),
        "{}",
        findings[0]
    );
    assert!(
        findings[0].helps[0].contains("#[serde(rename = \"it\")]"),
        "{}",
        findings[0]
    );
    assert_eq!(of_spec(&old, &json!({})), ["field-removed error .spec.it"]);
}

#[test]
fn a_field_that_becomes_a_value_of_a_map_is_compared_with_its_schema() {
    let fields = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let map = |kind: &str| json!({ "type": "object", "additionalProperties": { "type": kind } });
    assert_eq!(
        of_field(&map("string"), &fields),
        ["field-removed error .spec.it[*]"]
    );
    assert_eq!(of_field(&fields, &map("string")), [""; 0]);
    assert_eq!(
        of_field(&fields, &map("integer")),
        ["type-changed error .spec.it.a"]
    );
}

#[test]
fn unknown_fields_that_are_dropped_are_reported() {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    assert_eq!(
        of_field(&open, &json!({ "type": "object" })),
        ["unknown-fields-dropped error .spec.it"]
    );
}

#[test]
fn a_required_field_needs_a_default() {
    let spec = |schema: Value| json!({ "properties": { "it": schema }, "required": ["it"] });
    let optional = json!({ "properties": { "it": { "type": "string" } } });
    assert_eq!(
        of_spec(&optional, &spec(json!({ "type": "string" }))),
        ["field-required error .spec.it"]
    );
    assert_eq!(
        of_spec(&json!({}), &spec(json!({ "type": "string" }))),
        ["field-required error .spec.it"]
    );
    assert_eq!(
        of_spec(
            &json!({}),
            &spec(json!({ "type": "string", "default": "a" }))
        ),
        [""; 0]
    );
}
