//! What webhooks are asked.

use super::*;

pub fn cases() -> Vec<Case> {
    let hook = "captains/hook";
    vec![
        case(
            "reviews of one object",
            [
                post("captains", captain(json!({"order": "sail"}))),
                put(
                    hook,
                    with(
                        captain(json!({"order": "sink"})),
                        "resourceVersion",
                        json!("{rv}"),
                    ),
                ),
                merge(hook, json!({"spec": {"size": 2}})),
                merge(hook, json!({"spec": {"size": 2}})),
                json_patch(
                    hook,
                    json!([{"op": "add", "path": "/spec/order", "value": "rest"}]),
                ),
                merge("captains/hook/status", json!({"status": {"phase": "A"}})),
                merge(
                    "captains/hook/status",
                    json!({"spec": {"size": 9}, "status": {"phase": "B"}}),
                ),
                delete(hook, Value::Null),
                delete(hook, Value::Null),
            ],
        ),
        case(
            "reviews of server-side apply",
            [
                apply(hook, "a", captain(json!({"order": "sail"}))),
                apply(hook, "a", captain(json!({"order": "sail"}))),
                apply(hook, "a", captain(json!({"order": "sink"}))),
                apply(hook, "b", captain(json!({"order": "rest"}))),
                force(hook, "b", captain(json!({"order": "rest"}))),
                apply(
                    "captains/hook/status",
                    "a",
                    captain_status(json!({"phase": "A"})),
                ),
            ],
        ),
        case(
            "reviews of an object with finalizers",
            [
                post(
                    "captains",
                    with(
                        captain(json!({})),
                        "finalizers",
                        json!(["crew.example.com/a"]),
                    ),
                ),
                delete(hook, json!({"propagationPolicy": "Background"})),
                delete(hook, Value::Null),
                merge(hook, json!({"metadata": {"finalizers": null}})),
                get(hook),
            ],
        ),
        case(
            "reviews of a generated name",
            [
                post(
                    "captains",
                    with(
                        with(captain(json!({})), "name", json!("")),
                        "generateName",
                        json!("hook-"),
                    ),
                ),
                post(
                    "configmaps",
                    with(map("", json!({"a": "b"})), "generateName", json!("map-")),
                ),
            ],
        ),
        case(
            "reviews of a ConfigMap",
            [
                post("configmaps", map("a", json!({"a": "b"}))),
                merge("configmaps/a", json!({"data": {"a": "c"}})),
                put("configmaps/a", map("a", json!({"a": "d"}))),
                put("configmaps/new", map("new", json!({"a": "d"}))),
                delete("configmaps/a", Value::Null),
            ],
        ),
        case(
            "reviews of dry runs",
            [
                post("captains?dryRun=All", captain(json!({"order": "sail"}))),
                post("captains", captain(json!({"order": "sail"}))),
                merge("captains/hook?dryRun=All", json!({"spec": {"size": 2}})),
                delete(hook, json!({"dryRun": ["All"]})),
            ],
        ),
        case(
            "reviews of a collection",
            [
                post("captains", captain(json!({"order": "sail"}))),
                post("captains", with(captain(json!({})), "name", json!("smee"))),
                delete("captains", Value::Null),
            ],
        ),
        case(
            "reviews in the version of the rules",
            [
                post("rafts", raft("v1", json!({"name": "a"}))),
                merge("rafts/kon-tiki", json!({"spec": {"planks": 7}})),
                merge(
                    "rafts/kon-tiki",
                    annotate(json!({"mutate-a": patch([set("/spec/logs", "balsa")])})),
                ),
                get("rafts/kon-tiki"),
                v2(get("rafts/kon-tiki")),
                delete("rafts/kon-tiki", Value::Null),
            ],
        ),
        case(
            "only objects with a label are reviewed",
            [
                post("captains", captain(json!({}))),
                merge(hook, json!({"metadata": {"labels": {"checked": "x"}}})),
                merge(hook, json!({"metadata": {"labels": {"checked": null}}})),
                merge(hook, json!({"spec": {"size": 2}})),
                merge(
                    hook,
                    annotate(
                        json!({"mutate-b": patch([set("/metadata/labels", json!({"checked": "y"}))])}),
                    ),
                ),
                delete(hook, Value::Null),
            ],
        ),
        case(
            "match conditions decide whether a webhook is asked",
            [
                post("mates", mate(json!({"size": 3}))),
                merge("mates/smee", json!({"spec": {"size": 7}})),
                merge("mates/smee", json!({"metadata": {"labels": {"a": "b"}}})),
                merge("mates/smee", json!({"spec": {"order": "sink"}})),
                merge("mates/smee", json!({"spec": {"size": null}})).with_message(),
                delete("mates/smee", Value::Null),
                post("mates", mate(json!({}))).with_message(),
            ],
        ),
        case(
            "what is refused anyway is not reviewed",
            [
                post("captains", captain(json!({"order": "sail"}))),
                post("captains", captain(json!({"order": "sail"}))),
                put(
                    hook,
                    with(captain(json!({})), "resourceVersion", json!("1")),
                ),
                merge(
                    hook,
                    json!({"metadata": {"resourceVersion": "1"}, "spec": {"size": 3}}),
                ),
                merge("captains/none", json!({"spec": {"size": 3}})),
                delete(hook, json!({"preconditions": {"uid": "wrong"}})),
                post("boats", boat(json!({"size": 10}))),
            ],
        ),
    ]
}
