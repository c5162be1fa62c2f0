//! Test a storage migration whose objects the operator itself converts.

use anyhow::ensure;
use hyper::Method;
use kbr_testing::eventually;
use serde_json::{Value, json};

use super::{
    site::{CRD, NAMESPACE, RBAC, Site, guest},
    tests::JSON,
    unreadable::remove,
};
use crate::{replica::LONG, storage::stored_as, world::World};

const COUNT: usize = 50;
const RESOURCE: &str = "hotel.example.com/guests";

const ROLES: [(&str, &str); 2] = [
    ("clusterroles", "guests-migration"),
    ("clusterrolebindings", "guests-migration"),
];

/// The permissions of a migration, which `kbr manifests` generates.
async fn allow(site: &Site) -> anyhow::Result<()> {
    let extensions = "apiextensions.k8s.io";
    let name = ROLES[0].1;
    let allow = |group: &str, resource: &str, verbs: &[&str]| json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs });
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": name },
        "rules": [
            allow(extensions, "customresourcedefinitions", &["get"]),
            allow(extensions, "customresourcedefinitions/status", &["patch"]),
            allow("hotel.example.com", "guests", &["list", "patch"]),
        ],
    });
    let account = "guests-controller-manager";
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": NAMESPACE }],
    });
    for ((plural, name), object) in ROLES.into_iter().zip([role, binding]) {
        site.apply(&format!("{RBAC}/{plural}/{name}"), &object)
            .await?;
    }
    Ok(())
}

fn guests(version: &str) -> String {
    format!("/apis/hotel.example.com/{version}/namespaces/{NAMESPACE}/guests")
}

pub async fn stored_objects_are_migrated_by_the_operator_that_converts_them(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    allow(&site).await?;
    site.deploy("v1").await?;
    site.start(1).await?;
    site.admitting().await?;
    let others = stored_as(&world.plane, RESOURCE)?;
    ensure!(others.is_empty(), "another test has left {others:?}");
    for number in 1..=COUNT {
        let guest = guest(
            &format!("g{number}"),
            &json!({ "first": "Ada", "last": "Lovelace", "nights": number }),
        );
        site.create(&guests("v2"), &guest).await?;
    }
    let old = [("hotel.example.com/v1".to_owned(), COUNT)].into();
    eventually(LONG, "all are stored in v1", async || {
        Ok((stored_as(&world.plane, RESOURCE)? == old).then_some(()))
    })
    .await?;

    // The operator before is replaced by one that migrates.
    site.deploy("v2").await?;
    site.replicas.clear();
    site.replicas.push(site.spawn_with(&["--migrate"])?);
    site.ready().await?;
    eventually(LONG, "the CRD lists only v2", async || {
        let crd = site.get(CRD).await?;
        let versions = &crd["status"]["storedVersions"];
        ensure!(*versions == json!(["v2"]), "{versions}");
        Ok(Some(()))
    })
    .await
    .map_err(|error| error.context(site.replicas[0].log()))?;
    let stored = stored_as(&world.plane, RESOURCE)?;
    ensure!(
        stored == [("hotel.example.com/v2".to_owned(), COUNT)].into(),
        "{stored:?}"
    );
    let (old, new) = (
        site.get(&guests("v1")).await?,
        site.get(&guests("v2")).await?,
    );
    for (old, new) in items(&old).zip(items(&new)) {
        let name = &new["metadata"]["name"];
        ensure!(old["spec"]["name"] == "Ada Lovelace", "{name}: {old}");
        let number = name.as_str().and_then(|name| name.strip_prefix('g'));
        let nights: Option<usize> = number.and_then(|number| number.parse().ok());
        ensure!(new["spec"]["nights"] == json!(nights), "{name}: {new}");
    }
    ensure!(items(&new).count() == COUNT, "{new}");

    // Restore the initial state for the other tests.
    for (plural, name) in ROLES {
        let path = format!("{RBAC}/{plural}/{name}");
        site.call(Method::DELETE, &path, JSON, &Value::Null).await?;
    }
    remove(&site).await?;
    site.deploy("v2").await?;
    Ok(format!("{COUNT} objects"))
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}
