//! Changes of a definition and its versions.

use super::*;

#[test]
fn equal_definitions_and_values_that_are_none_have_no_findings() {
    assert_eq!(of_whole(|_| {}), [""; 0]);
    assert_eq!(compare(&json!({}), &crd(&json!({}))), []);
    assert_eq!(compare(&crd(&json!({})), &Value::Null), []);
}

#[test]
fn changes_of_the_definition_and_its_versions_are_found() {
    let version = "/spec/versions/0";
    let cases = [
        ("/spec/names", "kind", json!("Boat"), "kind-changed error"),
        ("/spec", "scope", json!("Cluster"), "scope-changed error"),
        (
            "/spec",
            "conversion",
            json!(null),
            "conversion-removed error",
        ),
        (version, "served", json!(false), "version-removed error"),
        (
            version,
            "subresources",
            json!({}),
            "subresource-changed error",
        ),
        (
            "/spec/versions/1",
            "subresources",
            json!({ "status": {} }),
            "subresource-changed warning",
        ),
        (
            version,
            "selectableFields",
            json!([]),
            "selectable-field-removed error .spec.it",
        ),
    ];
    for (pointer, key, value, expected) in cases {
        let found = of_whole(|crd| crd.pointer_mut(pointer).unwrap()[key] = value.clone());
        assert_eq!(found, [expected]);
    }
    let switched = |crd: &mut Value| {
        for (position, storage) in [false, true].into_iter().enumerate() {
            crd["spec"]["versions"][position]["storage"] = json!(storage);
        }
    };
    assert_eq!(of_whole(switched), ["storage-changed warning"]);
    let dropped = of_whole(|crd| {
        switched(crd);
        crd["spec"]["versions"].as_array_mut().unwrap().remove(0);
    });
    assert_eq!(
        dropped,
        ["version-removed error", "storage-changed warning"]
    );
}

#[test]
fn a_cluster_tells_which_versions_are_still_stored() {
    let mut old = crd(&json!({}));
    old["status"] = json!({ "storedVersions": ["v1"] });
    let mut new = crd(&json!({}));
    new["spec"]["versions"][0]["name"] = json!("v2");
    assert_eq!(
        found(&old, &new),
        ["version-still-stored error", "storage-changed warning"]
    );
    old["status"] = json!({ "storedVersions": ["v2"] });
    assert_eq!(
        found(&old, &new),
        ["version-removed error", "storage-changed warning"]
    );
}

#[test]
fn a_new_version_is_compared_with_the_stored_one_unless_a_webhook_converts() {
    let old = crd(&json!({ "properties": { "it": { "type": "string" } } }));
    let mut new = old.clone();
    let mut second = crd(&json!({}))["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    new["spec"]["versions"].as_array_mut().unwrap().push(second);
    let findings = compare(&old, &new);
    assert_eq!(findings[0].version.as_deref(), Some("v2"));
    assert_eq!(found(&old, &new), ["field-removed error .spec.it"]);
    new["spec"]["conversion"] = json!({ "strategy": "Webhook" });
    assert_eq!(found(&old, &new), [""; 0]);
}

#[test]
fn metadata_is_not_compared() {
    let with = |metadata: Value| {
        let mut crd = crd(&json!({}));
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["metadata"] =
            metadata;
        crd
    };
    let old = with(json!({ "type": "object" }));
    let new = with(
        json!({ "type": "object", "properties": { "name": { "type": "string", "maxLength": 9 } } }),
    );
    assert_eq!(found(&old, &new), [""; 0]);
}
