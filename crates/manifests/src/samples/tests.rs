use super::*;
use crate::crd::merge;
use crate::source_map::SourceMap;

fn crds(spec: &Value) -> Vec<Crd> {
    let version = |name: &str, served: bool| {
        json!({ "name": name, "served": served, "storage": served, "schema": { "openAPIV3Schema": {
            "type": "object", "required": ["spec"], "properties": { "spec": spec },
        } } })
    };
    let crd = json!({ "metadata": {}, "spec": {
        "group": "crew.example.com", "scope": "Namespaced", "names": { "kind": "Captain", "plural": "captains" },
        "versions": [version("v1", true), version("v0", false)],
    } });
    merge(&[crd], &SourceMap::default(), &mut Vec::new())
}

fn spec() -> Value {
    json!({ "type": "object", "required": ["image", "replicas"], "properties": {
        "image": { "type": "string", "minLength": 1 },
        "replicas": { "type": "integer", "minimum": 1, "default": 1 },
        "ports": { "type": "array", "items": { "type": "object", "properties": { "port": { "type": "integer" } } } },
    } })
}

const HEAD: &str =
    "apiVersion: crew.example.com/v1\nkind: Captain\nmetadata:\n  name: captain-sample\n";

fn warnings(text: &str) -> Vec<String> {
    validate(&crds(&spec()), "a.yaml", text)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_valid_sample_is_left_alone() {
    let good = format!("{HEAD}spec:\n  image: x\n  ports: [{{port: 1}}]\n");
    assert_eq!(warnings(&good), [""; 0]);
    assert_eq!(
        repair(&crds(&spec()), "a.yaml", &edited::checksummed(&good)),
        (None, vec![])
    );
}

#[test]
fn a_repaired_sample_keeps_its_comment() {
    let old = edited::checksummed(&format!("# Ours.\n{HEAD}spec: {{}}\n"));
    let (after, found) = repair(&crds(&spec()), "a.yaml", &old);
    let after = after.unwrap_or_else(|| panic!("{found:?}"));
    assert!(after.starts_with(&format!("# Ours.\n{HEAD}")), "{after}");
}

#[test]
fn each_invalid_field_of_an_edited_sample_is_reported_with_its_line() {
    let bad = format!("# mine\n{HEAD}spec:\n  replicas: 0\n  ports:\n  - prot: 1\n  - port: x\n");
    let expected = [
        "`a.yaml:6`: `.spec` has no `image`, which is required",
        "`a.yaml:10`: `.spec.ports[1].port` is of type `string`, not `integer`",
        "`a.yaml:7`: `.spec.replicas` is below 1",
        "`a.yaml:9`: `.spec.ports[0].prot` is an unknown field, did you mean `port`",
    ];
    assert_eq!(warnings(&bad), expected);
    assert!(warnings("a: [").concat().contains("`a.yaml`: is not YAML"));
}

#[test]
fn a_sample_of_a_missing_or_unserved_kind_is_reported() {
    let of = |from: &str, to: &str| warnings(&HEAD.replace(from, to));
    assert_eq!(
        of("v1", "v0"),
        ["`a.yaml:2`: `Captain` is not served as `crew.example.com/v0`"]
    );
    assert_eq!(
        of("v1", "v3"),
        ["`a.yaml:2`: no type defines `Captain` of `crew.example.com/v3`"]
    );
    assert_eq!(
        of("Captain", "Mate"),
        ["`a.yaml:2`: no type defines `Mate` of `crew.example.com/v1`"]
    );
    assert_eq!(
        of("crew.example.com", "apps"),
        [""; 0],
        "a kind of an external group"
    );
}

#[test]
fn an_invalid_sample_that_was_not_edited_is_repaired() {
    let now = edited::checksummed(&format!("{HEAD}spec:\n  ports: []\n  gone: 1\n"));
    let (after, found) = repair(&crds(&spec()), "a.yaml", &now);
    assert!(found.is_empty());
    let expected = format!("{HEAD}spec:\n  image: example\n  ports: []\n");
    assert_eq!(after, Some(expected));
}

fn ruled(rule: &Value) -> Vec<Crd> {
    crds(
        &json!({ "type": "object", "x-kubernetes-validations": [rule], "properties": {
        "least": { "type": "integer" }, "most": { "type": "integer", "default": 3 }, "url": { "type": "string" },
    } }),
    )
}

#[test]
fn a_sample_that_violates_a_rule_is_reported_with_the_rules_message_and_field() {
    let rule = json!({ "rule": "self.least <= self.most", "message": "least is above most", "fieldPath": ".least" });
    let found = |least: u32| {
        let text = format!("{HEAD}spec:\n  url: x\n  least: {least}\n");
        let found = validate(&ruled(&rule), "a.yaml", &text);
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(found(3), [""; 0], "with the default of the other field");
    let expected = "`a.yaml:7`: `.spec.least` violates the rule `self.least <= self.most`: least is above most";
    assert_eq!(found(4), [expected]);
}

#[test]
fn a_sample_that_was_not_edited_is_repaired_to_follow_the_rules() {
    let now = edited::checksummed(&format!("{HEAD}spec: {{}}\n"));
    let repaired = |rule: &str| {
        let (after, found) = repair(&ruled(&json!({ "rule": rule })), "a.yaml", &now);
        assert_eq!(found, []);
        after.expect("it can be repaired")
    };
    assert!(repaired("has(self.least) && self.least < self.most").ends_with("  least: 1\n"));
    assert!(repaired("has(self.least) != has(self.url)").ends_with("  least: 1\n"));
}

#[test]
fn a_rule_without_known_valid_values_is_reported_and_the_sample_left_alone() {
    let now = edited::checksummed(&format!("{HEAD}spec: {{}}\n"));
    let rule = json!({ "rule": "has(self.url) && self.url.startsWith('oci://')" });
    let (after, found) = repair(&ruled(&rule), "a.yaml", &now);
    assert_eq!(after.map(|it| edited::checksummed(&it)), Some(now));
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let [found] = &found[..] else {
        panic!("{found:?}");
    };
    let text = "`a.yaml`: kbr found no values that make this unedited sample valid\n  `a.yaml:6`: `.spec` violates the rule `has(self.url)";
    assert!(found.starts_with(text), "{found}");
}

#[test]
fn a_field_without_a_known_value_is_named_by_one_warning_and_all_others_are_filled() {
    let mut spec = json!({ "type": "object", "required": ["role"], "properties": {
        "role": { "type": "string", "pattern": "^arn:aws:iam::\\d{12}:role/[\\w+=,.@-]+$" },
    } });
    for n in 1..15 {
        let name = format!("f{n:02}");
        spec["properties"][&name] = json!({ "type": "string", "minLength": 1 });
        spec["required"].as_array_mut().unwrap().push(json!(name));
    }
    let now = edited::checksummed(&format!("{HEAD}spec: {{}}\n"));
    let (after, found) = repair(&crds(&spec), "a.yaml", &now);
    let after = after.unwrap();
    let fields: Vec<_> = (1..15).map(|n| format!("  f{n:02}: example\n")).collect();
    assert_eq!(after, format!("{HEAD}spec:\n{}", fields.concat()));
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let expected = "`a.yaml`: kbr found no values that make this unedited sample valid\n  `a.yaml:6`: `.spec` has no `role`, which is required\n    help: write valid values, or give the fields examples: `#[schemars(extend(\"example\" = …))]`";
    assert_eq!(found, [expected]);
    let again = repair(&crds(&spec), "a.yaml", &edited::checksummed(&after));
    assert_eq!((again.0, again.1.len()), (Some(after), 1));
}

#[test]
fn an_item_that_occurs_twice_in_an_edited_sample_is_reported() {
    let zones =
        json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } });
    let spec = json!({ "type": "object", "properties": { "zones": zones } });
    let text = format!("{HEAD}spec:\n  zones:\n  - a\n  - b\n  - a\n");
    let found = validate(&crds(&spec), "a.yaml", &text);
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let expected = "`a.yaml:9`: `.spec.zones[2]` repeats `\"a\"`, which may occur only once";
    assert_eq!(found, [expected]);
}

#[test]
fn a_schema_may_require_what_every_object_has() {
    let mut crds = crds(&spec());
    let schema = &mut crds[0].object["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["required"] = json!(["apiVersion", "kind", "metadata", "spec"]);
    let now = edited::checksummed(&format!("{HEAD}spec: {{}}\n"));
    let repaired = format!("{HEAD}spec:\n  image: example\n");
    assert_eq!(
        repair(&crds, "a.yaml", &now),
        (Some(repaired.clone()), Vec::new())
    );
    assert_eq!(validate(&crds, "a.yaml", &repaired), Vec::new());
}
