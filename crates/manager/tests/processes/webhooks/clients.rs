//! Test webhooks that require the client certificate of the API server.

use std::{fs, path::Path};

use anyhow::{Context as _, ensure};
use hyper::Method;
use kbr_testing::eventually;
use serde_json::{Value, json};

use super::{
    caller::Caller,
    hostile::{conversion, review},
    site::{GUESTS, MUTATING, Site, VALIDATING, guest},
    tests::{JSON, refused},
};
use crate::{certificates, replica::LONG, world::World};

const VALIDATE: &str = "/validate-hotel-example-com-v2-guest";

/// What the API server says about HTTP 401.
const CREDENTIALS: &str = "the server has asked for the client to provide credentials";

/// Writes the configuration with which the API server presents a certificate to webhooks; returns its flag.
fn admission_control(folder: &Path) -> anyhow::Result<String> {
    let kubeconfig = folder.join("webhooks.kubeconfig");
    let user = json!({ "name": "*", "user": {
        "client-certificate": folder.join("caller.crt"), "client-key": folder.join("caller.key"),
    } });
    let config = json!({ "apiVersion": "v1", "kind": "Config", "users": [user] });
    fs::write(&kubeconfig, config.to_string())?;
    let plugins = ["ValidatingAdmissionWebhook", "MutatingAdmissionWebhook"].map(|name| {
        json!({ "name": name, "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": kubeconfig,
        } })
    });
    let control = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins,
    });
    let file = folder.join("admission-control.json");
    fs::write(&file, control.to_string())?;
    Ok(format!(
        "--admission-control-config-file={}",
        file.display()
    ))
}

pub async fn only_the_certificate_of_the_api_server_admits_objects(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    for path in [MUTATING, VALIDATING] {
        site.call(Method::DELETE, path, JSON, &Value::Null).await?;
    }
    let ada = guest("ada", &json!({ "first": "Ada", "last": "Lovelace" }));
    eventually(LONG, "a guest is stored", async || {
        site.create(GUESTS, &ada).await.map(Some)
    })
    .await?;
    site.deploy("v2").await?;
    let folder = world.plane.folder.clone();
    let authority = certificates::client(&folder, "caller")?;
    let flag = format!("--webhook-client-ca={}", authority.display());
    site.replicas.push(site.spawn_with(&[&flag])?);
    site.ready().await?;

    admission_needs_a_certificate(&site).await?;
    conversion_needs_none(&site).await?;
    let flag = admission_control(&folder)?;
    world.plane.stop_api_server()?;
    world.plane.start_api_server_with(&[&flag]).await?;
    let admitted = site.admitting().await;
    world.plane.stop_api_server()?;
    world.plane.start_api_server().await?;
    admitted.context("with a certificate of the API server")?;
    admission_needs_a_certificate(&site).await?;
    for path in [MUTATING, VALIDATING] {
        site.call(Method::DELETE, path, JSON, &Value::Null).await?;
    }
    let path = format!("{GUESTS}/ada");
    eventually(LONG, "the guest is deleted", async || {
        let deleted = site.call(Method::DELETE, &path, JSON, &Value::Null).await;
        Ok(Some(deleted?))
    })
    .await?;
    Ok("admission with a certificate alone, conversion without".to_owned())
}

/// Checks that the API server without a certificate gets HTTP 401, and so does any other client.
async fn admission_needs_a_certificate(site: &Site) -> anyhow::Result<()> {
    let path = format!("{GUESTS}?dryRun=All");
    let object = guest("b", &json!({ "first": "b" }));
    eventually(LONG, "the webhook asks for a certificate", async || {
        let status = refused(site.call(Method::POST, &path, JSON, &object)).await?;
        let message = status["message"].as_str().unwrap_or_default().to_owned();
        ensure!(message.ends_with(CREDENTIALS), "{message}");
        Ok(Some(()))
    })
    .await?;
    let caller = Caller::new(site, &site.replicas[0]).await?;
    let (status, _) = caller
        .post(VALIDATE, review(&object).to_string().as_bytes())
        .await?;
    ensure!(status == 401, "admission without a certificate: {status}");
    Ok(())
}

async fn conversion_needs_none(site: &Site) -> anyhow::Result<()> {
    let path = GUESTS.replace("/v2/", "/v1/") + "/ada";
    // The API server may know the CA for admission and not yet that for conversion.
    let ada = eventually(LONG, "the guest is converted", async || {
        site.get(&path).await.map(Some)
    })
    .await?;
    ensure!(ada["spec"]["name"] == "Ada Lovelace", "{ada}");
    let caller = Caller::new(site, &site.replicas[0]).await?;
    let review = conversion("hotel.example.com/v1", &json!([]));
    let (status, _) = caller
        .post("/convert", review.to_string().as_bytes())
        .await?;
    ensure!(status == 200, "conversion without a certificate: {status}");
    Ok(())
}
