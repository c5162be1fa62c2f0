//! Changes of a definition as a whole, and of its versions.

use serde_json::{Value, json};

use super::{Pair, definition, object, version};

fn spec() -> Value {
    json!({ "type": "object", "properties": {
        "it": { "type": "string", "maxLength": 9 },
        "replicas": { "type": "integer" },
        "other": { "type": "string", "maxLength": 9 },
    } })
}

/// A change of a definition with one version, and a request that it is about.
fn change(
    name: &'static str,
    request: Option<&'static str>,
    before: impl Fn(&mut Value),
    after: impl Fn(&mut Value),
) -> Pair {
    let mut old = definition(name, &spec());
    before(&mut old);
    let mut new = old.clone();
    after(&mut new);
    Pair {
        name: format!("{name} whole"),
        object: object(&old, &json!({ "it": "a", "replicas": 1, "other": "same" })),
        old,
        new,
        neighbours: vec!["/spec/other".to_owned()],
        request,
    }
}

/// Adds `v2`, which is stored if `storage`.
fn add_version(definition: &mut Value, spec: &Value, storage: bool) {
    let versions = definition["spec"]["versions"]
        .as_array_mut()
        .expect("versions");
    versions[0]["storage"] = json!(!storage);
    versions.push(version("v2", spec, storage));
}

fn convert(definition: &mut Value) {
    definition["spec"]["conversion"] = json!({ "strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"],
        // Nothing is there: no pair needs it.
        "clientConfig": { "url": "https://127.0.0.1:1/convert" },
    } });
}

pub fn pairs() -> Vec<Pair> {
    let mut all = names_and_versions();
    all.extend(new_versions());
    all.extend(subresources());
    all
}

fn names_and_versions() -> Vec<Pair> {
    let same = |_: &mut Value| {};
    let two = |crd: &mut Value| add_version(crd, &spec(), false);
    // As a cluster returns it.
    let two_stored = |crd: &mut Value| {
        add_version(crd, &spec(), false);
        crd["status"] = json!({ "storedVersions": ["v1"] });
    };
    vec![
        change("scope-changed", None, same, |crd| {
            crd["spec"]["scope"] = json!("Cluster");
        }),
        change("kind-renamed", None, same, |crd| {
            crd["spec"]["names"]["kind"] = json!("Another");
        }),
        change(
            "short-name-removed",
            None,
            |crd| crd["spec"]["names"]["shortNames"] = json!(["short"]),
            |crd| crd["spec"]["names"]["shortNames"] = json!([]),
        ),
        change(
            "column-removed",
            None,
            |crd| {
                crd["spec"]["versions"][0]["additionalPrinterColumns"] =
                    json!([{ "name": "It", "type": "string", "jsonPath": ".spec.it" }]);
            },
            |crd| crd["spec"]["versions"][0]["additionalPrinterColumns"] = Value::Null,
        ),
        change("version-deprecated", None, two, |crd| {
            crd["spec"]["versions"][0]["deprecated"] = json!(true);
        }),
        change("stored-version-dropped", None, two_stored, |crd| {
            let versions = crd["spec"]["versions"].as_array_mut().expect("versions");
            versions.remove(0);
            versions[0]["storage"] = json!(true);
        }),
        change("version-unserved", None, two, |crd| {
            crd["spec"]["versions"][0]["served"] = json!(false);
        }),
        change(
            "version-dropped",
            None,
            |crd| {
                add_version(crd, &spec(), true);
            },
            |crd| {
                crd["spec"]["versions"]
                    .as_array_mut()
                    .expect("versions")
                    .remove(0);
            },
        ),
        change("storage-switched", None, two, |crd| {
            crd["spec"]["versions"][0]["storage"] = json!(false);
            crd["spec"]["versions"][1]["storage"] = json!(true);
        }),
        change(
            "conversion-removed",
            None,
            |crd| {
                add_version(crd, &spec(), false);
                convert(crd);
            },
            |crd| crd["spec"]["conversion"] = json!({ "strategy": "None" }),
        ),
        change("conversion-added", None, two, convert),
    ]
}

fn new_versions() -> Vec<Pair> {
    let same = |_: &mut Value| {};
    let stricter = || {
        let mut spec = spec();
        spec["properties"]["it"]["minLength"] = json!(5);
        spec
    };
    let smaller = || {
        let mut spec = spec();
        spec["properties"]
            .as_object_mut()
            .expect("fields")
            .remove("it");
        spec
    };
    vec![
        change("version-added", None, same, |crd| {
            add_version(crd, &spec(), false);
        }),
        change("stricter-version-added", None, same, |crd| {
            add_version(crd, &stricter(), false);
        }),
        change("smaller-version-added", None, same, |crd| {
            add_version(crd, &smaller(), false);
        }),
        change("converted-version-added", None, same, |crd| {
            add_version(crd, &smaller(), false);
            convert(crd);
        }),
    ]
}

fn subresources() -> Vec<Pair> {
    let set = |key: &'static str, value: Value| {
        move |crd: &mut Value| crd["spec"]["versions"][0][key] = value.clone()
    };
    let scale = |path: &str| json!({ "scale": { "specReplicasPath": path, "statusReplicasPath": ".status.replicas" } });
    let mut spare = spec();
    spare["properties"]["size"] = json!({ "type": "integer" });
    let selectable = json!([{ "jsonPath": ".spec.it" }]);
    vec![
        change(
            "status-removed",
            Some("/status"),
            set("subresources", json!({ "status": {} })),
            set("subresources", json!({})),
        ),
        change(
            "status-added",
            None,
            |_| {},
            set("subresources", json!({ "status": {} })),
        ),
        change(
            "scale-removed",
            Some("/scale"),
            set("subresources", scale(".spec.replicas")),
            set("subresources", json!({})),
        ),
        change(
            "scale-moved",
            Some("/scale"),
            move |crd| {
                crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
                    spare.clone();
                set("subresources", scale(".spec.replicas"))(crd);
            },
            set("subresources", scale(".spec.size")),
        ),
        change(
            "selectable-removed",
            Some("?fieldSelector=spec.it%3Da"),
            set("selectableFields", selectable),
            set("selectableFields", json!([])),
        ),
    ]
}
