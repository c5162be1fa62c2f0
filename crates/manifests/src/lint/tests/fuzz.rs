//! CEL of any content, and definitions with it.

use apiserver_rules::Rules;
use crd_lint::check_condition;
use serde_json::{Value, json};

use crate::fuzz::{self, Corpus};

const INPUTS: &[&[u8]] = &[
    b"self.name.startsWith('a') && self.items.all(i, i.size > 1) || has(self.labels) ? true : size(self.tags) < 3",
    b"self.tags.map(t, t + 'x').filter(t, t.matches('^[a-z]+$')).exists_one(t, t == \"a\")",
    b"oldSelf.count <= self.count && duration('1h') > duration('1s') && quantity('1Mi').isGreaterThan(quantity('1Ki'))",
    b"!request.userInfo.groups.exists(g, g == 'system:nodes') && object.metadata.name in ['a', 'b']",
    b"{'a': [1, 2.0, 3u], \"b\": b'c'}['a'][0] == int('1') && -(-1) == 1 && !!true",
];

const WORDS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "\"\"\"",
    "r'",
    "b'",
    "\\",
    "\\u00",
    "self",
    "oldSelf",
    ".",
    "..",
    "&&",
    "||",
    "!",
    "-",
    "?",
    ":",
    ",",
    "in",
    "==",
    "self.",
    "self.tags.all(t, ",
    "size(",
    "has(",
    "[[",
    "!!",
    "--",
    "9223372036854775808",
    "1e999",
    "0x",
    "u",
    "//",
    "\n",
    "null",
    "true ? ",
    "cel.bind(a, ",
];

const CORPUS: Corpus = Corpus {
    inputs: INPUTS,
    words: WORDS,
};

fn schema(rule: &str) -> Value {
    let text = json!({ "type": "string", "maxLength": 20 });
    let item = json!({ "type": "object", "properties": { "size": { "type": "integer" } } });
    json!({ "type": "object", "x-kubernetes-validations": [{ "rule": rule, "messageExpression": rule }], "properties": {
        "name": text, "count": { "type": "integer" }, "tags": { "type": "array", "maxItems": 5, "items": text },
        "items": { "type": "array", "maxItems": 5, "items": item },
        "labels": { "type": "object", "additionalProperties": text },
    } })
}

#[test]
fn a_match_condition_of_any_content_is_checked() {
    fuzz::run(CORPUS, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        drop(check_condition(&text));
    });
}

#[test]
fn a_rule_of_any_content_is_checked_and_evaluated() {
    let object = json!({ "name": "abc", "count": 2, "tags": ["a", "b"], "items": [{ "size": 3 }], "labels": { "a": "b" } });
    fuzz::run(CORPUS, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let schema = schema(&text);
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "as.b.c" },
            "spec": { "group": "b.c", "scope": "Namespaced", "names": { "kind": "A", "plural": "as" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                    "type": "object", "properties": { "spec": schema } } } }] },
        });
        drop(crd_lint::lint(&crd));
        drop(Rules::of(&schema, false).map(|rules| rules.judge(&schema, &object, None)));
    });
}
