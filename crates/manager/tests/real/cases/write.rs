//! Creating, replacing, patching.

use super::*;

pub fn cases() -> Vec<Case> {
    let mut all = creates();
    all.extend(replaces());
    all.extend(patches());
    all.extend(statuses());
    all
}

fn creates() -> Vec<Case> {
    let rv = with(map("a", json!({})), "resourceVersion", json!("1"));
    let unnamed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    let generated =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}});
    let meta = json!({
        "name": "hook", "uid": "mine", "generation": 7, "deletionTimestamp": "2020-01-01T00:00:00Z",
        "labels": {"a": "b"}, "finalizers": ["example.com/f"],
    });
    let mut odd = captain(json!({"order": "sail"}));
    odd["metadata"] = meta;
    odd["status"] = json!({"phase": "lost"});
    let mut mate = captain(json!({"order": "sail"}));
    mate["kind"] = json!("Mate");
    mate["status"] = json!({"phase": "kept"});
    vec![
        case("create", [post("configmaps", map("a", json!({"k": "v"}))), get("configmaps/a")]),
        case("create twice", [
            post("configmaps", map("a", json!({}))),
            post("configmaps", map("a", json!({"k": "v"}))),
        ]),
        case("create with resource version", [post("configmaps", rv)]),
        case("create without name", [post("configmaps", unnamed)]),
        case("create with generated name", [post("configmaps", generated)]),
        case("create without what the server sets", [post("captains", odd)]),
        case("create without status apart", [post("mates", mate), get("mates/hook")]),
        case("create of another namespace", [post(
            "configmaps",
            with(map("a", json!({})), "namespace", json!("other")),
        )]),
        case("create of another kind", [post("captains", map("a", json!({})))]),
        case("create without kind", [post("captains", json!({"metadata": {"name": "hook"}}))]),
        case("create of builtin without kind", [
            post("configmaps", json!({"metadata": {"name": "a"}})),
        ]),
        case("create at name", [post("configmaps/a", map("a", json!({})))]),
        case("create with field manager", [
            post("configmaps?fieldManager=me", map("a", json!({"k": "v"}))),
        ]),
        case("create dry", [
            post("configmaps?dryRun=All", map("a", json!({"k": "v"}))),
            get("configmaps/a"),
        ]),
        case("create with nulls", [post("captains", captain(json!({"order": null, "size": 1})))]),
        case("create generation of others", [
            post("poddisruptionbudgets", json!({
                "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
            })).with_defaults(),
        ]),
    ]
}

fn replaces() -> Vec<Case> {
    let now = |object: Value| with(object, "resourceVersion", json!("{rv}"));
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"},
        "spec": {"holderIdentity": "me"},
    });
    let owned = with(map("a", json!({"k": "w"})), "labels", json!({"a": "b"}));
    vec![
        case(
            "replace",
            [
                post("captains", captain(json!({"order": "sail"}))),
                put("captains/hook", now(captain(json!({"order": "sink"})))),
                put("captains/hook", now(captain(json!({"order": "sink"})))),
            ],
        ),
        case(
            "replace stale",
            [
                post("captains", captain(json!({"order": "sail"}))),
                put("captains/hook", now(captain(json!({"order": "sink"})))),
                put(
                    "captains/hook",
                    with(
                        captain(json!({"order": "rest"})),
                        "resourceVersion",
                        json!("{rv1}"),
                    ),
                ),
            ],
        ),
        case(
            "replace without version",
            [
                post("captains", captain(json!({"order": "sail"}))),
                put("captains/hook", captain(json!({"order": "sink"}))),
            ],
        ),
        case(
            "replace builtin without version",
            [
                post("configmaps", map("a", json!({"k": "v"}))),
                put("configmaps/a", owned.clone()),
                put("configmaps/a", owned),
            ],
        ),
        case(
            "replace nothing",
            [put("configmaps/a", map("a", json!({"k": "v"})))],
        ),
        case(
            "replace nothing of custom",
            [put(
                "captains/hook",
                with(captain(json!({})), "resourceVersion", json!("1")),
            )],
        ),
        case(
            "replace creates lease",
            [put("leases/a", lease.clone()), put("leases/a", lease)],
        ),
        case(
            "replace another uid",
            [
                post("captains", captain(json!({"order": "sail"}))),
                put(
                    "captains/hook",
                    with(now(captain(json!({}))), "uid", json!("other")),
                ),
            ],
        ),
        case(
            "replace another name",
            [
                post("configmaps", map("a", json!({"k": "v"}))),
                put("configmaps/a", map("b", json!({"k": "v"}))),
            ],
        ),
        case(
            "replace metadata only",
            [
                post("captains", captain(json!({"order": "sail"}))),
                put(
                    "captains/hook",
                    with(
                        now(captain(json!({"order": "sail"}))),
                        "annotations",
                        json!({"a": "b"}),
                    ),
                ),
            ],
        ),
        case(
            "replace what the server sets",
            [
                post("captains", captain(json!({"order": "sail"}))),
                put(
                    "captains/hook",
                    with(
                        now(captain(json!({"order": "sail"}))),
                        "generation",
                        json!(9),
                    ),
                ),
                put(
                    "captains/hook",
                    with(
                        now(captain(json!({"order": "sail"}))),
                        "creationTimestamp",
                        json!("2020-01-01T00:00:00Z"),
                    ),
                ),
                put(
                    "captains/hook",
                    with(
                        now(captain(json!({"order": "sail"}))),
                        "deletionTimestamp",
                        json!("2020-01-01T00:00:00Z"),
                    ),
                ),
            ],
        ),
    ]
}

