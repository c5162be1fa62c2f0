//! What comes of patches.

use super::*;

pub fn cases() -> Vec<Case> {
    let hook = "captains/hook";
    let with_answers = |answers: Value| {
        post(
            "captains",
            answered_with(captain(json!({"order": "sail"})), answers),
        )
    };
    vec![
        case(
            "a patch sets fields of a new object",
            [
                with_answers(
                    json!({"mutate-a": patch([set("/spec/size", 3), set("/metadata/labels", json!({"set": "yes"}))])}),
                ),
                get(hook),
                merge(hook, json!({"spec": {"size": 2}})),
                apply(hook, "a", captain(json!({"size": 4}))),
                get(hook),
            ],
        ),
        case(
            "each defaulter sees what those before have set",
            [
                with_answers(json!({
                    "mutate-a": patch([set("/spec/order", "a"), set("/spec/settings", json!({"a": "a"}))]),
                    "mutate-b": patch([set("/spec/order", "b"), set("/spec/settings/b", "b")]),
                    "mutate-c": patch([set("/spec/order", "c"), set("/spec/settings/c", "c")]),
                })),
                get(hook),
            ],
        ),
        case(
            "a defaulter is asked again if a later one has changed the object",
            [
                with_answers(json!({"mutate-b": patch([set("/spec/size", 3)])})),
                merge(
                    hook,
                    annotate(json!({"mutate-b": null, "mutate-c": patch([set("/spec/size", 4)])})),
                ),
                merge(
                    hook,
                    annotate(json!({"mutate-c": null, "mutate-a": patch([set("/spec/size", 5)])})),
                ),
            ],
        ),
        case(
            "an update that webhooks make the same as before is not stored",
            [
                with_answers(json!({"mutate-a": patch([set("/spec/order", "sail")])})),
                merge(hook, json!({"spec": {"order": "sink"}})),
                apply(hook, "b", captain(json!({"order": "sink"}))),
            ],
        ),
        case(
            "an update that changes nothing is stored if webhooks change it",
            [
                post("captains", captain(json!({"order": "sail"}))),
                merge(
                    hook,
                    annotate(
                        json!({"mutate-c": patch([json!({"op": "remove", "path": "/spec/order"})])}),
                    ),
                ),
                merge(hook, json!({"spec": {"order": "rest"}})),
                get(hook),
            ],
        ),
        case(
            "unknown fields of a patch are pruned",
            [
                with_answers(
                    json!({"mutate-a": patch([set("/spec/unknown", 3), set("/spec/nested", json!({"a": "x", "z": "y"}))])}),
                ),
                get(hook),
                merge(hook, json!({"spec": {"size": 4}})),
                merge(hook, json!({"spec": {"size": 4}})),
                apply(hook, "a", captain(json!({"size": 4}))),
                apply(hook, "a", captain(json!({"size": 4}))),
                get(hook),
            ],
        ),
        case(
            "defaults are set after a patch",
            [
                post(
                    "boats",
                    answered_with(
                        boat(json!({"size": 2})),
                        json!({
                            "mutate-a": patch([set("/spec/engine", json!({}))]),
                        }),
                    ),
                ),
                get("boats/jolly"),
                merge(
                    "boats/jolly",
                    annotate(
                        json!({"mutate-a": patch([json!({"op": "remove", "path": "/spec"})])}),
                    ),
                ),
            ],
        ),
        case(
            "a patch is validated",
            [
                with_answers(json!({"mutate-a": patch([set("/spec/size", "large")])})),
                post("captains", captain(json!({"order": "sail"}))),
                merge(
                    hook,
                    annotate(json!({"mutate-a": patch([set("/spec/size", "large")])})),
                ),
                get(hook),
            ],
        ),
        case(
            "a patch sets the status, at status alone",
            [
                with_answers(json!({"mutate-a": patch([set("/status", json!({"phase": "A"}))])})),
                get(hook),
                merge("captains/hook/status", json!({"status": {"phase": "B"}})),
                merge(hook, json!({"spec": {"size": 2}})),
                get(hook),
                merge(
                    hook,
                    annotate(json!({"mutate-a": patch([set("/spec/size", 9)])})),
                ),
                merge("captains/hook/status", json!({"status": {"phase": "C"}})),
                get(hook),
            ],
        ),
        case(
            "a patch changes metadata",
            [
                with_answers(json!({"mutate-a": patch([
                    set("/metadata/finalizers", json!(["crew.example.com/a"])), set("/metadata/labels", json!({"a": "b"})),
                ])})),
                get(hook),
                merge(
                    hook,
                    annotate(
                        json!({"mutate-a": patch([set("/metadata/generation", 7), set("/metadata/uid", "other")])}),
                    ),
                ),
                get(hook),
            ],
        ),
        case(
            "a patch changes a ConfigMap",
            [
                post(
                    "configmaps",
                    answered_with(
                        map("a", json!({"a": "b"})),
                        json!({"mutate-a": patch([set("/data/b", "c")])}),
                    ),
                ),
                get("configmaps/a"),
                merge("configmaps/a", json!({"data": {"b": null}})),
            ],
        ),
        case(
            "what a patch sets belongs to no manager",
            [
                apply(
                    hook,
                    "a",
                    answered_with(
                        captain(json!({"order": "sail"})),
                        json!({"mutate-a": patch([set("/spec/size", 3)])}),
                    ),
                ),
                apply(hook, "b", captain(json!({"size": 3}))),
                apply(hook, "b", captain(json!({}))),
                get(hook),
            ],
        ),
    ]
}
