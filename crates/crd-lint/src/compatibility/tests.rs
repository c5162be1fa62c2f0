use serde_json::json;

use super::*;

mod definition;
mod fields;
mod rules;
mod values;

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