fn patches() -> Vec<Case> {
    let made = || {
        post(
            "captains",
            captain(json!({"order": "sail", "list": ["a"], "nested": {"a": "1", "b": "2"}})),
        )
    };
    vec![
        case(
            "merge patch",
            [
                made(),
                merge(
                    "captains/hook",
                    json!({"spec": {"order": null, "list": ["b", "c"], "nested": {"a": "3"}}}),
                ),
                merge("captains/hook", json!({"spec": {"list": ["b", "c"]}})),
                merge(
                    "captains/hook",
                    json!({"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/f"]}}),
                ),
            ],
        ),
        case(
            "merge patch stale",
            [
                made(),
                merge("captains/hook", json!({"spec": {"size": 2}})),
                merge(
                    "captains/hook",
                    json!({"metadata": {"resourceVersion": "{rv1}"}, "spec": {"size": 3}}),
                ),
                merge(
                    "captains/hook",
                    json!({"metadata": {"resourceVersion": "{rv}"}, "spec": {"size": 3}}),
                ),
            ],
        ),
        case(
            "merge patch nothing",
            [merge("captains/hook", json!({"spec": {"size": 2}}))],
        ),
        case(
            "merge patch of another uid",
            [
                made(),
                merge("captains/hook", json!({"metadata": {"uid": "other"}})),
            ],
        ),
        case(
            "merge patch of the name",
            [
                made(),
                merge("captains/hook", json!({"metadata": {"name": "other"}})),
            ],
        ),
        case(
            "merge patch of what is empty",
            [
                post(
                    "captains",
                    captain(json!({"free": {"waiting": {"since": 1}}, "nested": {"a": "1"}})),
                ),
                merge(
                    "captains/hook",
                    json!({"spec": {"free": {"waiting": null, "running": {}}}}),
                ),
                merge(
                    "captains/hook",
                    json!({"spec": {"free": {"running": {"x": null}}}}),
                ),
                merge("captains/hook", json!({"spec": {"free": {"running": []}}})),
                merge(
                    "captains/hook",
                    json!({"spec": {"free": {"running": {"a": {"b": {"c": null}}}}}}),
                ),
                merge(
                    "captains/hook",
                    json!({"spec": {"free": {"list": [{}, [], {"a": {}}]}}}),
                ),
                merge(
                    "captains/hook",
                    json!({"spec": {"free": {"list": null, "running": null}}}),
                ),
                merge(
                    "captains/hook",
                    json!({"spec": {"free": {}, "nested": {}, "settings": {}, "list": []}}),
                ),
                merge(
                    "captains/hook",
                    json!({"spec": {"free": null, "nested": null}}),
                ),
                merge("captains/hook", json!({"spec": {"free": {}}})),
                merge("captains/hook", json!({"spec": {}})),
                merge(
                    "captains/hook",
                    json!({"metadata": {"labels": {}, "annotations": {}, "finalizers": []}}),
                ),
            ],
        ),
        case(
            "json patch",
            [
                made(),
                json_patch(
                    "captains/hook",
                    json!([
                        {"op": "test", "path": "/spec/order", "value": "sail"},
                        {"op": "replace", "path": "/spec/order", "value": "sink"},
                        {"op": "add", "path": "/spec/list/-", "value": "b"},
                        {"op": "remove", "path": "/spec/nested/a"},
                        {"op": "copy", "from": "/spec/nested/b", "path": "/spec/nested/a"},
                    ]),
                ),
                json_patch(
                    "captains/hook",
                    json!([{"op": "test", "path": "/spec/order", "value": "sail"}]),
                ),
                json_patch(
                    "captains/hook",
                    json!([{"op": "remove", "path": "/spec/size"}]),
                ),
                json_patch(
                    "captains/hook",
                    json!([{"op": "replace", "path": "/spec/size", "value": 1}]),
                ),
            ],
        ),
        case(
            "unknown patch",
            [
                made(),
                step(
                    Method::PATCH,
                    "captains/hook",
                    "application/json",
                    json!({"spec": {}}),
                ),
                step(
                    Method::PATCH,
                    "captains/hook",
                    "application/strategic-merge-patch+json",
                    json!({"spec": {}}),
                ),
            ],
        ),
        case(
            "patch by others moves ownership",
            [
                post(
                    "captains?fieldManager=a",
                    captain(json!({"order": "sail", "size": 1})),
                ),
                merge(
                    "captains/hook?fieldManager=b",
                    json!({"spec": {"order": "sink"}}),
                ),
                merge(
                    "captains/hook?fieldManager=b",
                    json!({"spec": {"size": null}}),
                ),
                merge(
                    "captains/hook?fieldManager=b",
                    json!({"spec": {"berths": {"x": {"a": "1"}}, "settings": {"k": "v"}}}),
                ),
            ],
        ),
    ]
}

