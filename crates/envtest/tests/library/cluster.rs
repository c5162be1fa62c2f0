//! Whole clusters.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;

use kbr_envtest::Envtest;

use super::processes::{CLUSTER, servers, wait_until};

#[test]
fn a_deployment_becomes_available_in_a_cluster() {
    let env = Envtest::builder().nodes(2).start().unwrap();
    let kubectl = |args: &[&str]| {
        let output = env.kubectl().args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    kubectl(&["create", "deployment", "web", "--image=web", "--replicas=3"]);
    let available = ["--for=condition=Available", "--timeout=120s"];
    kubectl(&[&["wait", "deployment/web"], &available[..]].concat());
    let nodes = kubectl(&["get", "pods", "-o=jsonpath={.items[*].spec.nodeName}"]);
    let nodes: BTreeSet<&str> = nodes.split_whitespace().collect();
    assert_eq!(nodes, BTreeSet::from(["node-0", "node-1"]));

    let folder = env.kubeconfig().parent().unwrap().to_owned();
    assert_eq!(servers(&folder), CLUSTER);
    drop(env);
    assert_eq!(servers(&folder), [""; 0]);
    assert!(!folder.exists());
}

/// A Service, and a webhook for a kind that it serves.
fn webhook(service: &str, kind: &str) -> [String; 2] {
    let service_object = format!(
        r#"{{
  "apiVersion": "v1", "kind": "Service",
  "metadata": {{ "name": "{service}", "namespace": "default" }},
  "spec": {{ "ports": [{{ "port": 443 }}] }}
}}"#
    );
    let configuration = format!(
        r#"{{
  "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
  "metadata": {{ "name": "{service}" }},
  "webhooks": [{{
    "name": "{service}.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
    "clientConfig": {{ "service": {{ "name": "{service}", "namespace": "default" }} }},
    "rules": [{{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["{kind}"] }}]
  }}]
}}"#
    );
    [service_object, configuration]
}

#[test]
fn webhooks_reach_the_services_that_are_mapped_and_no_others() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // A program that keeps what it receives first, and closes the connection.
    let (sender, greetings) = mpsc::channel();
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut bytes = [0; 1024];
            let length = connection.read(&mut bytes).unwrap_or(0);
            let _ = sender.send(String::from_utf8_lossy(&bytes[..length]).into_owned());
        }
    });
    let builder = Envtest::builder().map_service("default", "mapped", port);
    let env = builder.start().unwrap();
    let objects = [webhook("mapped", "configmaps"), webhook("other", "secrets")].concat();
    let mut apply = env.kubectl();
    let mut apply = apply
        .args(["apply", "-f-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let text = objects.join("\n---\n");
    apply
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    assert!(apply.wait().unwrap().success());
    let error = |kind: &str| {
        let create = ["create", kind, "--dry-run=server", "generic", "a"];
        let create = create
            .iter()
            .filter(|word| kind == "secret" || **word != "generic");
        let output = env.kubectl().args(create).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    wait_until("the mapped program is called", || {
        error("configmap");
        greetings
            .try_iter()
            .any(|it| it.contains("mapped.default.svc"))
    });
    wait_until("the other Service is not reached", || {
        let how = "(`map_service` of `Envtest::builder()`)";
        error("secret").contains(&format!(
            "default/other is not mapped to a port of this machine {how}"
        ))
    });
}
