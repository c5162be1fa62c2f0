//! What an operator does once Pods have rolled out, and servers that begin with a clone.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::cluster::{Cluster, named, named_in};
use crate::release::Release;
use crate::support::KBR;

#[test]
fn what_an_operator_does_after_a_rollout_is_told_apart_from_what_it_does_at_once() {
    let cluster = Cluster::of_captains(&["rollout"]);
    let [today, next] = ["1", "2"].map(Release::of_captains);
    let (code, plan) = cluster.plan(&["--rollouts"], today, next);
    // Its CRD has a new required field.
    assert_eq!(code, 3, "{plan:#}");
    assert_eq!(plan["next"]["events"], json!([]), "{plan:#}");
    let at_once = named(&plan);
    assert!(
        at_once.contains("changed Deployment navy/rollout"),
        "{plan:#}"
    );
    assert!(
        !at_once.contains("created ConfigMap navy/rollout-done"),
        "{plan:#}"
    );
    // Neither the Pods nor the status of the Deployment, which follow from its change.
    let later = named_in(&plan["later"]);
    let expected = ["created ConfigMap navy/rollout-done"];
    assert_eq!(later, expected.map(str::to_owned).into(), "{plan:#}");
    assert_eq!(plan["later"]["status"], json!([]));
    // A Deployment that is rolled out already needs no second time.
    assert!(!plan["drift"].to_string().contains("Pod"), "{plan:#}");

    // Without it, the operator waits.
    let (_, plan) = cluster.plan(&[], today, next);
    assert_eq!(named(&plan), at_once, "{plan:#}");
    assert_eq!(plan["later"]["objects"], json!([]), "{plan:#}");
}

/// Deletes a captain, whose children go, too, and a `ConfigMap`, whose owner is not in the clone, stays.
const COLLECTED: &str = r"
kubectl get captains -n navy -o jsonpath='{.items[*].metadata.uid}' > uids
kubectl delete captain same -n navy --wait=false
kubectl wait --for=delete --timeout=60s configmap/same -n navy
kubectl get configmap orphan -n navy
";

#[test]
fn servers_begin_with_the_objects_of_a_clone_and_collect_what_loses_its_owner() {
    let cluster = Cluster::of_captains(&["same", "image"]);
    // The operator may not read it.
    cluster
        .kubectl(&["create", "serviceaccount", "stranger", "--namespace=navy"])
        .unwrap();
    let uid = ["get", "serviceaccount", "stranger", "--namespace=navy"];
    let uid = cluster
        .kubectl(&[&uid[..], &["--output=jsonpath={.metadata.uid}"]].concat())
        .unwrap();
    let owner =
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "name": "stranger", "uid": uid });
    cluster
        .apply(&[json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "orphan", "namespace": "navy", "ownerReferences": [owner] },
        })])
        .unwrap();
    let kbr = |arguments: &[&str]| {
        let mut kbr = Command::new(KBR);
        kbr.args(arguments).current_dir(cluster.folder.path());
        kbr.env("KUBECONFIG", cluster.folder.path().join("kubeconfig"));
        let output = kbr.stdin(Stdio::null()).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let install = &Release::of_captains("1").install;
    kbr(&[
        "clone",
        "--install",
        install.to_str().unwrap(),
        "--output",
        "prod.clone",
    ]);
    let uids = cluster
        .kubectl(&[
            "get",
            "captains",
            "--namespace=navy",
            "--output=jsonpath={.items[*].metadata.uid}",
        ])
        .unwrap();
    for flags in [&[][..], &["--cluster"]] {
        let run = ["envtest", "run", "--clone", "prod.clone"];
        kbr(&[&run[..], flags, &["--", "sh", "-ec", COLLECTED]].concat());
        let served = std::fs::read_to_string(cluster.folder.path().join("uids")).unwrap();
        assert_eq!(served, uids);
    }
}
