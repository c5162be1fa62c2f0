//! Test objects that were stored when the schema accepted more than the type does now.

use anyhow::{Context as _, ensure};
use hyper::Method;
use kbr_testing::eventually;
use serde_json::{Value, json};

use super::{
    guests::{configuration, crd},
    site::{CRD, GUESTS, MUTATING, NAMESPACE, Site, VALIDATING, guest},
    tests::{JSON, MERGE, refused},
};
use crate::{replica::LONG, world::World};

/// The CRD before the type: it stores any spec, and has no conversion.
fn loose(site: &Site) -> anyhow::Result<Value> {
    let mut crd = crd("v2", site.spread.port)?;
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        version["schema"]["openAPIV3Schema"]["properties"]["spec"] =
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    }
    crd["spec"]["conversion"] = json!({ "strategy": "None" });
    Ok(crd)
}

/// The CRD of the type: it drops fields that a version lacks.
fn strict(site: &Site) -> anyhow::Result<Value> {
    let mut crd = crd("v2", site.spread.port)?;
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        let spec = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let spec = spec.as_object_mut().context("a schema")?;
        spec.remove("x-kubernetes-preserve-unknown-fields");
    }
    Ok(crd)
}

fn at(version: &str, name: &str) -> String {
    format!("/apis/hotel.example.com/{version}/namespaces/{NAMESPACE}/guests/{name}")
}

/// A spec that `v2` cannot read, and that `v1` has no fields for.
fn spec() -> Value {
    json!({ "first": 5, "last": "Lovelace", "nights": 2 })
}

const BROKEN: [&str; 4] = ["repaired", "untouched", "deleted", "finalized"];

/// Removes the CRD and all objects.
pub async fn remove(site: &Site) -> anyhow::Result<()> {
    site.call(Method::DELETE, CRD, JSON, &Value::Null).await?;
    eventually(LONG, "the CRD is gone", async || {
        Ok(site.get(CRD).await.is_err().then_some(()))
    })
    .await
}

/// Stores the objects, and then deploys the CRD of the type and the webhooks.
async fn store(site: &Site) -> anyhow::Result<()> {
    for path in [MUTATING, VALIDATING] {
        site.call(Method::DELETE, path, JSON, &Value::Null).await?;
    }
    remove(site).await?;
    site.apply(CRD, &loose(site)?).await?;
    for name in BROKEN {
        let mut object = guest(name, &spec());
        if name == "finalized" {
            object["metadata"]["finalizers"] = json!(["hotel.example.com/bill"]);
        }
        eventually(LONG, "a guest of any shape is stored", async || {
            let stored = site.create(GUESTS, &object).await?;
            Ok((stored["spec"] == spec()).then_some(()))
        })
        .await?;
    }
    site.create(GUESTS, &guest("good", &json!({ "first": "Ada" })))
        .await?;
    site.apply(CRD, &strict(site)?).await?;
    for (path, mutating) in [(MUTATING, true), (VALIDATING, false)] {
        site.apply(path, &configuration(mutating, site.spread.port))
            .await?;
    }
    Ok(())
}

pub async fn unreadable_objects_can_be_listed_repaired_and_deleted(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    store(&site).await?;
    site.start(1).await?;
    site.admitting().await?;
    for version in ["v1", "v2", "v3"] {
        let path = at(version, "");
        let all = eventually(LONG, "a LIST succeeds", async || {
            site.get(path.trim_end_matches('/')).await.map(Some)
        });
        let all = all.await.with_context(|| format!("in {version}"))?;
        let names: Vec<_> = all["items"].as_array().into_iter().flatten().collect();
        ensure!(names.len() == 5, "{version}: {all}");
    }
    let good = site.get(&at("v1", "good")).await?;
    ensure!(good["spec"] == json!({ "name": "Ada" }), "{good}");
    labels_change_nothing_else(&site).await?;
    repair(&site).await?;
    delete(&site).await?;
    let log = site.replicas[0].log();
    for part in [
        "\"guests-system\"",
        "\"deleted\"",
        "spec.first: invalid type",
    ] {
        ensure!(log.contains(part), "{part} is not in the log:\n{log}");
    }
    // Restore the initial state for the other tests.
    remove(&site).await?;
    site.deploy("v2").await?;
    Ok(format!("{} objects beside a good one", BROKEN.len()))
}

/// Labels an object in the version in which it is stored.
async fn labels_change_nothing_else(site: &Site) -> anyhow::Result<()> {
    let path = at("v2", "deleted");
    let label = json!({ "metadata": { "labels": { "a": "" } } });
    site.call(Method::PATCH, &path, MERGE, &label).await?;
    let after = site.get(&path).await?;
    ensure!(after["spec"] == spec(), "{after}");
    ensure!(after["metadata"]["labels"] == json!({ "a": "" }), "{after}");
    Ok(())
}

async fn repair(site: &Site) -> anyhow::Result<()> {
    let path = at("v2", "repaired");
    let still = json!({ "spec": { "last": 6 } });
    refused(site.call(Method::PATCH, &path, MERGE, &still)).await?;
    let rejected = json!({ "spec": { "first": "" } });
    let status = refused(site.call(Method::PATCH, &path, MERGE, &rejected)).await?;
    let field = &status["details"]["causes"][0]["field"];
    ensure!(field == "spec.first", "it is validated: {status}");
    let change = json!({ "spec": { "first": "Ada" } });
    let repaired = site.call(Method::PATCH, &path, MERGE, &change).await?;
    ensure!(repaired["spec"]["first"] == "Ada", "{repaired}");
    Ok(())
}

async fn delete(site: &Site) -> anyhow::Result<()> {
    for name in ["deleted", "finalized"] {
        let path = at("v2", name);
        site.call(Method::DELETE, &path, JSON, &Value::Null).await?;
    }
    let release = json!({ "metadata": { "finalizers": null } });
    site.call(Method::PATCH, &at("v1", "finalized"), MERGE, &release)
        .await?;
    let left = site.get(GUESTS).await?;
    let left = left["items"].as_array().map_or(0, Vec::len);
    ensure!(left == 3, "{left} guests are left");
    Ok(())
}

/// Writes what release 0.2.0 kept in an annotation, with a spec of the stored version.
pub async fn an_annotation_of_a_tenant_does_not_change_what_is_stored(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    site.deploy("v1").await?;
    site.start(1).await?;
    site.admitting().await?;
    let ada = json!({ "first": "Ada", "last": "Lovelace" });
    let made = site.create(GUESTS, &guest("forger", &ada)).await?;
    let meta = &made["metadata"];
    let forged = json!({
        "apiVersion": "hotel.example.com/v1", "uid": meta["uid"], "generation": meta["generation"],
        "fields": { "spec": { "name": "Eve" } },
    });
    let annotation = json!({ "metadata": { "annotations": {
        "hotel.example.com/unconverted": forged.to_string(),
    } } });
    site.call(Method::PATCH, &at("v2", "forger"), MERGE, &annotation)
        .await?;
    let stored = site.get(&at("v1", "forger")).await?;
    ensure!(stored["spec"]["name"] == "Ada Lovelace", "{stored}");
    site.call(Method::DELETE, &at("v2", "forger"), JSON, &Value::Null)
        .await?;
    site.deploy("v2").await?;
    Ok("annotated through v2, stored as v1".to_owned())
}
