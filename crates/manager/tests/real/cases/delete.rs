//! Deleting.

use super::*;

pub fn cases() -> Vec<Case> {
    let held = || {
        post(
            "captains",
            with(
                captain(json!({"order": "sail"})),
                "finalizers",
                json!(["example.com/f", "example.com/g"]),
            ),
        )
    };
    let finalizers =
        |list: Value| merge("captains/hook", json!({"metadata": {"finalizers": list}}));
    vec![
        case(
            "delete",
            [
                post("captains", captain(json!({}))),
                delete("captains/hook", Value::Null),
                get("captains/hook"),
                delete("captains/hook", Value::Null),
            ],
        ),
        case(
            "delete builtin",
            [
                post("configmaps", map("a", json!({}))),
                delete("configmaps/a", Value::Null),
                post(
                    "serviceaccounts",
                    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}),
                ),
                delete("serviceaccounts/a", Value::Null),
            ],
        ),
        case(
            "delete with finalizers",
            [
                held(),
                delete("captains/hook", Value::Null),
                delete("captains/hook", Value::Null),
                finalizers(json!(["example.com/f", "example.com/h"])),
                finalizers(json!(["example.com/g"])),
                merge("captains/hook", json!({"spec": {"order": "rest"}})),
                finalizers(json!([])),
                get("captains/hook"),
            ],
        ),
        case(
            "delete with finalizers by replace",
            [
                held(),
                delete("captains/hook", Value::Null),
                put(
                    "captains/hook",
                    with(captain(json!({})), "resourceVersion", json!("{rv}")),
                ),
                get("captains/hook"),
            ],
        ),
        case(
            "delete with preconditions",
            [
                post("captains", captain(json!({}))),
                delete("captains/hook", json!({"preconditions": {"uid": "other"}})),
                delete(
                    "captains/hook",
                    json!({"preconditions": {"resourceVersion": "1"}}),
                ),
                delete(
                    "captains/hook",
                    json!({"preconditions": {"uid": "{uid1}", "resourceVersion": "{rv1}"}}),
                ),
                get("captains/hook"),
            ],
        ),
        case(
            "delete dry",
            [
                post("captains", captain(json!({}))),
                delete("captains/hook", json!({"dryRun": ["All"]})),
                get("captains/hook"),
            ],
        ),
        case(
            "delete in vain policy",
            [
                post("captains", captain(json!({}))),
                delete("captains/hook", json!({"propagationPolicy": "Sideways"})),
            ],
        ),
        case(
            "delete in background",
            [
                post("captains", captain(json!({}))),
                delete("captains/hook", json!({"propagationPolicy": "Background"})),
                get("captains/hook"),
            ],
        ),
        case(
            "delete many",
            [
                post(
                    "configmaps",
                    with(map("a", json!({})), "labels", json!({"x": "y"})),
                ),
                post(
                    "configmaps",
                    with(map("b", json!({})), "finalizers", json!(["example.com/f"])),
                ),
                post("configmaps", map("c", json!({}))),
                delete("configmaps?labelSelector=x", Value::Null),
                delete("configmaps", Value::Null),
                get("configmaps"),
            ],
        ),
    ]
}
