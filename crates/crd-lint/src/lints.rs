//! The registry of lints. Findings at the same path are reported in this order.
//!
//! To add a lint, write a function with tests in a file below `lints/`, and add a row and a case here.

mod bounds;
mod columns;
mod cost;
mod defaults;
mod deprecation;
mod extensions;
mod form;
pub(crate) mod keywords;
mod lists;
mod names;
mod nested;
mod patterns;
mod resource;
mod rule_form;
mod rules;
pub(crate) mod scalars;
mod scale;
mod selectable;
mod size;
mod versions;

use crate::lint::Check::{Condition, Definition, Schema, Version};
use crate::lint::Lint;

/// Every lint. Ids are unique and never change.
pub const LINTS: &[Lint] = &[
    Lint::error("definition", "an object that is not a `CustomResourceDefinition` of `apiextensions.k8s.io/v1`, or has no versions", Definition(versions::definition)),
    Lint::error("stored-version", "several storage versions, or none", Definition(versions::stored)),
    Lint::error("served-version", "no version that is served", Definition(versions::served)),
    Lint::error("group", "a group without a dot, or one that belongs to Kubernetes", Definition(names::group)),
    Lint::error("name", "invalid plural, singular, kind, short names and categories", Definition(names::names)),
    Lint::error("selectable-fields-differ", "the same selectable fields in versions whose schemas differ, which kube-apiserver rejects up to 1.37 at least", Definition(selectable::same_fields_but_different_schemas)).version_dependent(),
    Lint::warning("size", "a definition too large for client-side `kubectl apply`", Definition(size::check)),
    Lint::error("duplicate-version", "two versions with the same name", Definition(versions::duplicates)),
    Lint::error("version-name", "an invalid name of a version", Version(names::version)),
    Lint::error("printer-column", "printer columns without a name, or with a path for which `kubectl get` shows no column or never a value", Version(columns::check)),
    Lint::error("unknown-column-type", "types and formats of printer columns that the API server does not know", Version(columns::types)).version_dependent(),
    Lint::error("selectable-field", "selectable fields that are lists or objects, are listed twice, or do not exist", Version(selectable::check)),
    Lint::error("selectable-field-limit", "more selectable fields than the API server allows", Version(selectable::limit)).version_dependent(),
    Lint::error("scale", "paths of the `scale` subresource that are not fields of `spec` or `status`", Version(scale::check)),
    Lint::error("deprecation-warning", "a deprecation warning that is empty, too long, has several lines, or belongs to a version that is not deprecated", Version(deprecation::check)),
    Lint::error("root-restriction", "restrictions of the object itself that affect its status", Version(nested::root)),
    Lint::error("unsupported-keyword", "recursive types, maps whose keys are not strings, and other keywords that a CRD cannot have", Schema(form::keywords)),
    Lint::error("schema-type", "values of any type: untagged enums of different types, tuples, `()`, lists without a schema for their items", Schema(form::types)),
    Lint::error("map-values", "fields next to a flattened map, and maps whose values have no schema", Schema(form::maps)),
    Lint::error("object-fields", "invalid schemas of `apiVersion`, `kind` and `metadata`, and a root that is not an object", Schema(resource::check)),
    Lint::error("extension", "`x-kubernetes-…` keywords that contradict each other or the type", Schema(extensions::check)),
    Lint::warning("float", "floats are rounded differently by different clients", Schema(scalars::float)),
    Lint::error("bounds", "bounds that are not values of the type: the API server rejects every value, or accepts some that the operator cannot read", Schema(bounds::check)),
    Lint::warning("inexact-bound", "bounds of integers beyond 2^53, which the API server compares as floats", Schema(bounds::inexact)),
    Lint::warning("wide-integer", "`u64`, `usize`, `u128` and `i128`, of which the API server accepts values up to 2^63 - 1", Schema(bounds::wide)),
    Lint::warning("bytes", "a list of bytes is a list of numbers in YAML", Schema(scalars::bytes)),
    Lint::warning("format", "a format that the API server does not check", Schema(scalars::format)),
    Lint::error("restriction", "`anyOf`, `allOf`, `oneOf` and `not` with keywords that only the schema around them may have", Schema(nested::check)),
    Lint::error("merge-strategy", "merge strategies on a value that is not a list or map", Schema(lists::strategies)),
    Lint::error("unknown-merge-strategy", "merge strategies that the API server does not know", Schema(lists::known_strategies)).version_dependent(),
    Lint::error("list-keys", "keys that do not exist, can be missing or null, or are not scalars; sets of items that are merged field by field", Schema(lists::keys)),
    Lint::warning("set-items", "sets of objects or lists, which server-side apply and rules do not support", Schema(lists::set_items)),
    Lint::error("conditions", "lists of conditions without a key, so that several writers overwrite each other", Schema(lists::conditions)),
    Lint::error("default", "defaults that are invalid, violate a rule, or have unknown fields", Schema(defaults::check)),
    Lint::error("pattern", "patterns that Go does not support: look-around, back-references", Schema(patterns::check)),
    Lint::error("rule-form", "rules that are empty, or whose message or field path the API server rejects", Schema(rule_form::form)),
    Lint::error("unknown-reason", "rules with a reason that the API server does not know", Schema(rule_form::reason)).version_dependent(),
    Lint::error("rule", "rules that do not parse, or have type errors", Schema(rules::types)),
    Lint::error("unknown-function", "rules and match conditions that call an unknown function or library", Schema(rules::functions)).version_dependent(),
    Lint::error("unknown-overload", "rules and match conditions that call a function with arguments of the wrong types", Schema(rules::overloads)).version_dependent(),
    Lint::error("unknown-variable", "rules and match conditions that use an unknown variable", Schema(rules::variables)).version_dependent(),
    Lint::error("old-self", "rules that use `oldSelf` where it is not available", Schema(rules::old_self)),
    Lint::warning("cost", "a rule that may cost more than the API server allows (an estimate), and what to bound", Schema(rules::cost)),
    Lint::error("match-condition", "match conditions of webhooks that do not parse, or have type errors", Condition).version_dependent(),
];

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::{Finding, Severity, lint};

    #[test]
    fn ids_are_unique_and_in_kebab_case() {
        for (position, lint) in LINTS.iter().enumerate() {
            let allowed = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(lint.id.bytes().all(allowed), "{}", lint.id);
            let before = &LINTS[..position];
            assert!(
                before.iter().all(|known| known.id != lint.id),
                "{}",
                lint.id
            );
        }
    }

    /// A definition without a finding, with two versions.
    fn sound() -> Value {
        let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": {
            "spec": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 9 } } },
            "status": { "type": "object", "properties": { "replicas": { "type": "integer" } } },
        } } });
        let version = |name: &str, storage: bool| json!({ "name": name, "served": true, "storage": storage, "schema": schema, "subresources": { "status": {} } });
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "ships.example.com" },
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": { "kind": "Ship", "plural": "ships" },
                "versions": [version("v1", true), version("v1beta1", false)],
            },
        })
    }

    const VERSION: &str = "/spec/versions/0";
    const SPEC: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";

    /// The ids whose cases were run.
    #[derive(Default)]
    struct Cases(RefCell<BTreeSet<&'static str>>);

    impl Cases {
        /// Asserts that all findings have this id after `key` of the value at `pointer` is set to `value`.
        #[track_caller]
        fn check(&self, id: &'static str, pointer: &str, key: &str, value: Value) -> Vec<Finding> {
            let mut crd = sound();
            crd.pointer_mut(pointer).expect("the pointer exists")[key] = value;
            let findings = lint(&crd);
            assert!(!findings.is_empty(), "{id}: no findings");
            for finding in &findings {
                assert_eq!(finding.id, id, "{finding}");
            }
            self.0.borrow_mut().insert(id);
            findings
        }

        /// Like [`Cases::check`], for a field of `spec`, where the findings must be.
        #[track_caller]
        fn field(&self, id: &'static str, schema: Value) {
            for finding in self.check(id, SPEC, "it", schema) {
                assert!(finding.path.starts_with(".spec.it"), "{finding}");
                assert_eq!(finding.version.as_deref(), Some("v1"));
            }
        }
    }

    #[test]
    fn a_valid_definition_has_no_findings() {
        assert_eq!(lint(&sound()), []);
    }

    #[test]
    fn a_value_that_is_not_a_definition_has_one_finding() {
        for value in [json!(null), json!([]), json!({ "kind": "Pod" })] {
            let ids: Vec<_> = lint(&value).iter().map(|finding| finding.id).collect();
            assert_eq!(ids, ["definition"], "{value}");
        }
    }

    #[test]
    fn a_finding_is_shown_with_its_id_path_and_helps() {
        let cases = Cases::default();
        let schema = json!({ "type": "number" });
        let findings = cases.check("float", SPEC, "it", schema);
        assert_eq!(findings[0].severity, Severity::Warning);
        let expected = "warning[float]: v1, `.spec.it`: floats are rounded differently by different clients\n  help: use an integer of a smaller unit, or `Quantity`";
        assert_eq!(findings[0].to_string(), expected);
    }

    #[test]
    fn each_lint_has_a_case_that_it_finds() {
        let cases = Cases::default();
        of_definitions(&cases);
        of_versions(&cases);
        of_schemas(&cases);
        of_lists(&cases);
        of_rules(&cases);
        // Reported only for webhooks.
        cases.0.borrow_mut().insert("match-condition");
        for lint in LINTS {
            assert!(cases.0.borrow().contains(lint.id), "no case of {}", lint.id);
        }
    }

    fn of_definitions(cases: &Cases) {
        let spec = "/spec";
        cases.check("definition", "", "kind", json!("Pod"));
        cases.check("group", spec, "group", json!("ships"));
        cases.check("group", spec, "group", json!("ships.k8s.io"));
        cases.check("name", "/spec/names", "plural", json!("Ships"));
        cases.check("name", "/spec/names", "shortNames", json!(["s_h"]));
        cases.check("stored-version", VERSION, "storage", json!(false));
        cases.check("stored-version", "/spec/versions/1", "storage", json!(true));
        cases.check("duplicate-version", VERSION, "name", json!("v1beta1"));
        let mut unserved = sound()["spec"]["versions"].clone();
        unserved[0]["served"] = json!(false);
        unserved[1]["served"] = json!(false);
        cases.check("served-version", spec, "versions", unserved);
        let mut selectable = sound()["spec"]["versions"].clone();
        for version in [0, 1] {
            selectable[version]["selectableFields"] = json!([{ "jsonPath": ".spec.name" }]);
        }
        selectable[1]["schema"]["openAPIV3Schema"]["description"] = json!("Another one.");
        cases.check("selectable-fields-differ", spec, "versions", selectable);
        let long = "x".repeat(300_000);
        cases.check("size", "/metadata", "annotations", json!({ "x": long }));
    }

    fn of_versions(cases: &Cases) {
        cases.check("version-name", VERSION, "name", json!("V1"));
        let columns = "additionalPrinterColumns";
        let column = |name: &str, kind: &str, path: &str| json!([{ "name": name, "type": kind, "jsonPath": path }]);
        let unnamed = column("", "string", ".spec.name");
        cases.check("printer-column", VERSION, columns, unnamed);
        let misspelled = column("Name", "string", ".spec.nmae");
        cases.check("printer-column", VERSION, columns, misspelled);
        let untyped = column("Name", "text", ".spec.name");
        cases.check("unknown-column-type", VERSION, columns, untyped);
        let selectable = |path: &str, times| json!(vec![json!({ "jsonPath": path }); times]);
        for path in [".spec", ".spec.nmae", "spec.name", ".metadata.name"] {
            let fields = selectable(path, 1);
            cases.check("selectable-field", VERSION, "selectableFields", fields);
        }
        let duplicate = selectable(".spec.name", 2);
        cases.check("selectable-field", VERSION, "selectableFields", duplicate);
        let mut crd = sound();
        let names: Vec<_> = (0..9).map(|number| format!("f{number}")).collect();
        for name in &names {
            crd.pointer_mut(SPEC).expect("the pointer exists")[name] = json!({ "type": "string" });
        }
        let mut versions = crd["spec"]["versions"].clone();
        let fields = names
            .iter()
            .map(|name| json!({ "jsonPath": format!(".spec.{name}") }));
        versions[0]["selectableFields"] = fields.collect();
        cases.check("selectable-field-limit", "/spec", "versions", versions);
        let scale = json!({ "status": {}, "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" } });
        cases.check("scale", VERSION, "subresources", scale);
        let warning = "deprecationWarning";
        cases.check("deprecation-warning", VERSION, warning, json!("soon"));
        let root = "/spec/versions/0/schema/openAPIV3Schema";
        cases.check("root-restriction", root, "maxProperties", json!(3));
    }

    fn of_schemas(cases: &Cases) {
        let text = json!({ "type": "string" });
        cases.field("unsupported-keyword", json!({ "$ref": "#/definitions/It" }));
        let set = json!({ "type": "array", "items": text, "uniqueItems": true });
        cases.field("unsupported-keyword", set);
        cases.field("schema-type", json!({}));
        cases.field("schema-type", json!({ "type": "null" }));
        cases.field("schema-type", json!({ "type": "array" }));
        cases.field(
            "map-values",
            json!({ "type": "object", "additionalProperties": true }),
        );
        cases.field(
            "map-values",
            json!({ "type": "object", "properties": { "a": text }, "additionalProperties": text }),
        );
        let root = "/spec/versions/0/schema/openAPIV3Schema";
        cases.check("object-fields", root, "type", json!("string"));
        cases.check("object-fields", root, "nullable", json!(true));
        let both = json!({ "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true });
        cases.field("extension", both);
        cases.field("float", json!({ "type": "number" }));
        of_numbers(cases);
        let byte = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
        cases.field("bytes", json!({ "type": "array", "items": byte }));
        cases.field("format", json!({ "type": "string", "format": "semver" }));
        let typed = json!({ "type": "string", "anyOf": [{ "type": "string" }] });
        cases.field("restriction", typed);
        let variant = |name: &str| json!({ "type": "object", "required": [name], "properties": { name: text } });
        let of = |a, b| json!({ "type": "object", "oneOf": [variant(a), variant(b)] });
        let two = json!({ "type": "object", "allOf": [of("a", "b"), of("c", "d")] });
        let found = cases.check("restriction", SPEC, "it", two);
        let text = "a struct can flatten one enum, and this one flattens 2";
        assert_eq!(
            found.iter().map(|it| &*it.message).collect::<Vec<_>>(),
            [text]
        );
        cases.field("default", json!({ "type": "integer", "default": "3" }));
        let patterned = json!({ "type": "string", "pattern": "(?!a)" });
        cases.field("pattern", patterned);
    }

    fn of_numbers(cases: &Cases) {
        let integer = |format: &str, key: &str, bound: Value| {
            let default = if key == "minimum" {
                "maximum"
            } else {
                "minimum"
            };
            json!({ "type": "integer", "format": format, key: bound, default: 3 })
        };
        for (format, key, bound) in [
            ("int32", "maximum", json!(2_147_483_648_i64)),
            ("int32", "minimum", json!(-2_147_483_649_i64)),
            ("int32", "maximum", json!(1.5)),
            ("int32", "multipleOf", json!(0.5)),
            ("int64", "maximum", json!(9.3e18)),
            ("int64", "maximum", json!(i64::MAX)),
            ("uint64", "maximum", json!(u64::MAX)),
            ("", "maximum", json!(1e300)),
            ("uint8", "maximum", json!(256)),
            ("int16", "minimum", json!(-40_000)),
            ("uint32", "maximum", json!(4_294_967_296_i64)),
            ("uint", "minimum", json!(-1)),
        ] {
            let found = cases.check("bounds", SPEC, "it", integer(format, key, bound));
            assert_eq!(found.len(), 1, "{format} {key}");
        }
        for (format, key, bound) in [
            ("int32", "maximum", json!(i32::MAX)),
            ("int64", "minimum", json!(-9_007_199_254_740_991_i64)),
            ("uint8", "maximum", json!(255)),
            ("uint64", "maximum", json!(9_007_199_254_740_991_i64)),
            ("", "multipleOf", json!(2.0)),
        ] {
            let mut crd = sound();
            crd.pointer_mut(SPEC).expect("the pointer exists")["it"] = integer(format, key, bound);
            assert_eq!(lint(&crd), [], "{format} {key}");
        }
        for bound in [json!(9_007_199_254_740_992_i64), json!(-1e17)] {
            cases.field("inexact-bound", integer("int64", "maximum", bound));
        }
        for format in ["uint", "uint64", "uint128", "int128"] {
            let schema = json!({ "type": "integer", "format": format, "minimum": 0 });
            cases.field("wide-integer", schema);
        }
    }

    fn of_lists(cases: &Cases) {
        let list = |kind: &str, keys: Value| {
            json!({ "type": "array", "x-kubernetes-list-type": kind, "x-kubernetes-list-map-keys": keys,
            "items": { "type": "object", "properties": { "name": { "type": "string" } } } })
        };
        cases.field("list-keys", list("map", json!(["name"])));
        cases.field("list-keys", list("map", json!(["nmae"])));
        cases.field("list-keys", list("set", json!(null)));
        let lists = json!({ "type": "array", "items": { "type": "string" } });
        let set = json!({ "type": "array", "x-kubernetes-list-type": "set", "items": lists });
        cases.field("set-items", set);
        cases.field("unknown-merge-strategy", list("newest", json!(null)));
        let text = json!({ "type": "string", "x-kubernetes-list-type": "atomic" });
        cases.field("merge-strategy", text);
        let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
        let conditions = list("atomic", json!(null));
        cases.check("conditions", status, "conditions", conditions);
    }

    fn of_rules(cases: &Cases) {
        let with = |rule: Value| json!({ "type": "string", "maxLength": 9, "x-kubernetes-validations": [rule] });
        let ruled = |rule: &str| with(json!({ "rule": rule }));
        cases.field("rule-form", ruled(" "));
        let reason = json!({ "rule": "self != ''", "reason": "Newest" });
        cases.field("unknown-reason", with(reason));
        for rule in ["self >", "self > 3", "self.size()", "self.a == 'x'"] {
            cases.field("rule", ruled(rule));
        }
        for rule in ["future(self)", "self.future()", "future.sail(self)"] {
            cases.field("unknown-function", ruled(rule));
        }
        cases.field("unknown-overload", ruled("self.startsWith(3)"));
        cases.field("unknown-variable", ruled("future == self"));
        let unused = json!({ "rule": "self != ''", "optionalOldSelf": true });
        cases.field("old-self", with(unused));
        let costly = json!({ "type": "array", "items": { "type": "string" },
            "x-kubernetes-validations": [{ "rule": "self.all(a, self.all(b, a == b))" }] });
        cases.field("cost", costly);
    }
}
