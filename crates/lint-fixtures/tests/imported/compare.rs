//! Whether two definitions are equal, as data.

use kbr_scaffold::imported;
use serde_json::{Value, json};

/// The definitions of all versions as one.
pub fn merged(parts: Vec<Value>) -> Value {
    let versions = parts.iter().map(|part| part["spec"]["versions"][0].clone());
    let versions: Value = versions.collect();
    let mut merged = parts.into_iter().next().unwrap();
    merged["spec"]["versions"] = versions;
    merged
}

/// What of a definition is equal if the API server takes it for equal.
pub fn data(crd: &Value) -> Value {
    let mut spec = crd["spec"].clone();
    // A project says in its kustomization how versions are converted.
    for key in ["conversion", "preserveUnknownFields"] {
        spec.as_object_mut().map(|spec| spec.remove(key));
    }
    let kind = spec["names"]["kind"].as_str().unwrap().to_owned();
    let names = spec["names"].as_object_mut().unwrap();
    names
        .entry("singular")
        .or_insert(json!(kind.to_lowercase()));
    names
        .entry("listKind")
        .or_insert(json!(format!("{kind}List")));
    names.retain(|_, value| *value != json!([]));
    let versions = spec["versions"].as_array_mut().unwrap();
    for version in &mut *versions {
        let schema = &mut version["schema"]["openAPIV3Schema"];
        *schema = imported::normal(schema);
        version
            .as_object_mut()
            .unwrap()
            .retain(|_, value| *value != json!([]) && *value != json!({}));
        for column in version["additionalPrinterColumns"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            column
                .as_object_mut()
                .unwrap()
                .retain(|_, value| *value != json!(0));
        }
    }
    versions.sort_by_key(|version| version["name"].to_string());
    let mut annotations = crd["metadata"]["annotations"].clone();
    for own in ["kbr/version", "controller-gen.kubebuilder.io/version"] {
        annotations.as_object_mut().map(|all| all.remove(own));
    }
    let annotations = if annotations == json!({}) {
        Value::Null
    } else {
        annotations
    };
    json!({ "name": crd["metadata"]["name"], "annotations": annotations, "spec": spec })
}

/// The first place where two values differ, and what is there.
pub fn difference(path: &str, theirs: &Value, ours: &Value) -> Option<String> {
    if let (Value::Object(theirs), Value::Object(ours)) = (theirs, ours) {
        let added = ours.keys().filter(|key| !theirs.contains_key(*key));
        let mut keys = theirs.keys().chain(added);
        let null = Value::Null;
        return keys.find_map(|key| {
            let (theirs, ours) = (
                theirs.get(key).unwrap_or(&null),
                ours.get(key).unwrap_or(&null),
            );
            difference(&format!("{path}/{key}"), theirs, ours)
        });
    }
    if let (Value::Array(theirs), Value::Array(ours)) = (theirs, ours)
        && theirs.len() == ours.len()
    {
        let mut pairs = theirs.iter().zip(ours).enumerate();
        return pairs
            .find_map(|(at, (theirs, ours))| difference(&format!("{path}/{at}"), theirs, ours));
    }
    (theirs != ours).then(|| format!("{path}: {theirs} became {ours}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(version: &str, names: &str) -> Value {
        let text = format!(
            r#"{{ "metadata": {{ "name": "ships.crew.example.com" }}, "spec": {{ "group": "crew.example.com",
                "names": {{ "kind": "Ship", "plural": "ships"{names} }}, "versions": [{version}] }} }}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    const VERSION: &str = r#"{ "name": "v1", "schema": { "openAPIV3Schema": { "type": "object", "required": ["a", "b"] } } }"#;

    #[test]
    fn what_the_api_server_takes_for_equal_is_equal() {
        let original = data(&crd(VERSION, ""));
        let defaults = r#", "singular": "ship", "listKind": "ShipList", "shortNames": []"#;
        assert_eq!(data(&crd(VERSION, defaults)), original);
        let empty = VERSION.replace(
            "\"v1\",",
            "\"v1\", \"subresources\": {}, \"selectableFields\": [],",
        );
        assert_eq!(data(&crd(&empty, "")), original);
        let mut converted = crd(VERSION, "");
        converted["spec"]["conversion"] = json!({ "strategy": "Webhook" });
        converted["metadata"]["annotations"] =
            json!({ "controller-gen.kubebuilder.io/version": "v1" });
        assert_eq!(data(&converted), original);
        let second = VERSION.replace("v1", "v2");
        let (forth, back) = (
            format!("{VERSION}, {second}"),
            format!("{second}, {VERSION}"),
        );
        assert_eq!(data(&crd(&forth, "")), data(&crd(&back, "")));
    }

    #[test]
    fn what_an_import_must_keep_is_not() {
        let original = data(&crd(VERSION, ""));
        let differs = |other: &Value| difference("", &original, &data(other));
        let listed = differs(&crd(VERSION, r#", "listKind": "Ships""#));
        assert_eq!(
            listed.as_deref(),
            Some("/spec/names/listKind: \"ShipList\" became \"Ships\"")
        );
        let fewer = differs(&crd(&VERSION.replace(", \"b\"", ""), ""));
        assert!(
            fewer
                .unwrap()
                .contains("/required: [\"a\",\"b\"] became [\"a\"]")
        );
        assert!(
            differs(&crd(
                &VERSION.replace("\"schema\"", "\"served\": true, \"schema\""),
                ""
            ))
            .is_some()
        );
        let mut annotated = crd(VERSION, "");
        annotated["metadata"]["annotations"] = json!({ "example.com/a": "b" });
        assert!(differs(&annotated).is_some());
        assert_eq!(differs(&crd(VERSION, "")), None);
    }
}
