//! The migrated kind in a cluster, in its two versions.

use std::collections::BTreeMap;

use anyhow::Context as _;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kbr_testing::eventually;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::operator::Ship;
use crate::{plane::Plane, replica::LONG};

pub const NAMESPACE: &str = "fleet";
pub const CRD: &str = "ships.fleet.example.com";

fn resource(version: &str) -> ApiResource {
    ApiResource {
        version: version.to_owned(),
        api_version: format!("fleet.example.com/{version}"),
        ..ApiResource::erase::<Ship>(&())
    }
}

pub fn ships(client: &Client, version: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), NAMESPACE, &resource(version))
}

pub fn crds(client: &Client) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: "apiextensions.k8s.io".to_owned(),
        version: "v1".to_owned(),
        api_version: "apiextensions.k8s.io/v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        plural: "customresourcedefinitions".to_owned(),
    };
    Api::all_with(client.clone(), &resource)
}

/// The versions of the CRD, of which `stored` is the one to store.
pub fn versions(names: &[&str], stored: &str) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"count": {"type": "integer"}},
    }}}});
    let version = |name: &&str| json!({"name": name, "served": true, "storage": *name == stored, "schema": schema});
    names.iter().map(version).collect()
}

pub async fn change_versions(client: &Client, versions: Value) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({"spec": {"versions": versions}}));
    crds(client)
        .patch(CRD, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// Installs the CRD, which stores v1, and the permissions of the operator.
pub async fn install(plane: &Plane) -> anyhow::Result<()> {
    // It stays from one test to the next.
    let _ = plane.namespace(NAMESPACE).await;
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD},
        "spec": {
            "group": "fleet.example.com", "scope": "Namespaced",
            "names": {"kind": "Ship", "plural": "ships", "singular": "ship", "listKind": "ShipList"},
            "versions": versions(&["v1", "v2"], "v1"),
        },
    });
    let client = &plane.client;
    crds(client)
        .create(&PostParams::default(), &serde_json::from_value(crd)?)
        .await?;
    let allow = |group: &str, resource: &str, names: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "resourceNames": names, "verbs": verbs});
    let extensions = "apiextensions.k8s.io";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "ships"},
        "rules": [
            allow(extensions, "customresourcedefinitions", &[CRD], &["get"]),
            allow(extensions, "customresourcedefinitions/status", &[CRD], &["patch"]),
            allow("fleet.example.com", "ships", &[], &["list", "patch"]),
            allow("storagemigration.k8s.io", "storageversionmigrations", &[], &["create", "get", "delete"]),
            allow("coordination.k8s.io", "leases", &[], &["get", "create", "update", "patch"]),
        ],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "ships"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "ships"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ships"}],
    });
    for (plural, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let path = format!("/apis/rbac.authorization.k8s.io/v1/{plural}");
        let request = hyper::Request::post(path).header("content-type", "application/json");
        let request = request.body(object.to_string().into_bytes())?;
        client.request::<Value>(request).await?;
    }
    eventually(LONG, "the API server serves ships", async || {
        Ok(ships(client, "v1").get_opt("any").await.map(|_| ()).ok())
    })
    .await
}

/// Removes the CRD with all objects, and the permissions.
pub async fn uninstall(plane: &Plane) -> anyhow::Result<()> {
    let client = &plane.client;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    for path in [
        format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD}"),
        format!("{rbac}/clusterroles/ships"),
        format!("{rbac}/clusterrolebindings/ships"),
    ] {
        let request = hyper::Request::delete(path).body(Vec::new())?;
        client.request::<Value>(request).await?;
    }
    eventually(LONG, "the CRD is gone", async || {
        Ok(crds(client).get_opt(CRD).await?.is_none().then_some(()))
    })
    .await
}

pub fn ship(version: &str, name: &str, count: u64) -> DynamicObject {
    let mut ship = DynamicObject::new(name, &resource(version));
    ship.data = json!({"spec": {"count": count}});
    ship
}

/// How many objects of a resource, `<group>/<plural>`, are stored in each version, as etcd has them.
pub fn stored_as(plane: &Plane, resource: &str) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut found = BTreeMap::new();
    for value in plane.values(&format!("/registry/{resource}/"))? {
        let object: Value = serde_json::from_slice(&value)?;
        let version = object["apiVersion"].as_str().context("a version")?;
        *found.entry(version.to_owned()).or_default() += 1;
    }
    Ok(found)
}

pub fn stored(plane: &Plane) -> anyhow::Result<BTreeMap<String, usize>> {
    stored_as(plane, "fleet.example.com/ships")
}

/// Creates objects in v1, and changes the CRD to store v2.
pub async fn fill(plane: &Plane, names: &[String]) -> anyhow::Result<()> {
    let old = ships(&plane.client, "v1");
    stream::iter(names)
        .map(async |name| {
            old.create(&PostParams::default(), &ship("v1", name, 0))
                .await
        })
        .buffer_unordered(16)
        .try_for_each(async |_| Ok(()))
        .await?;
    anyhow::ensure!(stored(plane)?.get("fleet.example.com/v1") == Some(&names.len()));
    change_versions(&plane.client, versions(&["v1", "v2"], "v2")).await
}
