//! Changes of CEL rules and of variants.

use super::*;

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
