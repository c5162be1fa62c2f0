//! Clones whose names were replaced.

use std::collections::HashMap;

use serde_json::json;

use super::*;
use crate::cloned::Kind;
use crate::fuzz::{Random, made};

fn kind(group: &str, name: &str, objects: Vec<Value>) -> Kind {
    Kind {
        group: group.to_owned(),
        version: "v1".to_owned(),
        plural: name.to_lowercase() + "s",
        kind: name.to_owned(),
        namespaced: true,
        objects,
    }
}

fn crd() -> Kind {
    let spec = json!({"group": "crew.example.com", "enum": ["captain-mode"],
        "conversion": {"webhook": {"clientConfig": {"service": {"name": "nautilus", "namespace": "acme-prod"}}}}});
    let crd = json!({"metadata": {"name": "captains.crew.example.com"}, "spec": spec});
    kind(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        vec![crd],
    )
}

/// An application of a custom object `nautilus` in the namespace `acme-prod`.
fn clone() -> Cloned {
    let metadata = |name: &str, owner: &str| {
        json!({"name": name, "namespace": "acme-prod", "uid": format!("uid-of-{name}"), "labels": {"crew/captain": "nautilus"},
            "ownerReferences": [{"apiVersion": "crew.example.com/v1", "kind": "Captain", "name": owner, "uid": format!("uid-of-{owner}")}]})
    };
    let captain = json!({"apiVersion": "crew.example.com/v1", "kind": "Captain",
        "metadata": {"name": "nautilus", "namespace": "acme-prod", "uid": "uid-of-nautilus", "finalizers": ["crew.acme.com/a"], "managedFields": [
            {"fieldsV1": {"k:{\"name\":\"nautilus-7d9f8\"}": {}}}]},
        "spec": {"mode": "captain-mode", "url": "https://u:p@api.acme.com:8443/nautilus", "backup": "s3.eu.acme.com"},
        "status": {"message": "Pod nautilus-7d9f8-abcde in acme-prod runs on ip-10-1-2-3.ec2.internal.", "selector": "crew/captain=nautilus"}});
    let pod = json!({"metadata": metadata("nautilus-7d9f8-abcde", "nautilus-7d9f8"), "status": {"podIP": "10.244.3.17"},
        "spec": {"nodeName": "ip-10-1-2-3.ec2.internal", "volumes": [{"secret": {"secretName": "nautilus-credentials"}}],
            "containers": [{"env": [
                {"value": "nautilus.acme-prod.svc.cluster.local:80"}, {"value": "http://nautilus:80/a"}, {"value": "acme-prod/nautilus"},
                {"value": "a,acme-prod"}, {"value": "system:serviceaccount:acme-prod:nautilus"}, {"value": "10.244.0.0/16"},
                {"value": "{\"kind\":\"nautilus\",\"name\":\"nautilus\"}"}, {"value": "nautilus-other"}]}]}});
    let replicas = json!({"metadata": metadata("nautilus-7d9f8", "nautilus"), "spec": {"selector": {"matchLabels": {"crew/captain": "nautilus"}}}});
    let secret = json!({"metadata": {"name": "nautilus-credentials", "namespace": "acme-prod"}, "data": {"a": "nautilus"}});
    let service = json!({"metadata": {"name": "nautilus", "namespace": "acme-prod"}, "spec": {"selector": {"crew/captain": "nautilus"}}});
    let installed = json!({"metadata": {"name": "crew-operator", "namespace": "crew-system"}});
    let crew = json!({"metadata": {"name": "ahab", "namespace": "crew-system"}});
    let node = json!({"metadata": {"name": "ip-10-1-2-3.ec2.internal"}});
    let namespaces = ["default", "kube-system", "acme-prod", "crew-system"];
    let namespaces = namespaces.map(|name| json!({"metadata": {"name": name}}));
    Cloned {
        kinds: vec![
            kind("crew.example.com", "Captain", vec![captain, crew]),
            kind("", "Pod", vec![pod]),
            kind("apps", "ReplicaSet", vec![replicas]),
            kind("", "Secret", vec![secret]),
            kind("", "Service", vec![service]),
            kind("apps", "Deployment", vec![installed]),
            kind("", "Node", vec![node]),
            kind("", "Namespace", namespaces.into()),
            crd(),
        ],
        unread: vec!["`/api/v1/namespaces/acme-prod/pods`: forbidden".to_owned()],
        ..Cloned::default()
    }
}

/// Each string and each key, with its path.
fn strings(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => found.push((path.to_owned(), text.clone())),
        Value::Array(list) => {
            for (at, it) in list.iter().enumerate() {
                strings(it, &format!("{path}/{at}"), found);
            }
        }
        Value::Object(map) => {
            for (key, it) in map {
                strings(it, &format!("{path}/{key}"), found);
            }
        }
        _ => {}
    }
}

fn all(cloned: &Cloned) -> Vec<(String, String)> {
    let mut found = Vec::new();
    strings(&serde_json::to_value(cloned).unwrap(), "", &mut found);
    found
}

