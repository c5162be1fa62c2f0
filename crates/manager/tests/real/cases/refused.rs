//! Server-side applies that are rejected, or have conditions.

use super::*;

pub fn cases() -> Vec<Case> {
    let hook = || captain(json!({"order": "sail"}));
    let nobody = step(
        Method::PATCH,
        "captains/hook",
        "application/apply-patch+yaml",
        hook(),
    );
    vec![
        case("apply without manager", [nobody]),
        case(
            "apply another version",
            [apply("captains/hook", "a", with_version(hook()))],
        ),
        case("apply another name", [apply("captains/other", "a", hook())]),
        case(
            "apply managed fields",
            [apply(
                "captains/hook",
                "a",
                with(hook(), "managedFields", json!([])),
            )],
        ),
        case(
            "apply without kind",
            [apply("captains/hook", "a", json!({"spec": {}}))],
        ),
        case(
            "apply a version of nothing",
            [
                apply(
                    "captains/hook",
                    "a",
                    with(hook(), "resourceVersion", json!("1")),
                ),
                apply("captains/hook", "a", with(hook(), "uid", json!("other"))),
            ],
        ),
        case(
            "apply what must not exist",
            [
                apply("captains/hook", "a", none(hook())),
                apply("captains/hook", "a", none(hook())),
                force(
                    "captains/hook",
                    "a",
                    none(captain(json!({"order": "sink"}))),
                ),
                get("captains/hook"),
                force("configmaps/a", "a", none(map("a", json!({"x": "1"})))),
                force("configmaps/a", "a", none(map("a", json!({"x": "2"})))),
                force("configmaps/a", "b", none(map("a", json!({"y": "1"})))),
                get("configmaps/a"),
            ],
        ),
        case(
            "apply with a uid",
            [
                force("captains/hook", "a", with(hook(), "uid", json!("other"))),
                force("captains/hook", "a", hook()),
                force(
                    "captains/hook",
                    "a",
                    with(captain(json!({"order": "sink"})), "uid", json!("{uid1}")),
                ),
                force("captains/hook", "a", with(hook(), "uid", json!("other"))),
                force(
                    "configmaps/a",
                    "a",
                    with(map("a", json!({})), "uid", json!("other")),
                ),
                force("configmaps/a", "a", map("a", json!({"x": "1"}))),
                force(
                    "configmaps/a",
                    "a",
                    with(map("a", json!({"x": "2"})), "uid", json!("{uid}")),
                ),
                force(
                    "configmaps/a",
                    "a",
                    with(map("a", json!({})), "uid", json!("other")),
                ),
                get("configmaps/a"),
            ],
        ),
        case(
            "apply stale",
            [
                apply("captains/hook", "a", hook()),
                apply("captains/hook", "a", captain(json!({"order": "sink"}))),
                apply(
                    "captains/hook",
                    "a",
                    with(hook(), "resourceVersion", json!("{rv1}")),
                ),
            ],
        ),
        case(
            "force a merge patch",
            [
                post("captains", hook()),
                merge("captains/hook?force=true", json!({"spec": {}})),
            ],
        ),
    ]
}

/// An object with a version that no object has.
fn none(object: Value) -> Value {
    with(object, "resourceVersion", json!("9223372036854775807"))
}

fn with_version(mut object: Value) -> Value {
    object["apiVersion"] = json!("crew.example.com/v2");
    object
}