fn statuses() -> Vec<Case> {
    let now = |object: Value| with(object, "resourceVersion", json!("{rv}"));
    let ready = json!({"phase": "Ready", "conditions": [{"type": "Ready", "status": "True"}]});
    vec![
        case("status apart", [
            post("captains", captain(json!({"order": "sail"}))),
            put("captains/hook/status", now(captain_status(ready.clone()))),
            get("captains/hook"),
            get("captains/hook/status"),
            put("captains/hook", now(captain(json!({"order": "sink"})))),
            merge("captains/hook", json!({"status": {"phase": "Lost"}})),
            merge("captains/hook/status", json!({"status": {"phase": "Lost"}, "spec": {"order": "rest"}})),
            merge("captains/hook/status", json!({"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}})),
            merge("captains/hook/status", json!({"status": null})),
        ]),
        case("status stale", [
            post("captains", captain(json!({"order": "sail"}))),
            merge("captains/hook/status", json!({"status": {"phase": "A"}})),
            merge("captains/hook/status", json!({"metadata": {"resourceVersion": "{rv1}"}, "status": {"phase": "B"}})),
        ]),
        case("status union", [
            post("captains", captain(json!({"order": "sail"}))),
            merge("captains/hook/status", json!({"status": {}})),
            merge("captains/hook/status", json!({"status": {"state": {"waiting": {"since": 1}}}})),
            merge("captains/hook/status", json!({"status": {"state": {"waiting": null}}})),
            merge("captains/hook/status", json!({"status": {"state": {"running": {}}}})),
            merge("captains/hook/status", json!({"status": {"state": {"waiting": null, "running": {}}}})),
            merge("captains/hook/status", json!({"status": {"state": {"running": {}}}})),
            merge("captains/hook/status", json!({"status": {"state": {}}})),
            merge("captains/hook/status", json!({"status": {"state": null}})),
            get("captains/hook"),
        ]),
        case("status of what has none", [
            post("configmaps", map("a", json!({}))),
            merge("configmaps/a/status", json!({"status": {}})),
            post("mates", json!({
                "apiVersion": "crew.example.com/v1", "kind": "Mate", "metadata": {"name": "smee"}, "spec": {"size": 1},
            })),
            merge("mates/smee/status", json!({"status": {"phase": "A"}})),
            merge("mates/smee", json!({"status": {"phase": "A"}})),
        ]),
        case("status of a builtin", [
            post("poddisruptionbudgets", json!({
                "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
            })).with_defaults(),
            merge("poddisruptionbudgets/a/status", json!({"status": {"currentHealthy": 2}, "spec": {"minAvailable": 3}})).with_defaults(),
            merge("poddisruptionbudgets/a", json!({"status": {"currentHealthy": 3}, "spec": {"minAvailable": 2}})).with_defaults(),
        ]),
    ]
}
