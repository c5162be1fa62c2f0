//! Rules on random types, most of which compile.

use serde_json::{Value, json};

use super::{Random, with};

/// Rules on the fields of a struct.
pub fn rules(random: &mut Random, schema: &Value) -> Vec<String> {
    if random.errs() {
        let wrong = [
            "self.nmae == ''",
            "self.count",
            "self.ports.all(p, p > 0)",
            "self.mode == 3",
            "self.name > ",
            "self == oldSelf",
        ];
        return vec![random.pick(&wrong).to_owned()];
    }
    let fields = schema["properties"].as_object();
    let names: Vec<String> = fields
        .into_iter()
        .flatten()
        .map(|(name, _)| written(name))
        .collect();
    if random.rarely(3) {
        return vec![combined(random, &names)];
    }
    let mut rules = vec!["true".to_owned()];
    for (name, field) in fields.into_iter().flatten() {
        let name = written(name);
        rules.push(match (field["type"].as_str(), field["format"].as_str()) {
            (Some("integer"), _) => format!("self.{name} > 3 || self.{name} == 1 + 1"),
            (Some("string"), None) => {
                format!("self.{name}.startsWith('a') || self.{name} in ['a', 'b']")
            }
            (Some("string"), Some("date-time")) => {
                format!("self.{name} < timestamp('2030-01-01T00:00:00Z')")
            }
            (Some("number"), _) => format!("self.{name} < 1.5 && self.{name} >= 1"),
            (Some("boolean"), _) => format!("self.{name} ? true : !self.{name}"),
            _ => continue,
        });
    }
    rules
}

/// The escaped name of a field in rules.
fn written(name: &str) -> String {
    name.replace('-', "__dash__").replace("if", "__if__")
}

/// A rule that is valid for some types of fields only.
fn combined(random: &mut Random, names: &[String]) -> String {
    let (a, b) = (random.pick(names), random.pick(names));
    let forms = [
        "self.A == self.B",
        "self.A != oldSelf.A",
        "[self.A, self.B].size() == 2",
        "{'a': self.A, 'b': self.B}.size() == 2",
        "(true ? self.A : self.B) == self.A",
        "self.A in [self.B]",
        "has(self.A) && string(self.A) != ''",
        "int(self.A) > 1",
        "double(self.A) > 1.5",
        "bool(self.A)",
        "self.A.size() > 1",
        "size(self.A) > size(self.B)",
        "self.A.max() == self.A.min()",
        "self.A.sum() == self.B",
        "self.A.join(',') != ''",
        "self.A.isSorted()",
        "self.A.all(a, a == self.B)",
        "self.A.exists(a, a in self.B)",
        "self.A.map(a, a) == self.B",
        "self.A.filter(a, has(a.name)).size() == 1",
        "self.A.name == self.B",
        "self.A[0] == self.B",
        "self.A['a'] == self.B",
        "self.A + self.B == self.A",
        "self.A < self.B",
        "type(self.A) == type(self.B) || true",
        "self.?A.orValue(self.B) == self.B",
        "self.if == self.A",
    ];
    random.pick(&forms).replace('A', &a).replace('B', &b)
}

/// One of the rules for a schema, with optional other fields of a rule.
pub fn ruled(random: &mut Random, schema: Value, rules: &[&str]) -> Value {
    let mut rule = json!({ "rule": random.pick(rules) });
    if random.rarely(8) {
        rule = with(
            rule,
            "messageExpression",
            json!(random.pick(&["'a'", "string(1)"])),
        );
    }
    if random.errs() {
        rule = with(rule, "messageExpression", json!("1"));
    }
    if random.errs() {
        rule = with(
            rule,
            "fieldPath",
            json!(random.pick(&[".name", ".count", "name", ".x"])),
        );
    }
    if random.errs() {
        rule = with(rule, "optionalOldSelf", json!(true));
    }
    with(schema, "x-kubernetes-validations", json!([rule]))
}
