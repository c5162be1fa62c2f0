use serde_json::json;

use super::*;

/// A definition with one version, whose `spec` has these keywords.
fn crd(spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["type"] = json!("object");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "ships.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": "Ship", "plural": "ships" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
            }],
        },
    })
}

/// The findings as `field-removed error .spec.it`.
fn found(old: &Value, new: &Value) -> Vec<String> {
    let all = compare(old, new).into_iter();
    all.map(|it| {
        format!("{} {} {}", it.id, it.severity, it.path)
            .trim_end()
            .to_owned()
    })
    .collect()
}

/// The findings for a change of `spec`.
fn of_spec(old: &Value, new: &Value) -> Vec<String> {
    found(&crd(old), &crd(new))
}

/// The findings for a change of the field `it`.
fn of_field(old: &Value, new: &Value) -> Vec<String> {
    of_spec(
        &json!({ "properties": { "it": old } }),
        &json!({ "properties": { "it": new } }),
    )
}

/// The findings after a change of a definition with two versions and everything that can be removed.
fn of_whole(change: impl Fn(&mut Value)) -> Vec<String> {
    let mut old = crd(&json!({ "properties": { "it": { "type": "string" } } }));
    let mut second = old["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    let versions = old["spec"]["versions"].as_array_mut().unwrap();
    versions[0]["subresources"] = json!({ "status": {} });
    versions[0]["selectableFields"] = json!([{ "jsonPath": ".spec.it" }]);
    versions.push(second);
    old["spec"]["conversion"] = json!({ "strategy": "Webhook" });
    let mut new = old.clone();
    change(&mut new);
    found(&old, &new)
}

#[test]
fn equal_definitions_and_values_that_are_none_have_no_findings() {
    assert_eq!(of_whole(|_| {}), [""; 0]);
    assert_eq!(compare(&json!({}), &crd(&json!({}))), []);
    assert_eq!(compare(&crd(&json!({})), &Value::Null), []);
}

#[test]
fn changes_of_the_definition_and_its_versions_are_found() {
    let version = "/spec/versions/0";
    let cases = [
        ("/spec/names", "kind", json!("Boat"), "kind-changed error"),
        ("/spec", "scope", json!("Cluster"), "scope-changed error"),
        (
            "/spec",
            "conversion",
            json!(null),
            "conversion-removed error",
        ),
        (version, "served", json!(false), "version-removed error"),
        (
            version,
            "subresources",
            json!({}),
            "subresource-changed error",
        ),
        (
            "/spec/versions/1",
            "subresources",
            json!({ "status": {} }),
            "subresource-changed warning",
        ),
        (
            version,
            "selectableFields",
            json!([]),
            "selectable-field-removed error .spec.it",
        ),
    ];
    for (pointer, key, value, expected) in cases {
        let found = of_whole(|crd| crd.pointer_mut(pointer).unwrap()[key] = value.clone());
        assert_eq!(found, [expected]);
    }
    let switched = |crd: &mut Value| {
        for (position, storage) in [false, true].into_iter().enumerate() {
            crd["spec"]["versions"][position]["storage"] = json!(storage);
        }
    };
    assert_eq!(of_whole(switched), ["storage-changed warning"]);
    let dropped = of_whole(|crd| {
        switched(crd);
        crd["spec"]["versions"].as_array_mut().unwrap().remove(0);
    });
    assert_eq!(
        dropped,
        ["version-removed error", "storage-changed warning"]
    );
}

#[test]
fn a_cluster_tells_which_versions_are_still_stored() {
    let mut old = crd(&json!({}));
    old["status"] = json!({ "storedVersions": ["v1"] });
    let mut new = crd(&json!({}));
    new["spec"]["versions"][0]["name"] = json!("v2");
    assert_eq!(
        found(&old, &new),
        ["version-still-stored error", "storage-changed warning"]
    );
    old["status"] = json!({ "storedVersions": ["v2"] });
    assert_eq!(
        found(&old, &new),
        ["version-removed error", "storage-changed warning"]
    );
}

#[test]
fn a_new_version_is_compared_with_the_stored_one_unless_a_webhook_converts() {
    let old = crd(&json!({ "properties": { "it": { "type": "string" } } }));
    let mut new = old.clone();
    let mut second = crd(&json!({}))["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    new["spec"]["versions"].as_array_mut().unwrap().push(second);
    let findings = compare(&old, &new);
    assert_eq!(findings[0].version.as_deref(), Some("v2"));
    assert_eq!(found(&old, &new), ["field-removed error .spec.it"]);
    new["spec"]["conversion"] = json!({ "strategy": "Webhook" });
    assert_eq!(found(&old, &new), [""; 0]);
}

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

#[test]
fn a_rule_is_judged_by_what_it_is_about() {
    let spec = |rule: &str, optional: bool| {
        let mut spec = json!({
            "properties": { "it": { "type": "integer" }, "new": { "type": "integer" }, "full": { "type": "integer", "default": 1 } },
            "x-kubernetes-validations": [{ "rule": rule }],
        });
        if optional {
            spec["x-kubernetes-validations"][0]["optionalOldSelf"] = json!(true);
        }
        spec
    };
    let old = json!({ "properties": { "it": { "type": "integer" } } });
    for (rule, expected) in [
        ("self.it > 5", "rule-added error .spec"),
        ("self.it >= oldSelf.it", "rule-added warning .spec"),
        ("!has(self.it) || self.it > 5", "rule-added error .spec"),
        (
            "!has(self.full) || self.full > self.it",
            "rule-added error .spec",
        ),
        ("!has(self.new) || self.new > self.it", ""),
        ("has(self.new) ? self.new > 5 : true", ""),
        (
            "has(self.new) ? self.new > 5 : false",
            "rule-added error .spec",
        ),
        ("!has(self.new) && !has(self.it)", "rule-added error .spec"),
    ] {
        assert_eq!(
            of_spec(&old, &spec(rule, false)).join(""),
            expected,
            "{rule}"
        );
    }
    for (guard, expected) in [
        ("oldSelf.value().it == self.it", "rule-added warning .spec"),
        ("oldSelf.value() == self", "rule-added error .spec"),
    ] {
        let rule = format!("oldSelf.hasValue() && {guard} || self.it > 5");
        assert_eq!(of_spec(&old, &spec(&rule, true)), [expected], "{rule}");
    }
    assert_eq!(
        of_spec(&spec("self.it > 5", false), &old),
        [
            "field-removed error .spec.full",
            "field-removed error .spec.new"
        ]
    );
}

#[test]
fn a_variant_can_be_added_but_not_removed() {
    let spec = |names: &[&str]| {
        let mut spec = json!({ "properties": { "both": { "type": "string" } } });
        for name in names {
            spec["properties"][name] = json!({ "type": "string" });
        }
        spec["oneOf"] = names
            .iter()
            .map(|name| json!({ "required": [name] }))
            .collect();
        spec
    };
    assert_eq!(of_spec(&spec(&["a"]), &spec(&["a", "b"])), [""; 0]);
    let mut gone = spec(&["a", "b"]);
    gone["oneOf"] = json!([{ "required": ["a"] }]);
    assert_eq!(
        of_spec(&spec(&["a", "b"]), &gone),
        ["restriction-changed error .spec"]
    );
    let mut ambiguous = spec(&["a"]);
    ambiguous["oneOf"] = json!([{ "required": ["a"] }, { "required": ["both"] }]);
    assert_eq!(
        of_spec(&spec(&["a"]), &ambiguous),
        ["restriction-changed error .spec"]
    );
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

#[test]
fn metadata_is_not_compared() {
    let with = |metadata: Value| {
        let mut crd = crd(&json!({}));
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["metadata"] =
            metadata;
        crd
    };
    let old = with(json!({ "type": "object" }));
    let new = with(
        json!({ "type": "object", "properties": { "name": { "type": "string", "maxLength": 9 } } }),
    );
    assert_eq!(found(&old, &new), [""; 0]);
}
