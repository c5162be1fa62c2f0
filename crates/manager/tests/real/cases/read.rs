//! Getting, listing, watching.

use super::*;

pub fn cases() -> Vec<Case> {
    let labelled = |name: &str, labels: Value| {
        post("configmaps", with(map(name, json!({})), "labels", labels))
    };
    let three = || {
        vec![
            labelled("a", json!({"app": "x", "tier": "front"})),
            labelled("b", json!({"app": "y"})),
            labelled("c", json!({})),
        ]
    };
    let after = |steps: Vec<Step>| [three(), steps].concat();
    let secret = |name: &str, of: &str| {
        let meta = json!({"name": name});
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": of})
    };
    let encoded = |selector: &str| get(&format!("configmaps?labelSelector={selector}"));
    vec![
        case("get nothing", [get("configmaps/a"), get("captains/hook")]),
        case("get no kind", [get("nothings/a"), get("nothings")]),
        case("list nothing", [get("configmaps"), get("captains")]),
        case(
            "list by labels",
            after(vec![
                encoded("app"),
                encoded("app%3Dx"),
                encoded("app%3D%3Dx,tier%3Dfront"),
                encoded("app!%3Dx"),
                encoded("!app"),
                encoded("app+in+(x,y)"),
                encoded("app+notin+(x)"),
                encoded("app%3D"),
                encoded("app+is+x"),
            ]),
        ),
        case(
            "list by fields",
            after(vec![
                get("configmaps?fieldSelector=metadata.name%3Db"),
                get("configmaps?fieldSelector=metadata.name!%3Db"),
                get("configmaps?fieldSelector=metadata.namespace%3Dother"),
            ]),
        ),
        case(
            "list and watch by the fields of the kind",
            [
                post("secrets", secret("a", "Opaque")),
                post("secrets", secret("b", "example.com/chart")),
                get("secrets?fieldSelector=type%3Dexample.com/chart"),
                get("secrets?fieldSelector=type!%3Dexample.com/chart,metadata.name!%3Dc"),
                watch(
                    "secrets?watch=true&resourceVersion={rv1}&fieldSelector=type%3Dexample.com/chart",
                ),
            ],
        ),
        case(
            "list in pages",
            after(vec![
                get("configmaps?limit=2"),
                get("configmaps?limit=2&continue={continue}"),
                get("configmaps?limit=3"),
            ]),
        ),
        case(
            "get metadata",
            after(vec![
                meta("configmaps/a", "PartialObjectMetadata"),
                meta("configmaps", "PartialObjectMetadataList"),
            ]),
        ),
        case(
            "watch from a version",
            [
                labelled("a", json!({"app": "x"})),
                labelled("b", json!({"app": "x"})),
                merge("configmaps/a", json!({"data": {"k": "v"}})),
                merge("configmaps/a", json!({"data": {"k": "v"}})),
                merge(
                    "configmaps/a",
                    json!({"metadata": {"labels": {"app": "y"}}}),
                ),
                merge("configmaps/b", json!({"metadata": {"labels": null}})),
                merge(
                    "configmaps/a",
                    json!({"metadata": {"labels": {"app": "x"}}}),
                ),
                delete("configmaps/a", Value::Null),
                watch("configmaps?watch=true&resourceVersion={rv1}"),
                watch("configmaps?watch=true&resourceVersion={rv1}&labelSelector=app%3Dx"),
                watch(
                    "configmaps?watch=true&resourceVersion={rv1}&fieldSelector=metadata.name%3Db",
                ),
                watch("configmaps?watch=true"),
                watch("configmaps?watch=true&resourceVersion=0&labelSelector=app"),
            ],
        ),
        case(
            "stream lists",
            after(vec![
                streamed("", "&allowWatchBookmarks=true"),
                streamed("labelSelector=app&", "&allowWatchBookmarks=true"),
                streamed("resourceVersion=0&", "&allowWatchBookmarks=true"),
                streamed("resourceVersion={rv1}&", "&allowWatchBookmarks=true"),
                streamed("", ""),
                watch("configmaps?watch=true&sendInitialEvents=true"),
                watch("configmaps?watch=true&resourceVersionMatch=NotOlderThan"),
            ]),
        ),
        case(
            "watch finalizers",
            [
                post(
                    "captains",
                    with(captain(json!({})), "finalizers", json!(["example.com/f"])),
                ),
                delete("captains/hook", Value::Null),
                merge("captains/hook", json!({"metadata": {"finalizers": null}})),
                watch("captains?watch=true&resourceVersion={rv1}"),
            ],
        ),
    ]
}

/// A watch that begins with a list.
fn streamed(before: &str, after: &str) -> Step {
    let list = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    watch(&format!("configmaps?watch=true&{before}{list}{after}"))
}

/// Asks for metadata only.
fn meta(short: &str, kind: &'static str) -> Step {
    let media_type = match kind {
        "PartialObjectMetadata" => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        _ => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    };
    step(Method::GET, short, media_type, Value::Null)
}
