//! Garbage collection by an API server alone.

use kbr_envtest::Envtest;
use serde_json::{Value, json};

use super::folder_with_a_crd;

/// Runs kubectl; returns what it prints.
fn kubectl(env: &Envtest, args: &[&str]) -> String {
    let output = env.kubectl().args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Creates an object; returns a reference to it that delays its deletion in the foreground.
fn create(env: &Envtest, folder: &std::path::Path, object: &Value) -> Value {
    let path = folder.join("object.json");
    std::fs::write(&path, object.to_string()).unwrap();
    let created = kubectl(env, &["create", "-ojson", "-f", path.to_str().unwrap()]);
    let created: Value = serde_json::from_str(&created).unwrap();
    json!({
        "apiVersion": created["apiVersion"], "kind": created["kind"], "name": created["metadata"]["name"],
        "uid": created["metadata"]["uid"], "blockOwnerDeletion": true,
    })
}

fn boat(name: &str) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Boat", "metadata": { "name": name } })
}

fn map(name: &str, owners: &[&Value], finalizers: &[&str]) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": name, "namespace": "default", "ownerReferences": owners, "finalizers": finalizers,
    } })
}

#[test]
fn what_loses_its_owners_is_deleted_as_in_a_cluster() {
    let folder = folder_with_a_crd();
    let env = Envtest::builder().crds(folder.path()).start().unwrap();
    let create = |object: &Value| create(&env, folder.path(), object);
    let gone = |name: &str| {
        kubectl(&env, &["wait", "--for=delete", "--timeout=60s", name]);
    };
    let owners = |name: &str| {
        kubectl(
            &env,
            &["get", name, "-ojsonpath={..ownerReferences[*].name}"],
        )
    };

    // In the background: with all owners, and what it owned itself.
    let (a, b) = (create(&boat("a")), create(&boat("b")));
    let child = create(&map("child", &[&a, &b], &[]));
    create(&map("grandchild", &[&child], &[]));
    kubectl(&env, &["delete", "boat", "a"]);
    kubectl(
        &env,
        &[
            "wait",
            "--for=jsonpath={.metadata.ownerReferences[0].name}=b",
            "cm/child",
        ],
    );
    assert_eq!(owners("cm/child"), "b");
    kubectl(&env, &["delete", "boat", "b"]);
    gone("cm/child");
    gone("cm/grandchild");

    // In the foreground: the owner waits for the finalizers of its child.
    let a = create(&boat("a"));
    create(&map("slow", &[&a], &["example.com/f"]));
    kubectl(
        &env,
        &[
            "delete",
            "boat",
            "a",
            "--cascade=foreground",
            "--wait=false",
        ],
    );
    kubectl(
        &env,
        &[
            "wait",
            "--for=jsonpath={.metadata.deletionTimestamp}",
            "cm/slow",
        ],
    );
    assert_eq!(
        kubectl(
            &env,
            &["get", "boat", "a", "-ojsonpath={.metadata.finalizers}"]
        ),
        r#"["foregroundDeletion"]"#
    );
    kubectl(
        &env,
        &[
            "patch",
            "cm",
            "slow",
            "--type=merge",
            r#"-p={"metadata":{"finalizers":null}}"#,
        ],
    );
    gone("boat/a");

    // Orphans stay.
    let a = create(&boat("a"));
    create(&map("orphan", &[&a], &[]));
    kubectl(&env, &["delete", "boat", "a", "--cascade=orphan"]);
    assert_eq!(owners("cm/orphan"), "");

    // An owner of this uid has never existed, or is in another namespace.
    let mut absent = a.clone();
    absent["uid"] = json!("00000000-0000-4000-8000-000000000000");
    create(&map("lost", &[&absent], &[]));
    gone("cm/lost");
    let elsewhere = json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "elsewhere", "namespace": "kube-system" } });
    create(&map("misplaced", &[&create(&elsewhere)], &[]));
    gone("cm/misplaced");
    kubectl(&env, &["get", "cm", "elsewhere", "-nkube-system"]);

    // A kind that was not there when the server started, whose definition goes with its objects.
    let a = create(&boat("a"));
    create(&map("of-a-kind", &[&a], &[]));
    kubectl(&env, &["delete", "crd", "boats.example.com"]);
    gone("cm/of-a-kind");
}
