//! What a plan reads by the roles in a file, and an operator that has its permissions from its group, and a variable from a `ConfigMap`.

use std::fs;

use serde_json::{Value, json};

use crate::cluster::{Cluster, named, named_in};
use crate::release::Release;

/// Release 1, whose Deployment leaves it to a `ConfigMap` which release it is, and whose role is bound to all accounts of the namespace.
fn configured(cluster: &Cluster) -> Release {
    let today = Release::of_captains("1");
    let mut objects = today.objects();
    for object in &mut objects {
        match object["kind"].as_str().unwrap() {
            "Deployment" => {
                let container = &mut object["spec"]["template"]["spec"]["containers"][0];
                container.as_object_mut().unwrap().remove("env");
                container["envFrom"] =
                    json!([{ "prefix": "REL", "configMapRef": { "name": "settings" } }]);
            }
            "ClusterRoleBinding" => {
                let group = "system:serviceaccounts:crew-system";
                object["subjects"] = json!([{ "kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": group }]);
            }
            _ => {}
        }
    }
    let install = cluster.folder.path().join("configured.yaml");
    let text = objects.iter().map(|it| format!("---\n{it}\n"));
    fs::write(&install, text.collect::<String>()).unwrap();
    Release {
        program: today.program.clone(),
        install,
    }
}

#[test]
fn roles_in_a_file_say_what_is_read_and_the_operator_has_the_variables_of_its_config_map() {
    let cluster = Cluster::shared();
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "settings", "namespace": "crew-system" }, "data": { "EASE": "2" },
    });
    cluster.apply(&[settings]).unwrap();
    let next = configured(cluster);
    let all_of = |group: &str, resource: &str| json!([{ "apiGroups": [group], "resources": [resource], "verbs": ["*"] }]);
    let roles = json!({ "kind": "List", "items": [
        { "kind": "ClusterRole", "metadata": { "name": "reader" }, "rules": all_of("crew.example.com", "captains") },
        { "kind": "Role", "metadata": { "name": "reader", "namespace": "crew-system" }, "rules": all_of("", "configmaps") },
    ] });
    let file = cluster.folder.path().join("roles.json");
    fs::write(&file, roles.to_string()).unwrap();

    let flags = ["--role", file.to_str().unwrap()];
    let (code, plan) = cluster.plan(&flags, Release::of_captains("1"), &next);
    assert_eq!(plan["next"]["failed"], Value::Null, "{plan:#}");
    assert_eq!(plan["next"]["denied"], json!([]), "{plan:#}");
    // Of the ConfigMaps, only those of the operator's namespace were read.
    let drift = ["created ConfigMap navy/same"].map(str::to_owned);
    assert_eq!(named_in(&plan["drift"]), drift.into(), "{plan:#}");
    let changes = ["status of 1 Captain"].map(str::to_owned);
    assert_eq!(named(&plan), changes.into(), "{plan:#}");
    assert_eq!(code, 2, "{plan:#}");
}
