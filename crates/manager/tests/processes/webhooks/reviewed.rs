//! Test webhooks for subresources and connections, and several for one kind.

use hyper::Method;
use kbr_testing::eventually;
use serde_json::{Value, json};

use super::{
    guests::configuration,
    site::{GUESTS, MUTATING, NAMESPACE, Site, VALIDATING, guest},
    tests::{JSON, MERGE, refused},
};
use crate::{replica::LONG, world::World};

/// A configuration with one more webhook.
fn with(mut configuration: Value, path: &str, port: u16, rule: &Value) -> Value {
    let webhook = json!({
        "name": format!("{}.hotel.example.com", path.trim_start_matches('/')),
        "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
        "clientConfig": { "url": format!("https://127.0.0.1:{port}{path}") },
        "rules": [rule],
    });
    if let Some(webhooks) = configuration["webhooks"].as_array_mut() {
        webhooks.push(webhook);
    }
    configuration
}

/// The status of a rejected request.
async fn rejected(site: &Site, method: Method, path: &str, body: &Value) -> anyhow::Result<Value> {
    let media_type = if method == Method::PATCH { MERGE } else { JSON };
    refused(site.call(method, path, media_type, body)).await
}

fn rule(group: &str, version: &str, resource: &str, operation: &str) -> Value {
    json!({
        "apiGroups": [group], "apiVersions": [version], "resources": [resource],
        "operations": [operation],
    })
}

pub async fn subresources_connections_and_a_second_validator_are_served(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    site.start(1).await?;
    site.admitting().await?;
    let port = site.spread.port;
    let exec = rule("", "v1", "pods/exec", "CONNECT");
    let validating = with(configuration(false, port), "/review", port, &exec);
    let nights = rule("hotel.example.com", "v2", "guests", "CREATE");
    let validating = with(validating, "/check-nights", port, &nights);
    site.apply(VALIDATING, &validating).await?;
    let scale = rule("apps", "v1", "deployments/scale", "UPDATE");
    let mutating = with(configuration(true, port), "/review", port, &scale);
    site.apply(MUTATING, &mutating).await?;

    let exec = format!("/api/v1/namespaces/{NAMESPACE}/pods/web/exec?command=");
    let shell = format!("{exec}sh");
    eventually(LONG, "a shell is rejected", async || {
        let status = rejected(&site, Method::POST, &shell, &Value::Null).await?;
        let message = status["message"].as_str().unwrap_or_default().to_owned();
        anyhow::ensure!(message.ends_with("no shell in `web`"), "{status}");
        Ok(Some(()))
    })
    .await?;
    // It is allowed, but the Pod does not exist.
    let status = rejected(&site, Method::POST, &format!("{exec}ls"), &Value::Null).await?;
    anyhow::ensure!(status["code"] == 404, "{status}");

    let deployments = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments");
    let labels = json!({ "app": "web" });
    let containers = json!([{ "name": "web", "image": "web" }]);
    let template =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": containers } });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": { "selector": { "matchLabels": labels }, "template": template },
    });
    site.create(&deployments, &deployment).await?;
    let replicas = json!({ "spec": { "replicas": 50 } });
    let path = format!("{deployments}/web/scale");
    eventually(LONG, "the replicas are limited", async || {
        let scaled = site.call(Method::PATCH, &path, MERGE, &replicas).await?;
        anyhow::ensure!(scaled["spec"]["replicas"] == 10, "{scaled}");
        Ok(Some(()))
    })
    .await?;

    let unlucky = guest("unlucky", &json!({ "first": "a", "nights": 13 }));
    for (query, end) in [
        ("", "13 nights"),
        ("?dryRun=All", "13 nights, even in a dry run"),
    ] {
        let path = format!("{GUESTS}{query}");
        let status = rejected(&site, Method::POST, &path, &unlucky).await?;
        let message = status["message"].as_str().unwrap_or_default();
        anyhow::ensure!(message.ends_with(end), "{status}");
    }
    let bad = guest("invalid", &json!({ "first": "a", "nights": 0 }));
    let status = rejected(&site, Method::POST, GUESTS, &bad).await?;
    anyhow::ensure!(status["code"] == 422, "the first validator: {status}");

    site.deploy("v2").await?;
    let web = format!("{deployments}/web");
    site.call(Method::DELETE, &web, JSON, &Value::Null).await?;
    Ok("rejected a shell, limited a scale, asked two validators".to_owned())
}
