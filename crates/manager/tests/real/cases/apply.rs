//! Server-side apply.

use super::*;

pub fn cases() -> Vec<Case> {
    let mut all = ownership();
    all.extend(lists());
    all.extend(builtin());
    all.extend(status::cases());
    all.extend(refused::cases());
    all
}

fn ownership() -> Vec<Case> {
    let hook = |manager: &str, spec: Value| apply("captains/hook", manager, captain(spec));
    vec![
        case(
            "apply another type of value",
            [
                json!({"a": 1}),
                json!("text"),
                json!([1]),
                json!({"b": {}}),
                json!([]),
                json!({}),
            ]
            .map(|value| apply("captains/hook", "a", captain(json!({"free": {"x": value}})))),
        ),
        case(
            "apply another type of value to that of others",
            [
                json!({"a": 1}),
                json!("text"),
                json!([1]),
                json!({"b": {}, "c": 2}),
                json!(7),
            ]
            .map(|value| {
                force(
                    "captains/hook",
                    &format!("of-{}", value.to_string().len()),
                    captain(json!({"free": {"x": value}})),
                )
            }),
        ),
        case(
            "merge patch to another type of value",
            [
                post("captains", captain(json!({"free": {"x": {"a": {"b": 1}}}}))),
                merge("captains/hook", json!({"spec": {"free": {"x": "text"}}})),
                merge(
                    "captains/hook",
                    json!({"spec": {"free": {"x": {"a": {"b": {}}}}}}),
                ),
                merge("captains/hook", json!({"spec": {"free": {"x": [1]}}})),
                merge("captains/hook", json!({"spec": {"free": {"x": {"c": 1}}}})),
                merge("captains/hook", json!({"spec": {"free": {"x": {}}}})),
                merge("captains/hook", json!({"spec": {"free": {"x": []}}})),
                merge("captains/hook", json!({"spec": {"free": {"x": 1}}})),
            ],
        ),
        case(
            "apply creates",
            [hook("a", json!({"order": "sail"})), get("captains/hook")],
        ),
        case(
            "apply the same again",
            [
                hook("a", json!({"order": "sail"})),
                hook("a", json!({"order": "sail"})),
            ],
        ),
        case(
            "apply removes what is no longer named",
            [
                hook(
                    "a",
                    json!({"order": "sail", "size": 1, "nested": {"a": "1", "b": "2"}, "settings": {"x": "1", "y": "2"}}),
                ),
                hook(
                    "a",
                    json!({"order": "sail", "nested": {"a": "1"}, "settings": {"y": "2"}}),
                ),
                hook("a", json!({"order": "sail"})),
                hook("a", json!({})),
            ],
        ),
        case(
            "apply leaves what others own",
            [
                hook("a", json!({"order": "sail", "nested": {"a": "1"}})),
                hook("b", json!({"size": 1, "nested": {"b": "2"}})),
                hook("a", json!({"order": "sail"})),
                hook("b", json!({})),
            ],
        ),
        case(
            "an entry of managed fields that is removed owns nothing",
            [
                hook("a", json!({"order": "sail"})),
                hook("b", json!({"size": 1})),
                json_patch(
                    "captains/hook",
                    json!([{"op": "remove", "path": "/metadata/managedFields/1"}]),
                ),
                hook("c", json!({"size": 2})),
                json_patch(
                    "captains/hook?fieldManager=d",
                    json!([
                        {"op": "add", "path": "/spec/order", "value": "sink"},
                        {"op": "remove", "path": "/metadata/managedFields/0"},
                    ]),
                ),
            ],
        ),
        takeover(),
        case(
            "apply shares what is equal",
            [
                hook("a", json!({"order": "sail"})),
                hook("b", json!({"order": "sail"})),
                hook("a", json!({})),
                hook("b", json!({})),
            ],
        ),
        case(
            "apply conflicts",
            [
                hook("a", json!({"order": "sail", "size": 1})),
                hook(
                    "b",
                    json!({"order": "sink", "size": 2, "nested": {"a": "1"}}),
                ),
                hook("b", json!({"order": "sink"})),
                force("captains/hook", "b", captain(json!({"order": "sink"}))),
                hook("a", json!({"order": "sail"})),
                hook("a", json!({"size": 1})),
            ],
        ),
        case(
            "apply conflicts with an update",
            [
                post("captains?fieldManager=a", captain(json!({"order": "sail"}))),
                hook("b", json!({"order": "sink"})),
                hook("a", json!({"order": "sink"})),
                force("captains/hook", "b", captain(json!({"order": "sink"}))),
            ],
        ),
        case(
            "apply then update takes over",
            [
                hook("a", json!({"order": "sail", "size": 1})),
                merge(
                    "captains/hook?fieldManager=b",
                    json!({"spec": {"order": "sink"}}),
                ),
                hook("a", json!({"size": 1})),
                hook("a", json!({"order": "sail", "size": 1})),
                merge(
                    "captains/hook?fieldManager=a",
                    json!({"spec": {"order": "rest"}}),
                ),
            ],
        ),
        case(
            "apply empty",
            [
                hook(
                    "a",
                    json!({"nested": {}, "settings": {}, "list": [], "ports": [], "tags": []}),
                ),
                hook("a", json!({"nested": {"a": "1"}})),
                hook("a", json!({"nested": {}})),
            ],
        ),
        case(
            "apply null",
            [
                hook("a", json!({"order": "sail", "size": null})),
                hook("b", json!({"order": null})),
            ],
        ),
        case(
            "apply maps of structs",
            [
                hook(
                    "a",
                    json!({"berths": {"x": {"a": "1"}, "y": {"a": "1", "b": "2"}}}),
                ),
                hook("b", json!({"berths": {"x": {"b": "2"}, "z": {}}})),
                hook("a", json!({"berths": {"y": {"a": "1"}}})),
                hook("b", json!({})),
            ],
        ),
        case(
            "apply whole and free",
            [
                hook(
                    "a",
                    json!({"whole": {"a": "1"}, "free": {"x": {"y": [1, 2]}, "z": 1}}),
                ),
                hook("b", json!({"whole": {"b": "2"}, "free": {"x": {"y": [3]}}})),
                force(
                    "captains/hook",
                    "b",
                    captain(json!({"whole": {"b": "2"}, "free": {"x": {"y": [3]}, "w": {}}})),
                ),
                hook("a", json!({})),
            ],
        ),
        case(
            "apply labels and annotations",
            [
                apply(
                    "captains/hook",
                    "a",
                    with(captain(json!({})), "labels", json!({"x": "1", "y": "2"})),
                ),
                apply(
                    "captains/hook",
                    "b",
                    with(captain(json!({})), "labels", json!({"z": "3"})),
                ),
                apply(
                    "captains/hook",
                    "a",
                    with(captain(json!({})), "labels", json!({"x": "1"})),
                ),
                apply("captains/hook", "a", captain(json!({}))),
                apply(
                    "captains/hook",
                    "b",
                    with(captain(json!({})), "annotations", json!({"x.io/y": "1"})),
                ),
            ],
        ),
        case(
            "apply dry",
            [
                hook("a", json!({"order": "sail"})),
                apply(
                    "captains/hook",
                    "a&dryRun=All",
                    captain(json!({"order": "sink"})),
                ),
                get("captains/hook"),
            ],
        ),
    ]
}

