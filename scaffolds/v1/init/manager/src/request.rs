//! Requests by hand, for kinds whose types differ between Kubernetes versions.

use hyper::{Method, Request, header};
use kube::Client;
use serde_json::Value;

/// Creates an object at `path`.
pub(crate) async fn post(client: &Client, path: &str, body: &Value) -> kube::Result<Value> {
    send(client, Method::POST, path, "application/json", body).await
}

/// Changes the object at `path` by a JSON merge patch.
pub(crate) async fn merge_patch(client: &Client, path: &str, body: &Value) -> kube::Result<Value> {
    send(
        client,
        Method::PATCH,
        path,
        "application/merge-patch+json",
        body,
    )
    .await
}

async fn send(
    client: &Client,
    method: Method,
    path: &str,
    media_type: &str,
    body: &Value,
) -> kube::Result<Value> {
    let request = Request::builder().method(method).uri(path);
    let request = request
        .header(header::CONTENT_TYPE, media_type)
        .body(body.to_string().into_bytes());
    client
        .request(request.map_err(kube::Error::HttpError)?)
        .await
}
