use serde_json::json;

use super::*;

/// What the rules of a schema reject of a value, which `old` has been before.
fn broken(schema: &Value, value: &Value, old: Option<&Value>) -> Vec<Problem> {
    let rules = Rules::of(schema, false);
    let steps = std::cell::Cell::new(usize::MAX);
    let judgement = match old {
        Some(_) => rules.map(|rules| rules.judge_default(&steps, schema, value)),
        None => rules.map(|rules| rules.judge(schema, value, None)),
    };
    judgement.unwrap_or_default().problems
}

fn schema(rule: &Value) -> Value {
    json!({ "type": "object", "x-kubernetes-validations": [rule], "properties": {
        "name": { "type": "string" },
        "count": { "type": "integer" },
        "ratio": { "type": "number" },
        "on": { "type": "boolean" },
        "if": { "type": "string" },
        "at": { "type": "string", "format": "date-time" },
        "port": { "x-kubernetes-int-or-string": true },
        "tags": { "type": "array", "items": { "type": "string" } },
        "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
        "labels": { "type": "object", "additionalProperties": { "type": "string" } },
        "items": { "type": "array", "items": { "type": "object", "properties": {
            "name": { "type": "string" }, "size": { "type": "integer" },
        } } },
        "gone": { "type": "object", "nullable": true, "properties": { "x": { "type": "string" } } },
        "open": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "x": { "type": "string" } } },
        "open2": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "x": { "type": "string" } } },
        "missing": { "type": "string" },
    } })
}

fn value() -> Value {
    json!({ "name": "né", "count": 5, "ratio": 2, "on": true, "if": "x", "at": "2026-01-01T00:00:00Z", "port": "80%",
        "tags": ["b", "a"], "set": ["b", "a"], "labels": { "a-b": "x" }, "gone": null, "open": { "x": "1", "y": 1 },
        "open2": { "x": "1", "y": 1 }, "items": [{ "size": 1 }, { "name": "n", "size": 2 }] })
}

/// `""` if the rule is satisfied or cannot be evaluated, else why it is violated.
fn broken_by(rule: &str) -> String {
    let schema = schema(&json!({ "rule": rule, "message": "violated" }));
    let rule = format!("violates the rule `{rule}`: ");
    let found = broken(&schema, &value(), None);
    found.iter().map(|it| it.plain.replace(&rule, "")).collect()
}

