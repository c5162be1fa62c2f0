//! Writes that webhooks review. Annotations tell them what to answer.

use super::*;

fn told(object: Value, answers: Value) -> Value {
    with(object, "annotations", answers)
}

fn set(path: &str, value: impl Into<Value>) -> Value {
    json!({"op": "add", "path": path, "value": value.into()})
}

fn patch(steps: impl Into<Vec<Value>>) -> String {
    Value::from(steps.into()).to_string()
}

fn boat(spec: Value) -> Value {
    json!({"apiVersion": "crew.example.com/v1", "kind": "Boat", "metadata": {"name": "jolly"}, "spec": spec})
}

fn mate(spec: Value) -> Value {
    json!({"apiVersion": "crew.example.com/v1", "kind": "Mate", "metadata": {"name": "smee"}, "spec": spec})
}

fn raft(version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("crew.example.com/{version}"), "kind": "Raft", "metadata": {"name": "kon-tiki"}, "spec": spec,
    })
}

/// The same step in version 2.
fn v2(mut step: Step) -> Step {
    step.path = step.path.replace("/v1/", "/v2/");
    step
}

fn annotate(answers: Value) -> Value {
    json!({"metadata": {"annotations": answers}})
}

pub fn cases() -> Vec<Case> {
    [asked(), defaults(), rejections()].concat()
}

/// What webhooks are asked.
fn asked() -> Vec<Case> {
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
                merge("captains/nobody", json!({"spec": {"size": 3}})),
                delete(hook, json!({"preconditions": {"uid": "wrong"}})),
                post("boats", boat(json!({"size": 10}))),
            ],
        ),
    ]
}

/// What comes of patches.
fn defaults() -> Vec<Case> {
    let hook = "captains/hook";
    let with_answers =
        |answers: Value| post("captains", told(captain(json!({"order": "sail"})), answers));
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
                    told(
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
                    told(
                        map("a", json!({"a": "b"})),
                        json!({"mutate-a": patch([set("/data/b", "c")])}),
                    ),
                ),
                get("configmaps/a"),
                merge("configmaps/a", json!({"data": {"b": null}})),
            ],
        ),
        case(
            "what a patch sets belongs to nobody",
            [
                apply(
                    hook,
                    "a",
                    told(
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

/// What comes of rejections, and warnings.
fn rejections() -> Vec<Case> {
    let hook = "captains/hook";
    let answers = ["forbid", "bad", "fail", "fields"];
    let rejected = |name: &str| {
        let steps = answers.map(|answer| {
            let told = told(captain(json!({"order": "sail"})), json!({name: answer}));
            post("captains", told).with_message()
        });
        steps.to_vec()
    };
    vec![
        case("a defaulter rejects", rejected("mutate-b")),
        case("a validator rejects", rejected("validate-a")),
        case(
            "a rejected change is not stored",
            [
                post("captains", captain(json!({"order": "sail"}))),
                merge(hook, json!({"metadata": {"annotations": {"validate-a": "fields"}}, "spec": {"size": 7}})).with_message(),
                apply(hook, "b", told(captain(json!({"size": 4})), json!({"validate-b": "forbid"}))).with_message(),
                get(hook),
            ],
        ),
        case(
            "a deletion is rejected",
            [
                post("captains", told(captain(json!({})), json!({"validate-a": "keep"}))),
                delete(hook, Value::Null).with_message(),
                merge(hook, annotate(json!({"validate-a": null, "mutate-b": "keep"}))),
                delete(hook, Value::Null).with_message(),
                post("captains", with(captain(json!({})), "name", json!("cook"))),
                post("captains", with(captain(json!({})), "name", json!("smee"))),
                delete("captains", Value::Null).with_message(),
                get("captains"),
            ],
        ),
        case(
            "warnings are for the user",
            [
                post("captains", told(captain(json!({})), json!({"mutate-a": "warn", "validate-a": "warn"}))),
                merge(hook, json!({"spec": {"size": 7}})),
                merge(hook, annotate(json!({"validate-b": "forbid"}))).with_message(),
                delete(hook, Value::Null),
            ],
        ),
        case(
            "a patch that is not possible",
            [
                post("captains", told(captain(json!({})), json!({"validate-a": patch([set("/spec/size", 3)])}))).with_message(),
                post("captains", told(captain(json!({})), json!({"mutate-a": patch([set("/spec/none/size", 3)])}))),
                post("captains", told(captain(json!({})), json!({"mutate-a": patch([])}))),
            ],
        ),
        case(
            "a ConfigMap is rejected",
            answers
                .map(|answer| post("configmaps", told(map("a", json!({})), json!({"validate-a": answer}))).with_message())
                .to_vec(),
        ),
    ]
}
