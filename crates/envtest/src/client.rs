//! Requests to kbr's own API server as administrator, without a process for each.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use rustls::crypto::ring;
use serde_json::Value;
use ureq::http::Response;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};
use ureq::{Agent, Body};

use super::setup::Setup;
use kbr_host::regular;

/// How long the API server may take to accept a connection, and to begin an answer.
const ANSWER: Duration = Duration::from_secs(30);

/// A client with the administrator's certificate.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    server: String,
}

impl Client {
    /// A client for the API server of `setup`.
    pub(super) fn new(setup: &Setup) -> anyhow::Result<Self> {
        Ok(Self {
            agent: agent(setup, "ca", "admin")?,
            server: setup.server(),
        })
    }

    /// The body of the answer to a GET of `path`. The body of a watch ends when the API server closes it.
    ///
    /// # Errors
    /// The API server does not answer, or the status is not 200.
    pub fn get(&self, path: &str) -> anyhow::Result<impl Read + Send + use<>> {
        self.get_as(path, "application/json")
    }

    /// As [`get`](Self::get), in this media type.
    pub(super) fn get_as(
        &self,
        path: &str,
        media_type: &str,
    ) -> anyhow::Result<impl Read + Send + use<>> {
        let get = self.agent.get(format!("{}{path}", self.server));
        let answer = get.header("accept", media_type).call()?;
        if answer.status() != 200 {
            bail!("HTTP status {}", answer.status());
        }
        Ok(answer.into_body().into_reader())
    }

    /// The object or list at `path` in this media type; `None` if it does not exist.
    ///
    /// # Errors
    /// The API server does not answer, or the status is not 200 or 404.
    pub fn find(&self, path: &str, media_type: &str) -> anyhow::Result<Option<Value>> {
        let get = self.agent.get(format!("{}{path}", self.server));
        let answer = get.header("accept", media_type).call()?;
        match answer.status().as_u16() {
            200 => Ok(Some(serde_json::from_reader(
                answer.into_body().into_reader(),
            )?)),
            404 => Ok(None),
            status => bail!("HTTP status {status}"),
        }
    }

    /// The HTTP status of the answer to a GET of `path`.
    ///
    /// # Errors
    /// The API server does not answer.
    pub fn status(&self, path: &str) -> anyhow::Result<u16> {
        let answer = self.agent.get(format!("{}{path}", self.server)).call()?;
        Ok(answer.status().as_u16())
    }

    /// Applies an object at `path` with server-side apply, as `kubectl apply --server-side --force-conflicts` does.
    ///
    /// # Errors
    /// The API server does not answer, or rejects the object; then the error is its message.
    pub fn apply(&self, path: &str, object: &Value) -> anyhow::Result<()> {
        self.apply_as("kbr", path, object)
    }

    /// As [`apply`](Self::apply), as this field manager, whose name is encoded for a URL.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_as(&self, manager: &str, path: &str, object: &Value) -> anyhow::Result<()> {
        let query = format!("fieldManager={manager}&force=true&fieldValidation=Strict");
        self.patch(&format!("{path}?{query}"), "apply-patch+yaml", object)
    }

    /// Creates the object at the collection `path`, or a subresource such as `…/token`. Returns what was created.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn create(&self, path: &str, object: &Value) -> anyhow::Result<Value> {
        let request = self.agent.post(format!("{}{path}", self.server));
        let request = request.content_type("application/json");
        let body = succeeded(request.send(object.to_string())?)?;
        Ok(serde_json::from_str(&body)?)
    }

    /// Patches the object at `path`; `how` is the media type without `application/`.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub(super) fn patch(&self, path: &str, how: &str, change: &Value) -> anyhow::Result<()> {
        let request = self.agent.patch(format!("{}{path}", self.server));
        let request = request.content_type(format!("application/{how}"));
        succeeded(request.send(change.to_string())?).map(drop)
    }

    /// Deletes the object at `path` with these `DeleteOptions`.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn delete(&self, path: &str, options: &Value) -> anyhow::Result<()> {
        let request = self.agent.delete(format!("{}{path}", self.server));
        let request = request.force_send_body().content_type("application/json");
        succeeded(request.send(options.to_string())?).map(drop)
    }
}

/// Connects with the certificate `name` to a server with one of this CA: names of files in the folder of the control plane.
pub(super) fn agent(setup: &Setup, ca: &str, name: &str) -> anyhow::Result<Agent> {
    let read = |name: &str| {
        let path = setup.folder.join(name);
        regular::read(&path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    let ca = Certificate::from_pem(&read(&format!("{ca}.crt"))?)?;
    let certificate = Certificate::from_pem(&read(&format!("{name}.crt"))?)?;
    let key = PrivateKey::from_pem(&read(&format!("{name}.key"))?)?;
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&[ca]))
        .client_cert(Some(ClientCert::new_with_certs(&[certificate], key)))
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .https_only(true)
        .proxy(None)
        .http_status_as_error(false)
        .timeout_connect(Some(ANSWER))
        .timeout_recv_response(Some(ANSWER));
    Ok(config.build().into())
}

/// The error is the API server's message.
pub(super) fn succeeded(answer: Response<Body>) -> anyhow::Result<String> {
    let status = answer.status();
    // All of it, so that the connection is used again.
    let body = answer.into_body().read_to_string().unwrap_or_default();
    if status.is_success() {
        return Ok(body);
    }
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    match body["message"].as_str() {
        Some(message) => bail!("{message}"),
        None => bail!("HTTP status {status}"),
    }
}