/// The entry of an update becomes one of an apply, as client-go's csaupgrade does it.
fn takeover() -> Case {
    let fields = json!({
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {".": {}, "f:order": {}, "f:size": {}, "f:tags": {".": {}, "v:\"x\"": {}}},
    });
    let entry = json!({
        "manager": "b", "operation": "Apply", "apiVersion": "crew.example.com/v1",
        "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields,
    });
    let spec = json!({"order": "sail", "size": 1, "tags": ["x"]});
    let mut hook = captain(spec.clone());
    hook["metadata"]["labels"] = json!({"a": "1"});
    case(
        "an apply takes over an update",
        [
            post("captains?fieldManager=a", hook.clone()),
            merge(
                "captains/hook?fieldManager=b",
                json!({"metadata": {"resourceVersion": "{rv}", "managedFields": [entry]}}),
            ),
            apply("captains/hook", "b", hook),
            apply("captains/hook", "b", captain(json!({"order": "sail"}))),
        ],
    )
}

fn lists() -> Vec<Case> {
    let hook = |manager: &str, spec: Value| apply("captains/hook", manager, captain(spec));
    let port = |port: i32, note: &str| json!({"port": port, "protocol": "TCP", "note": note});
    let meta = |manager: &str, field: &str, value: Value| {
        apply(
            "captains/hook",
            manager,
            with(captain(json!({})), field, value),
        )
    };
    let owner = |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid});
    vec![
        case(
            "apply keyed lists",
            [
                hook("a", json!({"ports": [port(1, "a"), port(2, "a")]})),
                hook(
                    "b",
                    json!({"ports": [port(3, "b"), {"port": 1, "protocol": "TCP", "name": "b"}]}),
                ),
                hook("a", json!({"ports": [port(2, "a")]})),
                hook(
                    "a",
                    json!({"ports": [port(2, "a"), {"port": 2, "protocol": "UDP"}]}),
                ),
                hook("b", json!({"ports": [port(2, "b")]})),
                hook("b", json!({})),
                hook("a", json!({})),
            ],
        ),
        case(
            "apply keyed lists in another order",
            [
                hook(
                    "a",
                    json!({"ports": [port(1, "a"), port(2, "a"), port(3, "a")]}),
                ),
                hook(
                    "b",
                    json!({"ports": [port(5, "b"), port(3, "a"), port(4, "b"), port(1, "a")]}),
                ),
                hook(
                    "a",
                    json!({"ports": [port(3, "a"), port(2, "a"), port(6, "a"), port(1, "a")]}),
                ),
            ],
        ),
        case(
            "apply an item twice",
            [hook("a", json!({"ports": [port(1, "a"), port(1, "b")]}))],
        ),
        case(
            "apply sets",
            [
                hook("a", json!({"tags": ["x", "y"]})),
                hook("b", json!({"tags": ["z", "x"]})),
                hook("a", json!({"tags": ["y"]})),
                hook("b", json!({"tags": []})),
            ],
        ),
        case(
            "apply whole lists",
            [
                hook("a", json!({"list": ["x", "y"]})),
                hook("b", json!({"list": ["x"]})),
                force("captains/hook", "b", captain(json!({"list": ["x"]}))),
                hook("a", json!({})),
                hook("b", json!({})),
            ],
        ),
        case(
            "apply finalizers",
            [
                meta("a", "finalizers", json!(["example.com/a"])),
                meta("b", "finalizers", json!(["example.com/b", "example.com/a"])),
                meta("a", "finalizers", json!([])),
                merge(
                    "captains/hook?fieldManager=c",
                    json!({"metadata": {"finalizers": ["example.com/c"]}}),
                ),
                meta("b", "finalizers", json!(["example.com/b"])),
            ],
        ),
        case(
            "apply owner references",
            [
                post("configmaps", map("x", json!({}))),
                post("configmaps", map("y", json!({}))),
                // Both exist: the real server collects garbage.
                meta("b", "ownerReferences", json!([owner("y", "{uid}")])),
                meta("a", "ownerReferences", json!([owner("x", "{uid1}")])),
                meta("b", "labels", json!({})),
            ],
        ),
        case(
            "update of keyed lists",
            [
                post(
                    "captains?fieldManager=a",
                    captain(json!({"ports": [port(1, "a"), port(2, "a")]})),
                ),
                merge(
                    "captains/hook?fieldManager=b",
                    json!({"spec": {"ports": [port(1, "b"), port(3, "b")]}}),
                ),
                merge(
                    "captains/hook?fieldManager=a",
                    json!({"spec": {"ports": []}}),
                ),
            ],
        ),
    ]
}

