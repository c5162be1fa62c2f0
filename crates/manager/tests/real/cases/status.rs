//! Server-side applies of a status.

use super::*;

pub fn cases() -> Vec<Case> {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status});
    let status = |manager: &str, status: Value| {
        apply("captains/hook/status", manager, captain_status(status))
    };
    let main = |manager: &str| apply("captains/hook", manager, captain(json!({"order": "sail"})));
    vec![
        case(
            "apply status",
            [
                status("a", json!({"phase": "A"})),
                main("a"),
                status(
                    "a",
                    json!({"phase": "A", "conditions": [condition("Ready", "True")]}),
                ),
                status("b", json!({"conditions": [condition("Happy", "True")]})),
                status("b", json!({"conditions": [condition("Ready", "False")]})),
                status("a", json!({"conditions": [condition("Ready", "False")]})),
                main("a"),
            ],
        ),
        case(
            "apply spec at status and status at spec",
            [
                main("a"),
                apply(
                    "captains/hook/status",
                    "a",
                    captain(json!({"order": "sink"})),
                ),
                apply("captains/hook", "a", captain_status(json!({"phase": "A"}))),
            ],
        ),
    ]
}
