//! kbr and a real API server agree on which numbers are multiples.

use serde_json::{Value, json};

use crate::project::Project;
use crate::server;

/// Each type and `multipleOf` with each default.
fn fields() -> Vec<Value> {
    let factors = [json!(0.1), json!(0.01), json!(0.3), json!(1.5), json!(2)];
    let values = [
        json!(0),
        json!(3),
        json!(4),
        json!(5),
        json!(0.3),
        json!(0.7),
        json!(-0.3),
        json!(4.35),
        json!(0.35),
        json!(1.0),
        json!(4.5),
        json!(1e-11),
        json!(1e15),
        json!(0.300_000_000_1),
        json!(0.300_000_01),
    ];
    let pair = |(factor, value): (&Value, &Value)| json!({ "type": "number", "multipleOf": factor, "default": value });
    let pairs = factors
        .iter()
        .flat_map(|it| values.iter().map(move |value| (it, value)));
    let mut fields: Vec<Value> = pairs.map(pair).collect();
    let integers = [
        (json!(2), 4),
        (json!(2), 5),
        (json!(1.5), 3),
        (json!(0.5), 1),
    ];
    fields.extend(integers.map(
        |(factor, value)| json!({ "type": "integer", "multipleOf": factor, "default": value }),
    ));
    fields
}

#[test]
fn kbr_and_the_api_server_agree_on_which_defaults_are_multiples() {
    let fields = fields();
    let named = fields.iter().enumerate();
    let named = named.map(|(position, field)| (format!("f{position}"), field.clone()));
    let named: serde_json::Map<String, Value> = named.collect();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "ruleds.multiples.example.com" },
        "spec": { "group": "multiples.example.com", "scope": "Namespaced", "names": { "kind": "Ruled", "plural": "ruleds" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": named } } } } }] },
    });
    let rejected = server::rejections(std::slice::from_ref(&crd));
    let theirs = rejected
        .values()
        .next()
        .expect("some defaults are rejected");
    let ours = Project::new().manifests(&json!([crd]));
    let mut wrong = Vec::new();
    for (position, field) in fields.iter().enumerate() {
        let theirs = theirs.contains(&format!("properties[f{position}].default"));
        let ours = ours.contains(&format!("`.spec.f{position}`: "));
        if theirs != ours {
            wrong.push(format!(
                "{field}: the API server rejects it: {theirs}, kbr: {ours}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
