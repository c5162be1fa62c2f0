//! What comes of rejections, and warnings.

use super::*;

pub fn cases() -> Vec<Case> {
    let hook = "captains/hook";
    let answers = ["forbid", "bad", "fail", "fields"];
    let rejected = |name: &str| {
        let steps = answers.map(|answer| {
            let object = answered_with(captain(json!({"order": "sail"})), json!({name: answer}));
            post("captains", object).with_message()
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
                apply(hook, "b", answered_with(captain(json!({"size": 4})), json!({"validate-b": "forbid"}))).with_message(),
                get(hook),
            ],
        ),
        case(
            "a deletion is rejected",
            [
                post("captains", answered_with(captain(json!({})), json!({"validate-a": "keep"}))),
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
                post("captains", answered_with(captain(json!({})), json!({"mutate-a": "warn", "validate-a": "warn"}))),
                merge(hook, json!({"spec": {"size": 7}})),
                merge(hook, annotate(json!({"validate-b": "forbid"}))).with_message(),
                delete(hook, Value::Null),
            ],
        ),
        case(
            "a patch that is not possible",
            [
                post("captains", answered_with(captain(json!({})), json!({"validate-a": patch([set("/spec/size", 3)])}))).with_message(),
                post("captains", answered_with(captain(json!({})), json!({"mutate-a": patch([set("/spec/none/size", 3)])}))),
                post("captains", answered_with(captain(json!({})), json!({"mutate-a": patch([])}))),
            ],
        ),
        case(
            "a ConfigMap is rejected",
            answers
                .map(|answer| post("configmaps", answered_with(map("a", json!({})), json!({"validate-a": answer}))).with_message())
                .to_vec(),
        ),
    ]
}
