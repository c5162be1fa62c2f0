use super::*;
use crate::node::walk;

/// The findings for a rule on an object with fields of all types.
fn report(rule: &str) -> String {
    let schema = json!({ "type": "object",
        "properties": { "spec": { "type": "object", "x-kubernetes-validations": [{ "rule": rule }], "properties": {
            "name": { "type": "string", "maxLength": 10 },
            "count": { "type": "integer" },
            "ratio": { "type": "number" },
            "on": { "type": "boolean" },
            "if": { "type": "string", "maxLength": 5 },
            "at": { "type": "string", "format": "date-time" },
            "port": { "x-kubernetes-int-or-string": true },
            "tags": { "type": "array", "maxItems": 5, "items": { "type": "string", "maxLength": 5 } },
            "labels": { "type": "object", "maxProperties": 5, "additionalProperties": { "type": "string", "maxLength": 5 } },
            "any": { "x-kubernetes-preserve-unknown-fields": true },
            "near": { "type": "object", "properties": { "x": { "type": "integer" } } },
            "far": { "type": "object", "properties": { "x": { "type": "integer" } } },
        } } },
    });
    let mut found = Vec::new();
    walk(&schema, &mut |node| {
        for check in [types, functions, overloads, variables, old_self, cost] {
            check(node, &mut found);
        }
    });
    found
        .into_iter()
        .map(|hit| hit.message)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn rules_that_compile_are_accepted() {
    let rules = [
        "self.count > 3 && self.name.startsWith('a')",
        "self.tags.all(tag, tag.size() < 5 && tag in ['a', 'b'])",
        "self.labels.exists(key, self.labels[key] == 'x')",
        "self.tags.map(t, t + 'x').exists_one(t, t == self.name)",
        "self.tags.filter(t, t != '').size() <= 3",
        "has(self.name) ? self.name == oldSelf.name : true",
        "type(self.port) == int ? self.port < 5 : self.port.endsWith('%')",
        "self.count < 1.5",
        "self.at > timestamp('2026-01-01T00:00:00Z')",
        "self.__if__ == 'x'",
        "self.?name.orValue('x') == 'x'",
        "quantity('1Gi').isGreaterThan(quantity('1Mi'))",
        "url('https://a').getHost() == 'a'",
        "isIP(self.name) && cidr('10.0.0.0/8').containsIP(ip('10.0.0.1'))",
        "!format.dns1123Label().validate(self.name).hasValue()",
        "self.tags.max() == 'a' || 'x' in self.labels",
        "self.if == 'x' && [?self.?name, 'a'].size() == 1",
        "self.tags.isSorted() && self.tags.join(',') != ''",
    ];
    for rule in rules {
        assert_eq!(report(rule), "", "{rule}");
    }
}

#[test]
fn rules_that_do_not_compile_are_rejected_with_the_reason() {
    let table = [
        ("self.count >", "at character"),
        (
            "self.nmae == ''",
            "unknown field `nmae`; did you mean `name`",
        ),
        ("this.name == ''", "unknown variable `this`"),
        (
            "self.name > 3",
            "no overload of `>` takes a string and an int",
        ),
        (
            "self.count == '3'",
            "no overload of `==` takes an int and a string",
        ),
        (
            "self.count + 1.0 > 2.0",
            "no overload of `+` takes an int and a double",
        ),
        ("self.count", "must evaluate to a bool, not an int"),
        (
            "self.name.sizes() > 1",
            "unknown function `sizes`; did you mean `size`",
        ),
        (
            "self.count.all(x, true)",
            "only lists and maps can be iterated over, not an int",
        ),
        (
            "self.tags.all(tag, tag > 1)",
            "no overload of `>` takes a string and an int",
        ),
        (
            "self.count.startsWith('a')",
            "no overload of `startsWith` takes an int and a string",
        ),
        ("self.any == 1", "unknown field `any`"),
        ("size(self.count) > 1", "no overload of `size` takes an int"),
        (
            "self.name && true",
            "no overload of `&&` takes a string and a bool",
        ),
        ("!self.count", "no overload of `!` takes an int"),
        (
            "self.tags.sum() == 'a'",
            "no overload of `sum` takes a list",
        ),
        ("self.near == self.far", "compare their fields"),
        (
            "['a', 1].size() == 2",
            "a string and an int cannot be in one",
        ),
        ("cel.bind(n, 1, n == 1)", "unknown variable `cel`"),
        ("self.name.matches('(?=a)')", "invalid pattern `(?=a)`"),
        (
            "duration('1d') < duration('2h')",
            "`1d` is not a duration such as `1h30m`",
        ),
        (
            "self.labels.all(k, v, k == 1)",
            "no overload of `==` takes a string and an int",
        ),
    ];
    for (rule, reason) in table {
        assert!(report(rule).contains(reason), "{rule}: {}", report(rule));
    }
}
