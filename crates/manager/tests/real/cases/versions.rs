//! A kind with two versions: objects are stored in `v2`, and the API server converts them by changing their `apiVersion`.

use super::*;

/// The definition of rafts, from one of a single version: `v1` has no `logs`, and another default.
pub fn raft(mut definition: Value) -> Value {
    let schema = |planks: u32, more: &[&str]| {
        let string = json!({"type": "string"});
        let mut spec = json!({"planks": {"type": "integer", "default": planks}, "name": string});
        for field in more {
            spec[field] = json!({"type": "string", "default": "oak"});
        }
        let status = json!({"type": "object", "properties": {"phase": string}});
        json!({"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": spec}, "status": status,
        }}})
    };
    let versions = &mut definition["spec"]["versions"];
    let (mut old, mut new) = (versions[0].clone(), versions[0].clone());
    old["storage"] = json!(false);
    old["schema"] = schema(3, &[]);
    new["name"] = json!("v2");
    new["schema"] = schema(5, &["logs"]);
    *versions = json!([old, new]);
    definition
}

fn of(version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("crew.example.com/{version}"), "kind": "Raft",
        "metadata": {"name": "kon-tiki"}, "spec": spec,
    })
}

/// The same step in version 2.
fn v2(mut step: Step) -> Step {
    step.path = step.path.replace("/v1/", "/v2/");
    step
}

pub fn cases() -> Vec<Case> {
    let raft = "rafts/kon-tiki";
    vec![
        case(
            "what is created in one version is read in each",
            [
                post("rafts", of("v1", json!({"name": "a", "logs": "balsa"}))),
                get(raft),
                v2(get(raft)),
                get("rafts"),
                v2(get("rafts")),
                post("rafts", of("v1", json!({}))),
                v2(post("rafts", of("v2", json!({})))),
            ],
        ),
        case(
            "what the version of a request has no field for is lost",
            [
                v2(post("rafts", of("v2", json!({"logs": "balsa"})))),
                get(raft),
                merge(raft, json!({"spec": {"name": "b"}})),
                v2(get(raft)),
                merge(raft, json!({"spec": {"name": "b"}})),
            ],
        ),
        case(
            "a replacement needs the version of the object",
            [
                post("rafts", of("v1", json!({}))),
                put(raft, of("v1", json!({"name": "a"}))),
                put(
                    raft,
                    with(
                        of("v1", json!({"name": "a"})),
                        "resourceVersion",
                        json!("{rv}"),
                    ),
                ),
                v2(get(raft)),
                put(
                    raft,
                    with(
                        of("v2", json!({"name": "a"})),
                        "resourceVersion",
                        json!("{rv}"),
                    ),
                ),
            ],
        ),
        case(
            "a status is written in another version",
            [
                v2(post("rafts", of("v2", json!({})))),
                merge("rafts/kon-tiki/status", json!({"status": {"phase": "New"}})),
                v2(get(raft)),
                get(raft),
            ],
        ),
        case(
            "an object that was applied in one version is read in another",
            [
                apply(raft, "tester", of("v1", json!({"name": "a"}))),
                apply(raft, "tester", of("v1", json!({"name": "a"}))),
                v2(get(raft)),
            ],
        ),
        case(
            "an object is deleted in another version",
            [
                v2(post(
                    "rafts",
                    with(
                        of("v2", json!({})),
                        "finalizers",
                        json!(["crew.example.com/hold"]),
                    ),
                )),
                delete(raft, Value::Null),
                v2(get(raft)),
                merge(raft, json!({"metadata": {"finalizers": null}})),
                get(raft),
                v2(get(raft)),
            ],
        ),
        case(
            "a watch shows its own version",
            [
                v2(post("rafts", of("v2", json!({"name": "a"})))),
                watch("rafts?watch=true&resourceVersion=0&timeoutSeconds=1"),
                merge(raft, json!({"spec": {"name": "b"}})),
                watch("rafts?watch=true&resourceVersion={rv1}&timeoutSeconds=1"),
            ],
        ),
    ]
}