/// Checks each rule and its negation, so that a rule that cannot be evaluated fails the test.
#[test]
fn rules_are_evaluated_like_in_the_api_server() {
    let kept = [
        "self.count > 4 && self.name == 'né'",
        "self.name.size() == 2",
        "self.count == 5 || self.missing == 'x'",
        "self.missing == 'x' || self.count == 5",
        "self.ratio == 2.0 && self.ratio < 3.5",
        "self.count / 2 == 2 && self.count % 2 == 1 && -self.count == 0 - 5",
        "!has(self.missing) && has(self.name)",
        "self.__if__ == 'x'",
        "'a-b' in self.labels && self.labels['a-b'] == 'x'",
        "self.labels.`a-b` == 'x' && self.`name` == 'né' && has(self.`count`) && !has(self.`missing`)",
        "self.?`name`.orValue('') == 'né'",
        "self.labels.all(key, key.startsWith('a'))",
        "type(self.port) == string && self.port.endsWith('%')",
        "self.tags == ['b', 'a'] && self.tags + ['c'] == ['b', 'a', 'c']",
        "self.items.exists(i, i.name == 'n')",
        "self.items.map(i, i.size).sum() == 3",
        "self.items.filter(i, has(i.name)).size() == 1",
        "self.items.exists_one(i, i.size == 2)",
        "self.items[1].name == 'n'",
        "self.tags.max() == 'b' && self.tags.min() == 'a' && !self.tags.isSorted()",
        "self.on ? true : self.missing == 'x'",
        "self.?missing.orValue('d') == 'd' && self.?name.hasValue()",
        "self.tags[?7].orValue('d') == 'd' && self.?name.value() == 'né'",
        "self.name.matches('^n.$') && 'a1'.matches('^a[0-9]$')",
        "'A b'.lowerAscii() == 'a b' && ' a '.trim() == 'a' && 'aba'.replace('a', 'c') == 'cbc'",
        "'a,b'.split(',') == ['a', 'b'] && self.tags.join('-') == 'b-a'",
        "'éab'.substring(1) == 'ab' && 'éab'.substring(0, 2) == 'éa' && 'éab'.indexOf('b') == 2",
        "int('7') + int(self.count) == 12 && string(self.count) == '5' && double(self.count) > 4.5",
        "{'a': 1}['a'] == 1",
        "!has(self.gone) || self.gone.x == 'x'",
        "isIP('10.0.0.1') && isIP('::1') && !isIP('10.0.0') && !isIP('::ffff:10.0.0.1') && !isIP('fe80::1%a')",
        "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0/08') && !isCIDR('10.0.0.0')",
        "cidr('10.1.0.0/16').masked() == cidr('10.1.0.0/16') && cidr('10.1.2.3/16').masked() != cidr('10.1.2.3/16')",
        "cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16')) && !cidr('10.1.0.0/16').containsCIDR('10.0.0.0/8')",
        "cidr('::/0').containsIP('::1') && !cidr('::/0').containsIP(ip('10.0.0.1')) && cidr('10.0.0.0/9').containsIP('10.1.2.3')",
        "ip('::1').family() == 6 && ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified() && cidr('10.0.0.0/8').prefixLength() == 8",
        "string(ip('2001:0db8::1')) == '2001:db8::1' && string(cidr('10.0.0.0/8')) == '10.0.0.0/8' && cidr('10.0.0.1/8').ip() == ip('10.0.0.1')",
        "self.?gone.x.orValue('y') == 'y' && self.?labels[?'a-b'].orValue('y') == 'x'",
    ];
    for rule in kept {
        assert_eq!(broken_by(rule), "", "{rule}");
        assert_eq!(
            broken_by(&format!("!({rule})")),
            "violated",
            "the negation of {rule}"
        );
    }
}

#[test]
fn a_rule_with_a_runtime_error_is_violated() {
    let failed = [
        ("self.missing == 'x'", "no such key: missing"),
        (
            "self.missing == 'x' || self.count == 6",
            "no such key: missing",
        ),
        ("self.items.all(i, i.name == 'n')", "no such key: name"),
        ("self.tags[7] == 'x'", "index out of bounds: 7"),
        ("self.count / 0 == 1", "division by zero"),
        ("self.count % 0 == 1", "modulus by zero"),
        (
            "self.?missing.value() == 'x'",
            "optional.none() dereference",
        ),
        ("self.count + 9223372036854775807 > 0", "integer overflow"),
        (
            "int(self.name) > 1",
            "type conversion error from 'string' to 'int'",
        ),
        ("self.name.substring(9) == ''", "index out of range: 9"),
        ("self.gone.x == 'x'", "no such key: gone"),
        ("self.labels['b'] == 'x'", "no such key: b"),
    ];
    for (rule, why) in failed {
        assert_eq!(broken_by(rule), why, "{rule}");
    }
}

/// Neither the rule nor its negation is reported.
#[test]
fn unknown_values_are_never_an_error() {
    let unknown = [
        "self.at > timestamp('2027-01-01T00:00:00Z')",
        "quantity('1Gi').isLessThan(quantity('1Mi'))",
        "isURL(self.name)",
        "url(self.name).getHost() == 'a'",
        "format.dns1123Label().validate(self.name).hasValue()",
        "self.name.find('x') == 'x'",
        "self.set == ['a', 'b']",
        "self.set + ['a'] == ['a']",
        "self.open != self.open2",
        "self.labels.map(key, key) == ['a-b', 'c']",
        "isURL(self.name) || self.missing == 'x'",
        "self.missing == 'x' || isURL(self.name)",
        "self.items.exists(i, i.name == 'x' || isURL(i.name))",
        "self.count == 6 && false || isURL('x')",
        "self.tags.transformList(i, t, t).size() == 9",
        "self.tags.lastIndexOf('a') == 7",
        "string(self.ratio) == 'x'",
        "self.count == 'x'",
        "no such rule",
        "T{a: 1} == T{}",
    ];
    for rule in unknown {
        assert_eq!(broken_by(rule), "", "{rule}");
        assert_eq!(
            broken_by(&format!("!({rule})")),
            "",
            "the negation of {rule}"
        );
    }
}