#[test]
fn references_still_match_and_nothing_names_what_it_was() {
    let mut cloned = clone();
    let anonymized = anonymize(&mut cloned, "crew-system").unwrap();
    let expected = Anonymized {
        names: 7,
        domains: 1,
        addresses: 2,
    };
    assert_eq!(anonymized, expected);
    let object = |at: usize| &cloned.kinds[at].objects[0];
    let name = |at: usize| object(at)["metadata"]["name"].as_str().unwrap();
    let (captain, pod, replicas) = (name(0), name(1), name(2));
    let namespace = object(0)["metadata"]["namespace"].as_str().unwrap();
    assert_eq!(captain.len(), "nautilus".len());
    assert_ne!((captain, namespace), ("nautilus", "acme-prod"));
    assert_eq!(replicas, format!("{captain}-7d9f8"));
    assert_eq!(pod, format!("{captain}-7d9f8-abcde"));
    assert_eq!(name(3), format!("{captain}-credentials"));
    assert_eq!(
        object(1)["metadata"]["ownerReferences"][0]["name"],
        replicas
    );
    assert_eq!(
        object(1)["metadata"]["ownerReferences"][0]["uid"],
        "uid-of-nautilus-7d9f8"
    );
    assert_eq!(object(2)["metadata"]["labels"]["crew/captain"], captain);
    assert_eq!(
        object(2)["spec"]["selector"]["matchLabels"]["crew/captain"],
        captain
    );
    assert_eq!(object(4)["spec"]["selector"]["crew/captain"], captain);
    assert_eq!(
        object(1)["spec"]["volumes"][0]["secret"]["secretName"],
        name(3)
    );
    assert_eq!(object(1)["spec"]["nodeName"], name(6));
    assert_eq!(
        object(0)["metadata"]["managedFields"][0]["fieldsV1"],
        json!({format!("k:{{\"name\":\"{replicas}\"}}"): {}})
    );
    let service = &object(8)["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
    assert_eq!(*service, json!({"name": captain, "namespace": namespace}));
    assert_eq!(
        object(0)["status"]["selector"],
        format!("crew/captain={captain}")
    );
    assert_eq!(
        object(0)["status"]["message"],
        format!("Pod {pod} in {namespace} runs on {}.", name(6))
    );
    let env = &object(1)["spec"]["containers"][0]["env"];
    let expected = [
        format!("{captain}.{namespace}.svc.cluster.local:80"),
        format!("http://{captain}:80/a"),
        format!("{namespace}/{captain}"),
        format!("a,{namespace}"),
        format!("system:serviceaccount:{namespace}:{captain}"),
    ];
    for (at, expected) in expected.iter().enumerate() {
        assert_eq!(env[at]["value"], *expected);
    }
    assert_eq!(
        env[6]["value"],
        format!("{{\"kind\":\"nautilus\",\"name\":\"{captain}\"}}")
    );
    let network = env[5]["value"]
        .as_str()
        .unwrap()
        .strip_suffix("0.0/16")
        .unwrap();
    let address = object(1)["status"]["podIP"].as_str().unwrap();
    assert!(address.starts_with(network), "{address} {network}");
    assert_eq!(
        cloned.unread[0],
        format!("`/api/v1/namespaces/{namespace}/pods`: forbidden")
    );
    let text = all(&cloned)
        .into_iter()
        .map(|it| it.1)
        .collect::<Vec<_>>()
        .join("\n");
    for gone in ["acme", "10.244.3.17", "ahab", "ip-10-1-2-3", "s3.eu"] {
        assert!(
            !text.replace("crew.acme.com/a", "").contains(gone),
            "{gone} in {text}"
        );
    }
}

#[test]
fn what_the_operator_and_each_cluster_need_stays() {
    let mut cloned = clone();
    anonymize(&mut cloned, "crew-system").unwrap();
    let after = all(&cloned);
    for (path, before) in all(&clone()) {
        let now = after.iter().find(|it| it.0 == path).map(|it| &it.1);
        let is_kept = [
            "/kind",
            "/apiVersion",
            "/group",
            "/uid",
            "/data/a",
            "/mode",
            "/plural",
        ]
        .iter()
        .any(|end| path.ends_with(end));
        let words = [
            "crew-operator",
            "crew-system",
            "default",
            "kube-system",
            "captain-mode",
            "captains.crew.example.com",
            "nautilus-other",
        ];
        if is_kept || words.contains(&before.as_str()) {
            assert_eq!(now, Some(&before), "{path}");
        }
    }
    // Keys stay, apart from those of managed fields.
    let paths = |all: Vec<(String, String)>| all.into_iter().map(|it| it.0).collect::<Vec<_>>();
    assert_eq!(paths(all(&cloned)), paths(all(&clone())));
}

fn word(random: &mut Random) -> String {
    let letter = |_| char::from(b"qxzjkvw"[random.below(7)]);
    (0..9).map(letter).collect()
}

/// Equal strings stay equal, different ones different, and the names are gone.
fn holds(random: &mut Random) -> Result<(), String> {
    let names: Vec<_> = (0..6)
        .map(|at| [word(random), word(random)][..=at % 2].join("-"))
        .collect();
    let one = |random: &mut Random| names[random.below(names.len())].clone();
    let objects = (0..12).map(|_| {
        let [name, namespace, other, space] = [one(random), one(random), one(random), one(random)];
        let owner = one(random);
        json!({"metadata": {"name": format!("{owner}-{name}"), "generateName": format!("{owner}-"), "namespace": namespace, "labels": {"a": other},
                "ownerReferences": [{"name": owner}]},
            "spec": {"ref": other, "host": format!("{other}.{space}.svc"), "refs": [format!("{namespace}/{owner}")]}})
    });
    let mut cloned = Cloned {
        kinds: vec![
            kind("", "Pod", objects.collect()),
            kind(
                "",
                "Namespace",
                names
                    .iter()
                    .map(|name| json!({"metadata": {"name": name}}))
                    .collect(),
            ),
        ],
        ..Cloned::default()
    };
    let before = all(&cloned);
    anonymize(&mut cloned, "operator").map_err(|it| it.to_string())?;
    let after = all(&cloned);
    let (mut forth, mut back) = (HashMap::new(), HashMap::new());
    for ((path, old), (_, new)) in before.iter().zip(&after) {
        if *forth.entry(old).or_insert(new) != new || *back.entry(new).or_insert(old) != old {
            return Err(format!("{path}: {old} -> {new}"));
        }
    }
    let text = serde_json::to_string(&cloned).unwrap();
    match names
        .iter()
        .find(|name| text.contains(&format!("\"{name}\"")))
    {
        Some(name) => Err(format!("{name} is left in {text}")),
        None => Ok(()),
    }
}

#[test]
fn equal_strings_stay_equal_and_different_ones_different() {
    made(100, holds);
}

/// The spec of an object beside this one, after the names were replaced.
fn replaced(object: Value, spec: &Value) -> (Value, Value) {
    let other = json!({"metadata": {"name": "nemo", "namespace": "navy"}, "spec": spec});
    let mut cloned = Cloned {
        kinds: vec![
            kind("", "ConfigMap", vec![object]),
            kind("crew.example.com", "Captain", vec![other]),
            crd(),
        ],
        ..Cloned::default()
    };
    anonymize(&mut cloned, "crew-system").unwrap();
    let mut one = |at: usize| cloned.kinds[at].objects.remove(0);
    (one(0), one(1)["spec"].take())
}

#[test]
fn what_a_custom_object_owns_is_replaced_in_the_namespace_of_the_operator() {
    let object = |version: &str| {
        let owner = json!({"apiVersion": version, "name": "nautilus"});
        json!({"metadata": {"name": "nautilus-one", "namespace": "crew-system", "ownerReferences": [owner]}})
    };
    let (custom, owner) = replaced(object("crew.example.com/v1"), &json!("nautilus"));
    let name = format!("{}-one", owner.as_str().unwrap());
    assert_eq!(custom["metadata"]["name"], name);
    // The owner is not in the clone.
    assert_ne!(owner, "nautilus");
    let (other, _) = replaced(object("apps/v1"), &json!("nautilus"));
    assert_eq!(other["metadata"]["name"], "nautilus-one");
}

#[test]
fn a_group_is_not_a_host_and_a_generated_name_keeps_its_prefix() {
    let object = json!({"metadata": {"name": "nautilus", "namespace": "navy"}});
    let spec = json!({"url": "https://www.example.com", "group": "x", "a": "crew.example.com", "b": "x.crew.example.com:1",
        "metadata": {"generateName": "nautilus-"}, "c": "kubernetes.io", "url2": "http://a.k8s.io"});
    let (object, spec) = replaced(object, &spec);
    let name = object["metadata"]["name"].as_str().unwrap();
    assert_eq!(spec["metadata"]["generateName"], format!("{name}-"));
    assert_eq!(
        [&spec["a"], &spec["c"], &spec["url2"]],
        ["crew.example.com", "kubernetes.io", "http://a.k8s.io"]
    );
    let host = spec["b"].as_str().unwrap();
    assert!(
        !host.contains("example") && host.ends_with(".com:1"),
        "{host}"
    );
}

#[test]
fn a_word_in_a_sentence_or_a_list_is_a_name_and_elsewhere_it_is_not() {
    let object = json!({"metadata": {"name": "nautilus", "namespace": "navy"}});
    let spec = json!([
        "the nautilus.",
        "a,nautilus",
        "--mode=nautilus",
        "image/nautilus",
        "nautilus"
    ]);
    let (object, spec) = replaced(object, &spec);
    let name = object["metadata"]["name"].as_str().unwrap();
    let expected = json!([
        format!("the {name}."),
        format!("a,{name}"),
        "--mode=nautilus",
        "image/nautilus",
        name
    ]);
    assert_eq!(spec, expected);
}
