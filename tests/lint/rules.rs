//! kbr and a real API server agree on which rules compile.

use serde_json::{Value, json};

use crate::project::Project;
use crate::server;

/// The table; its first line describes the format.
const ROWS: &str = include_str!("rules.txt");

/// The fields that the rules refer to.
fn fields() -> Value {
    let text = |most: u32| json!({ "type": "string", "maxLength": most });
    let list = |items: Value| json!({ "type": "array", "maxItems": 5, "items": items });
    let item = json!({ "type": "object", "properties": { "name": text(5), "size": { "type": "integer" } } });
    let inner = json!({ "type": "object", "properties": { "x": text(5) } });
    json!({
        "name": text(20), "missing": text(20), "if": text(5),
        "count": { "type": "integer" }, "ratio": { "type": "number" }, "on": { "type": "boolean" },
        "at": { "type": "string", "format": "date-time" }, "for": { "type": "string", "format": "duration" },
        "raw": { "type": "string", "format": "byte", "maxLength": 10 },
        "port": { "x-kubernetes-int-or-string": true },
        "tags": list(text(5)), "nums": list(json!({ "type": "integer" })), "items": list(item.clone()), "others": list(item),
        "labels": { "type": "object", "maxProperties": 5, "additionalProperties": text(5) },
        "a": inner, "b": inner,
        "open": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "x": text(5) } },
    })
}

#[test]
fn kbr_and_the_api_server_agree_on_which_rules_compile() {
    let rows = super::rows(ROWS);
    let field = |rule: &str| json!({ "type": "object", "properties": fields(), "x-kubernetes-validations": [{ "rule": rule }] });
    let named = rows.iter().enumerate();
    let named = named.map(|(position, (_, rule))| (format!("r{position}"), field(rule)));
    let named: serde_json::Map<String, Value> = named.collect();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "ruleds.rules.example.com" },
        "spec": { "group": "rules.example.com", "scope": "Namespaced", "names": { "kind": "Ruled", "plural": "ruleds" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": named } } } } }] },
    });
    let rejected = server::rejections(std::slice::from_ref(&crd));
    let theirs = rejected.values().next().expect("some rules are rejected");
    let ours = Project::new().manifests(&json!([crd]));
    let mut wrong = Vec::new();
    for (position, (expected, rule)) in rows.iter().enumerate() {
        let theirs = theirs.contains(&format!("properties[r{position}]."));
        let mark = format!("`.spec.r{position}`: rule ");
        let mut ours = ours.lines().filter(|line| line.contains(&mark));
        let ours = ours.any(|line| !line.contains(" may cost "));
        if (theirs, ours) != (*expected == "no", *expected == "no") {
            wrong.push(format!(
                "{rule}: the API server rejects it: {theirs}, kbr: {ours}"
            ));
        }
    }
    println!("{} rules", rows.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