#[test]
fn a_rule_that_would_run_too_long_is_not_evaluated() {
    let tags: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    let rule =
        json!({ "rule": "!self.tags.all(a, self.tags.all(b, self.tags.all(c, a + b + c != '')))" });
    let found = broken(&schema(&rule), &json!({ "tags": tags }), None);
    assert_eq!(found, []);
}

#[test]
fn rules_about_the_old_object_do_not_run_on_a_created_object() {
    let run = |rule: Value, old: Option<&Value>| broken(&schema(&rule), &value(), old).len();
    let changed = "self.name != oldSelf.name";
    assert_eq!(run(json!({ "rule": changed }), None), 0);
    assert_eq!(run(json!({ "rule": changed }), Some(&value())), 1);
    let optional = |rule: &str| json!({ "rule": rule, "optionalOldSelf": true });
    assert_eq!(run(optional("oldSelf.hasValue()"), None), 1);
    assert_eq!(run(optional("!oldSelf.hasValue()"), None), 0);
    assert_eq!(run(optional("oldSelf.orValue(self).name == 'x'"), None), 1);
}

#[test]
fn nested_rules_are_evaluated_with_their_message_and_field() {
    let schema = json!({ "type": "object", "properties": { "ports": { "type": "array", "items": {
        "type": "object", "properties": { "from": { "type": "integer" }, "to": { "type": "integer" } },
        "x-kubernetes-validations": [{
            "rule": "self.from <= self.to", "fieldPath": ".to",
            "messageExpression": "string(self.to) + ' is below ' + string(self.from)", "message": "no",
        }],
    } } } });
    let value = json!({ "ports": [{ "from": 1, "to": 2 }, { "from": 3, "to": 2 }] });
    let found = broken(&schema, &value, None);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, ".ports[1].to");
    let plain = "violates the rule `self.from <= self.to`: 2 is below 3";
    assert_eq!(found[0].plain, plain);
}

#[test]
fn rules_on_the_whole_object_see_its_name() {
    let schema = json!({ "type": "object", "x-kubernetes-validations": [{ "rule": "self.metadata.name.size() <= 3" }] });
    let rules = Rules::of(&schema, true).unwrap();
    let named = |meta: &Value| {
        let object = json!({ "kind": "A", "metadata": meta });
        rules.judge(&schema, &object, None).problems.len()
    };
    assert_eq!(named(&json!({ "name": "abc" })), 0);
    assert_eq!(named(&json!({ "name": "abcd" })), 1);
    assert_eq!(
        named(&json!({ "generateName": "abcd-" })),
        0,
        "the API server generates the name"
    );
}

#[test]
fn a_rule_cannot_take_memory_or_time() {
    let text = "a".repeat(1000);
    let twice = ".replace('a', 'aa')".repeat(60);
    let all = |inside: &str, name: &str| format!("self.all({name}, {inside})");
    let nested = ["a", "b", "c", "d"]
        .iter()
        .rev()
        .fold("d != 'x'".to_owned(), |inside, name| all(&inside, name));
    let of_text = json!({ "type": "string", "x-kubernetes-validations": [{ "rule": format!("self{twice} == ''") }, { "rule": "self.replace('', self).replace('', self) == ''" }] });
    assert_eq!(broken(&of_text, &json!(text), None), []);
    let list: Vec<String> = (0..1000).map(|at| at.to_string()).collect();
    let rules: Vec<Value> = (0..1000)
        .map(|at| json!({ "rule": format!("{nested} || {at} < 0") }))
        .collect();
    let of_list = json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-validations": rules });
    // The steps of all rules are one budget, as in the API server.
    let steps = std::cell::Cell::new(300_000);
    let rules = Rules::of(&of_list, false).unwrap();
    let judgement = rules.judge_default(&steps, &of_list, &json!(list));
    assert_eq!(judgement.problems, []);
    assert_eq!(steps.get(), 0);
    let joined = json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-validations": [{ "rule": "self.join(self.join(self.join(self.join(self.join('a'))))) == ''" }] });
    assert_eq!(broken(&joined, &json!(list), None), []);
}
