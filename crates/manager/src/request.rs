//! Untyped requests, for kinds whose types differ between Kubernetes versions.

use hyper::{Method, Request, header};
use kube::Client;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Creates an object at `path`.
pub(crate) async fn post<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    body: &impl Serialize,
) -> kube::Result<T> {
    send(client, Method::POST, path, "application/json", body).await
}

/// Patches the object at `path` with a JSON merge patch.
pub(crate) async fn merge_patch<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    body: &Value,
) -> kube::Result<T> {
    send(
        client,
        Method::PATCH,
        path,
        "application/merge-patch+json",
        body,
    )
    .await
}

/// The object at `path`.
pub(crate) async fn get(client: &Client, path: &str) -> kube::Result<Value> {
    let request = Request::get(path).body(Vec::new());
    client
        .request(request.map_err(kube::Error::HttpError)?)
        .await
}

/// Patches the object at `path` with a JSON patch, as this field manager.
pub(crate) async fn json_patch(
    client: &Client,
    path: &str,
    steps: &Value,
    manager: &str,
) -> kube::Result<Value> {
    let path = format!("{path}?fieldManager={}", escaped(manager));
    let media_type = "application/json-patch+json";
    send(client, Method::PATCH, &path, media_type, steps).await
}

/// Applies the object at `path` as this field manager, by force: takes over fields of other managers.
pub(crate) async fn apply(
    client: &Client,
    path: &str,
    body: &Value,
    manager: &str,
    force: bool,
) -> kube::Result<Value> {
    let manager = escaped(manager);
    let path = format!("{path}?fieldManager={manager}&force={force}");
    let media_type = "application/apply-patch+yaml";
    send(client, Method::PATCH, &path, media_type, body).await
}

/// Escapes the name of a field manager for a query.
fn escaped(manager: &str) -> String {
    manager.replace('/', "%2F")
}

async fn send<T: DeserializeOwned>(
    client: &Client,
    method: Method,
    path: &str,
    media_type: &str,
    body: &impl Serialize,
) -> kube::Result<T> {
    let body = serde_json::to_vec(body).map_err(kube::Error::SerdeError)?;
    let request = Request::builder().method(method).uri(path);
    let request = request.header(header::CONTENT_TYPE, media_type).body(body);
    client
        .request(request.map_err(kube::Error::HttpError)?)
        .await
}
