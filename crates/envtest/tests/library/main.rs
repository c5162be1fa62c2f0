//! The library in the tests of another project: real servers, and this file's own tests as the processes that are killed.

mod cluster;
mod garbage;
mod killed;
mod processes;

use std::fs;
use std::process::Command;

use kbr_envtest::Envtest;
use tempfile::TempDir;

use self::processes::{CONTROL_PLANE, process, servers};

const CRD: &str = r#"{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": { "name": "boats.example.com" },
  "spec": {
    "group": "example.com", "scope": "Cluster", "names": { "kind": "Boat", "plural": "boats" },
    "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }]
  }
}"#;

fn folder_with_a_crd() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("boats.json"), CRD).unwrap();
    folder
}

#[test]
fn the_kubeconfig_works_and_the_crds_are_served_until_it_is_dropped() {
    let crds = folder_with_a_crd();
    let env = Envtest::builder().crds(crds.path()).start().unwrap();
    let boats = env.kubectl().args(["get", "boats"]).output().unwrap();
    assert!(boats.status.success(), "{boats:?}");
    let mut kubectl = Command::new(env.kubectl().get_program());
    let get = ["get", "--raw", "/api/v1/namespaces/default", "--kubeconfig"];
    let namespace = kubectl
        .args(get)
        .arg(env.kubeconfig())
        .env("NO_PROXY", "127.0.0.1")
        .output();
    assert!(namespace.unwrap().status.success());
    assert_eq!(
        fs::read_to_string(env.kubeconfig()).unwrap(),
        env.kubeconfig_text()
    );
    assert!(env.kubeconfig_text().contains(&env.url()));

    let folder = env.kubeconfig().parent().unwrap().to_owned();
    assert_eq!(servers(&folder), CONTROL_PLANE);
    drop(env);
    assert_eq!(servers(&folder), [""; 0]);
    assert!(!folder.exists());
}

#[test]
fn one_api_server_can_be_shared_by_the_tests_of_a_program() {
    fn shared<T: Send + Sync>() {}
    shared::<Envtest>();
}

#[test]
fn an_error_says_how_to_install_the_programs() {
    let store = tempfile::tempdir().unwrap();
    let mut process = process(store.path().to_str().unwrap());
    let output = process.env_remove("KUBEBUILDER_ASSETS").output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.contains("run kbr envtest build, or kbr envtest use"),
        "{output}"
    );
}

#[test]
fn a_crd_that_the_api_server_rejects_is_an_error() {
    let folder = folder_with_a_crd();
    fs::write(
        folder.path().join("boats.json"),
        CRD.replace("Cluster", "Sea"),
    )
    .unwrap();
    let error = Envtest::builder().crds(folder.path()).start().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the API server rejects the CRDs"),
        "{error}"
    );
}
