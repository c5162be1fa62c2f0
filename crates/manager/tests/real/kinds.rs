//! Compare the fake server's knowledge of Kubernetes' own kinds with the published API of a real one.

use hyper::Method;
use kbr_testing::FakeApi;
use kube::Client;
use serde_json::{Map, Value, json};

use crate::talk::{get, write};

const APPLY: &str = "application/apply-patch+yaml";

/// Group and version, as a path and as text.
async fn groups(real: &Client) -> Vec<(String, String)> {
    let mut all = vec![("/api/v1".to_owned(), "v1".to_owned())];
    for group in get(real, "/apis").await["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            let version = version["groupVersion"].as_str().unwrap();
            if !version.contains("example.com") {
                all.push((format!("/apis/{version}"), version.to_owned()));
            }
        }
    }
    all
}

/// Kinds that can be listed: path of the group, its version, and the resource in discovery.
async fn resources(real: &Client) -> Vec<(String, String, Value, bool)> {
    let mut all = Vec::new();
    for (root, version) in groups(real).await {
        let found = get(real, &root).await;
        let found = found["resources"].as_array().unwrap();
        for resource in found {
            let can = |verb: &str| resource["verbs"].as_array().unwrap().contains(&json!(verb));
            let status = format!("{}/status", resource["name"].as_str().unwrap());
            let status = found.iter().any(|other| other["name"] == status.as_str());
            if can("list") && can("create") && can("patch") {
                all.push((root.clone(), version.clone(), resource.clone(), status));
            }
        }
    }
    all
}

/// The path of an object named `a`.
fn path(root: &str, resource: &Value) -> String {
    let plural = resource["name"].as_str().unwrap();
    let namespaced = resource["namespaced"].as_bool().unwrap();
    let namespace = if namespaced {
        "/namespaces/default"
    } else {
        ""
    };
    format!("{root}{namespace}/{plural}/a")
}

/// Compares scope and status subresource of each kind.
pub async fn compare_traits(real: &Client) {
    let resources = resources(real).await;
    assert!(resources.len() > 50, "{}", resources.len());
    for (root, version, resource, status) in resources {
        let fake = FakeApi::new().client();
        let path = path(&root, &resource);
        let kind = resource["kind"].as_str().unwrap();
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}});
        if ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"].contains(&kind) {
            // New ones must select their own Pods.
            object["spec"] = json!({
                "selector": {"matchLabels": {"app": "a"}},
                "template": {
                    "metadata": {"labels": {"app": "a"}},
                    "spec": {"containers": [{"name": "a", "image": "a"}]},
                },
            });
        }
        let applied = format!("{path}?fieldManager=a");
        let (code, answer) = write(&fake, &Method::PATCH, &applied, APPLY, &object).await;
        assert_eq!(code, 201, "{path}: {answer}");
        let merge = "application/merge-patch+json";
        let body = json!({"status": {"x": 1}});
        let (code, _) = write(
            &fake,
            &Method::PATCH,
            &format!("{path}/status"),
            merge,
            &body,
        )
        .await;
        assert_eq!(code == 200, status, "{path}/status");
        let other = if path.contains("/namespaces/default/") {
            path.replace("/namespaces/default", "")
        } else {
            path.replacen(&root, &format!("{root}/namespaces/default"), 1)
        };
        let (code, _) = write(
            &fake,
            &Method::PATCH,
            &format!("{other}?fieldManager=a"),
            APPLY,
            &object,
        )
        .await;
        assert_eq!(code, 404, "{other}");
    }
}