fn builtin() -> Vec<Case> {
    let config = |manager: &str, data: Value| apply("configmaps/a", manager, map("a", data));
    let account = |manager: &str, field: &str, value: Value| {
        let mut object =
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}});
        object[field] = value;
        apply("serviceaccounts/a", manager, object)
    };
    let deployment = |manager: &str, replicas: Value, containers: Value| {
        let labels = json!({"app": "a"});
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {
                "replicas": replicas, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
        });
        force("deployments/a", manager, object).with_defaults()
    };
    let selecting = |app: &str| {
        let labels = json!({"app": app});
        json!({"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}})
    };
    let container = |image: &str, env: Value, ports: Value| json!({"name": "main", "image": image, "env": env, "ports": ports});
    let env = |name: &str, value: &str| json!({"name": name, "value": value});
    vec![
        case("apply config maps", [
            config("a", json!({"x": "1", "y": "2"})),
            config("b", json!({"z": "3"})),
            config("a", json!({"x": "1"})),
            config("b", json!({"x": "2"})),
            apply("configmaps/a", "a", json!({"apiVersion": "v1", "kind": "ConfigMap"})),
        ]),
        case("apply service accounts", [
            account("a", "secrets", json!([{"name": "x"}, {"name": "y"}])),
            account("b", "secrets", json!([{"name": "z"}])),
            account("a", "secrets", json!([{"name": "y"}])),
            account("a", "imagePullSecrets", json!([{"name": "x"}])),
            account("b", "imagePullSecrets", json!([{"name": "y"}])),
        ]),
        case("apply deployments", [
            deployment("a", json!(1), json!([container("i:1", json!([env("A", "1"), env("B", "2")]), json!([{"containerPort": 80, "protocol": "TCP"}]))])),
            deployment("a", json!(2), json!([container("i:2", json!([env("B", "2")]), json!([{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81, "protocol": "TCP"}]))])),
            deployment("b", json!(2), json!([{"name": "main", "env": [env("C", "3")]}, {"name": "side", "image": "s:1"}])),
            deployment("a", json!(2), json!([container("i:2", json!([]), json!([]))])),
            merge("deployments/a", json!({"metadata": {"annotations": {"a": "b"}}})).with_defaults(),
            merge("deployments/a", json!({"metadata": {"labels": {"a": "b"}}})).with_defaults(),
            merge("deployments/a", selecting("b")),
            merge("deployments/a", selecting("a")).with_defaults(),
            merge("deployments/a/status", json!({"metadata": {"labels": {"c": "d"}}, "status": {"observedGeneration": 1, "replicas": 2}})).with_defaults(),
            delete("deployments/a", Value::Null),
        ]),
    ]
}
