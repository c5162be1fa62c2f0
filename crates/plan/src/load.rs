//! A clone -> objects in the etcd of an API server, which serves them as the cluster did: with their uids, owners, managed fields and
//! status, and even in deletion. No request to an API server could create them so.

use std::collections::{BTreeSet, HashMap, HashSet};

use kbr_envtest::control_plane::ControlPlane;
use kbr_envtest::crds;
use serde_json::{Value, json};

use super::cloned::{Cloned, Kind};
use super::discovery::{self, list, objects, text};

/// How many objects are named that are not served as they were.
const MOST: usize = 5;

/// Puts the objects of the clone into etcd, and waits until they are served. Returns those that the API server does not serve as they were
/// read, a sentence each.
///
/// # Errors
/// A server does not answer, or refuses.
pub fn load(plane: &ControlPlane, cloned: &Cloned) -> anyhow::Result<Vec<String>> {
    let etcd = plane.etcd()?;
    let custom = custom(cloned);
    let kinds = || cloned.kinds.iter().filter(|it| !is_webhooks(it));
    let entries = kinds().flat_map(|kind| {
        let folder = folder(&kind.group, &kind.plural, &custom);
        let objects = kind
            .objects
            .iter()
            .filter(|it| !is_of_server(&kind.plural, it));
        objects.map(move |object| {
            (
                key(&folder, object),
                stored(kind, object).to_string().into_bytes(),
            )
        })
    });
    etcd.put(entries)?;
    // kube-controller-manager's collector would take an owner for deleted that was not cloned.
    plane.collect_garbage(elsewhere(cloned))?;
    crds::wait(plane, definitions(cloned))?;
    let client = plane.client()?;
    let get = |path: &str| Ok(serde_json::from_reader(client.get(path)?)?);
    let mut lost = Vec::new();
    for kind in kinds().filter(|it| !is_definitions(it)) {
        let path = discovery::path(&kind.group, &kind.version, &kind.plural, "");
        let served = match objects(&get, &path, "") {
            Ok(served) => served,
            Err(error) => {
                lost.push(format!(
                    "all objects of the kind `{}`: {error:#}",
                    kind.kind
                ));
                continue;
            }
        };
        let served: HashMap<(&str, &str), &Value> =
            served.iter().map(|it| (name(it), it)).collect();
        for object in kind
            .objects
            .iter()
            .filter(|it| !is_of_server(&kind.plural, it))
        {
            let (namespace, name) = name(object);
            let is_equal = served
                .get(&(namespace, name))
                .is_some_and(|it| is_same(it, object));
            if !is_equal {
                lost.push(format!(
                    "the {} `{}`",
                    kind.kind,
                    full_name(namespace, name)
                ));
            }
        }
    }
    if let Some(more @ 1..) = lost.len().checked_sub(MOST) {
        lost.truncate(MOST);
        lost.push(format!("and {more} more"));
    }
    Ok(lost)
}

/// The uids of owners that are not among the objects of the clone.
fn elsewhere(cloned: &Cloned) -> HashSet<String> {
    let objects = || cloned.kinds.iter().flat_map(|it| &it.objects);
    let known: HashSet<&str> = objects().map(|it| text(&it["metadata"]["uid"])).collect();
    let owners = objects().flat_map(|it| list(&it["metadata"]["ownerReferences"]));
    owners
        .map(|it| text(&it["uid"]))
        .filter(|it| !known.contains(it))
        .map(str::to_owned)
        .collect()
}

/// The CRDs of a clone.
pub fn definitions(cloned: &Cloned) -> &[Value] {
    let found = cloned.kinds.iter().find(|it| is_definitions(it));
    found.map_or(&[], |it| &it.objects)
}

fn is_definitions(kind: &Kind) -> bool {
    kind.group == "apiextensions.k8s.io" && kind.plural == "customresourcedefinitions"
}

/// Webhooks of other programs do not run here, so these objects are not loaded.
fn is_webhooks(kind: &Kind) -> bool {
    kind.group == "admissionregistration.k8s.io" && kind.plural.ends_with("webhookconfigurations")
}

/// The groups and plurals of the custom kinds.
pub fn custom(cloned: &Cloned) -> BTreeSet<(String, String)> {
    let names = definitions(cloned).iter().map(|it| {
        let spec = &it["spec"];
        (
            text(&spec["group"]).to_owned(),
            text(&spec["names"]["plural"]).to_owned(),
        )
    });
    names.collect()
}

/// What the API server makes for itself, of the kind with this plural: its own Service, its CAs, its default roles.
pub fn is_of_server(plural: &str, object: &Value) -> bool {
    let (namespace, name) = name(object);
    let is_default = object["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults";
    let is_api =
        namespace == "default" && (name == "kubernetes" || name.starts_with("kubernetes-"));
    let is_ca = (namespace, name) == ("kube-system", "extension-apiserver-authentication");
    is_default
        || is_ca && plural == "configmaps"
        || is_api && ["services", "endpoints", "endpointslices"].contains(&plural)
}

/// As it is stored. CRDs have no conversion until a release runs that serves it.
fn stored(kind: &Kind, object: &Value) -> Value {
    let mut object = without_version(object);
    if is_definitions(kind) {
        object["spec"]["conversion"] = json!({ "strategy": "None" });
    }
    object
}

/// Where etcd has the objects of a kind.
/// Source: the storage of each kind in `k8s.io/kubernetes/pkg/registry`, and `k8s.io/kubernetes/pkg/kubeapiserver/default_storage_factory_builder.go`.
pub fn folder(group: &str, plural: &str, custom: &BTreeSet<(String, String)>) -> String {
    let is_custom = custom.contains(&(group.to_owned(), plural.to_owned()));
    match (group, plural) {
        ("", "services") => "services/specs".to_owned(),
        ("", "endpoints") => "services/endpoints".to_owned(),
        ("", "nodes") => "minions".to_owned(),
        ("", "replicationcontrollers") => "controllers".to_owned(),
        ("networking.k8s.io", "ingresses") => "ingress".to_owned(),
        ("apiextensions.k8s.io" | "apiregistration.k8s.io", plural) => format!("{group}/{plural}"),
        (group, plural) if is_custom => format!("{group}/{plural}"),
        (_, plural) => plural.to_owned(),
    }
}

fn key(folder: &str, object: &Value) -> String {
    let (namespace, name) = name(object);
    format!("{folder}/{}", full_name(namespace, name))
}

/// `navy/nemo`, or `nemo` without a namespace.
pub fn full_name(namespace: &str, name: &str) -> String {
    match namespace {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

fn name(object: &Value) -> (&str, &str) {
    let meta = &object["metadata"];
    (text(&meta["namespace"]), text(&meta["name"]))
}

fn is_same(served: &Value, cloned: &Value) -> bool {
    without_version(served) == without_version(cloned)
}

/// The number of its version is that of the entry in etcd.
fn without_version(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(meta) = object["metadata"].as_object_mut() {
        meta.remove("resourceVersion");
        meta.remove("selfLink");
    }
    object
}

/// Whether a key of etcd is that of an Event, a Lease, or an object that the API server writes for itself.
pub fn is_noise(key: &str) -> bool {
    let noise = [
        "leases",
        "events",
        "masterleases",
        "ranges",
        "ipaddresses",
        "servicecidrs",
        "apiserver.k8s.io",
        "peerserverleases",
    ];
    noise.contains(&key.split('/').next().unwrap_or_default())
}