/// Compares which lists have keys and which objects are atomic: applies an object with all fields, and compares their
/// owners with the published API of the real server.
pub async fn compare_fields(real: &Client) {
    let document = get(real, "/openapi/v2").await;
    let definitions = document["definitions"].as_object().unwrap();
    let (mut compared, mut wrong) = (0, Vec::new());
    for (root, version, resource, has_status) in resources(real).await {
        let kind = resource["kind"].as_str().unwrap();
        let (group, short) = version.split_once('/').unwrap_or(("", &version));
        let id = json!({"group": group, "version": short, "kind": kind});
        let is = |definition: &&Value| {
            let ids = definition["x-kubernetes-group-version-kind"].as_array();
            ids.is_some_and(|ids| ids.contains(&id))
        };
        let definition = definitions
            .values()
            .find(is)
            .unwrap_or_else(|| panic!("{id}"));
        let (mut object, mut owned) = sample(definition, definitions, &[]);
        object["apiVersion"] = json!(version);
        object["kind"] = json!(kind);
        object["metadata"]["name"] = json!("a");
        for field in [
            "managedFields",
            "namespace",
            "uid",
            "resourceVersion",
            "deletionTimestamp",
        ] {
            object["metadata"]
                .as_object_mut()
                .map(|meta| meta.remove(field));
        }
        let meta = owned["f:metadata"].as_object_mut().unwrap();
        let counts = [
            "f:annotations",
            "f:deletionGracePeriodSeconds",
            "f:finalizers",
            "f:generateName",
            "f:labels",
            "f:ownerReferences",
        ];
        meta.retain(|name, _| counts.contains(&name.as_str()));
        let fields = owned.as_object_mut().unwrap();
        fields.retain(|name, _| name != "f:apiVersion" && name != "f:kind");
        let fake = FakeApi::new().client();
        let path = path(&root, &resource);
        let mut written = vec![("", owned.clone())];
        if has_status {
            let status = json!({"f:status": owned["f:status"]});
            written[0].1.as_object_mut().unwrap().remove("f:status");
            written.push(("/status", status));
        }
        for (part, owned) in written {
            // The status of a kind with a status subresource is only written there.
            let mut object = object.clone();
            if has_status && part.is_empty() {
                object.as_object_mut().unwrap().remove("status");
            }
            if !part.is_empty() {
                object.as_object_mut().unwrap().remove("spec");
                object["metadata"] = json!({"name": "a"});
            }
            let path = format!("{path}{part}?fieldManager=a");
            let (code, answer) = write(&fake, &Method::PATCH, &path, APPLY, &object).await;
            assert!(code == 200 || code == 201, "{path}: {answer}");
            let managed = answer["metadata"]["managedFields"].as_array().unwrap();
            let ours = managed
                .iter()
                .find(|entry| entry["subresource"].is_null() == part.is_empty());
            let ours = ours.map_or(&Value::Null, |entry| &entry["fieldsV1"]);
            differences(ours, &owned, &format!("{version} {kind}"), &mut wrong);
        }
        compared += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 50, "{compared}");
}

/// The differences; ours is on the left.
fn differences(ours: &Value, theirs: &Value, at: &str, wrong: &mut Vec<String>) {
    let empty = Map::new();
    let (left, right) = (
        ours.as_object().unwrap_or(&empty),
        theirs.as_object().unwrap_or(&empty),
    );
    for name in left.keys().chain(right.keys()) {
        let at = format!("{at} {name}");
        match (left.get(name), right.get(name)) {
            (Some(left), Some(right)) => differences(left, right, &at, wrong),
            (Some(_), None) => wrong.push(format!("+ {at}")),
            (None, _) => wrong.push(format!("- {at}")),
        }
    }
}

/// A value of this schema with every field, and the fields that its applier owns.
fn sample(schema: &Value, definitions: &Map<String, Value>, within: &[&str]) -> (Value, Value) {
    let leaf = |value: Value| (value, json!({}));
    let reference = schema["$ref"]
        .as_str()
        .and_then(|reference| reference.rsplit('/').next());
    if let Some(name) = reference {
        // Schemas may be recursive.
        if within.contains(&name) {
            return leaf(json!("deep"));
        }
        let mut definition = definitions[name].clone();
        if schema["x-kubernetes-map-type"] == "atomic" {
            definition["x-kubernetes-map-type"] = json!("atomic");
        }
        return sample(&definition, definitions, &[within, &[name]].concat());
    }
    let atomic = schema["x-kubernetes-map-type"] == "atomic";
    if let Some(fields) = schema["properties"].as_object() {
        let (mut value, mut owned) = (json!({}), json!({}));
        for (name, schema) in fields {
            let (inner, below) = sample(schema, definitions, within);
            value[name] = inner;
            owned[format!("f:{name}")] = below;
        }
        return if atomic { leaf(value) } else { (value, owned) };
    }
    match schema["type"].as_str() {
        Some("array") => {
            let (item, mut below) = sample(&schema["items"], definitions, within);
            let list = json!([item]);
            let step = match schema["x-kubernetes-list-type"].as_str() {
                Some("map") => {
                    let keys = schema["x-kubernetes-list-map-keys"].as_array().unwrap();
                    let keys: Map<_, _> = keys
                        .iter()
                        .map(|key| {
                            let key = key.as_str().unwrap();
                            (key.to_owned(), item[key].clone())
                        })
                        .collect();
                    format!("k:{}", Value::Object(keys))
                }
                Some("set") => format!("v:{item}"),
                _ => return leaf(list),
            };
            if below.as_object().is_some_and(|below| !below.is_empty()) {
                below["."] = json!({});
            }
            let mut owned = json!({});
            owned[step] = below;
            (list, owned)
        }
        Some("object") if schema["additionalProperties"].is_object() => {
            let (inner, mut below) = sample(&schema["additionalProperties"], definitions, within);
            if below.as_object().is_some_and(|below| !below.is_empty()) {
                below["."] = json!({});
            }
            let value = json!({"key": inner});
            if atomic {
                leaf(value)
            } else {
                (value, json!({"f:key": below}))
            }
        }
        Some("integer" | "number") => leaf(json!(1)),
        Some("boolean") => leaf(json!(true)),
        Some("object") => leaf(json!("free")),
        _ => leaf(json!("text")),
    }
}
