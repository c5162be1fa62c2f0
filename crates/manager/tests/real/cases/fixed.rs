//! What cannot be changed of Kubernetes' own kinds.

use super::*;

fn pod(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": image}]},
    })
}

fn job(suspend: bool) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"},
        "spec": {"suspend": suspend, "template": pod("a:1")},
    })
}

fn set() -> Value {
    let mut template = pod("a:1");
    template["spec"]["restartPolicy"] = json!("Always");
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"},
        "spec": {"serviceName": "a", "selector": {"matchLabels": {"app": "a"}}, "template": template},
    })
}

fn binding() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "a"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
        "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "default"}],
    })
}

/// Each spec is changed by these patches, one after the other.
fn changed(name: &'static str, short: &str, object: Value, patches: &[Value]) -> Case {
    let plural = short.split('/').next().unwrap_or_default();
    let first = post(plural, object).with_defaults();
    let patches = patches
        .iter()
        .map(|patch| merge(short, patch.clone()).with_defaults());
    case(name, [first].into_iter().chain(patches).collect::<Vec<_>>())
}

/// Objects that do not select their Pods, or have none.
fn lacking() -> Case {
    let with = |kind: &str, selector: Value, template: Value| {
        let object = json!({
            "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "b"},
            "spec": {"selector": selector, "template": template},
        });
        post(&format!("{}s", kind.to_lowercase()), object)
    };
    let other = || json!({"matchLabels": {"app": "b"}});
    let kinds = ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];
    let steps = kinds.map(|kind| {
        let mut template = pod("a:1");
        template["spec"]["restartPolicy"] = json!("Always");
        [
            with(kind, json!({}), template.clone()),
            with(kind, Value::Null, template.clone()),
            with(kind, other(), template),
            with(kind, other(), json!({"metadata": {"labels": {"app": "b"}}})),
        ]
    });
    case(
        "a selector without its Pods",
        steps.into_iter().flatten().collect::<Vec<_>>(),
    )
}

pub fn cases() -> Vec<Case> {
    let image = |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": image}]}}}});
    vec![
        lacking(),
        changed(
            "the template of a Job",
            "jobs/a",
            job(false),
            &[
                image("a:2"),
                json!({"spec": {"completionMode": "Indexed"}}),
                json!({"spec": {"parallelism": 2}}),
                json!({"metadata": {"labels": {"a": "b"}}}),
            ],
        ),
        changed(
            "the template of a Job that has not started",
            "jobs/a",
            job(true),
            &[json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}})],
        ),
        changed(
            "the spec of a StatefulSet",
            "statefulsets/a",
            set(),
            &[
                image("a:2"),
                json!({"spec": {"replicas": 3}}),
                json!({"spec": {"serviceName": "b"}}),
                json!({"spec": {"podManagementPolicy": "Parallel"}}),
                json!({"spec": {"minReadySeconds": 3}}),
            ],
        ),
        changed(
            "the role of a RoleBinding",
            "rolebindings/a",
            binding(),
            &[json!({"roleRef": {"name": "b"}}), json!({"subjects": null})],
        ),
        changed(
            "the type of a Secret",
            "secrets/a",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "type": "example.com/a"}),
            &[
                json!({"type": "example.com/b"}),
                json!({"data": {"a": "YQ=="}}),
            ],
        ),
        changed(
            "the data of an immutable ConfigMap",
            "configmaps/a",
            map("a", json!({"a": "b"})),
            &[
                json!({"immutable": true}),
                json!({"data": {"a": "c"}}),
                json!({"data": {"b": "c"}}),
                json!({"metadata": {"labels": {"a": "b"}}}),
                json!({"immutable": false}),
                json!({"immutable": null}),
            ],
        ),
    ]
}
