//! Requests to kbr's own API server as administrator, without a process for each.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use rustls::crypto::ring;
use serde_json::Value;
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

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
        let read = |name: &str| {
            let path = setup.folder.join(name);
            regular::read(&path).with_context(|| format!("cannot read `{}`", path.display()))
        };
        let ca = Certificate::from_pem(&read("ca.crt")?)?;
        let certificate = Certificate::from_pem(&read("admin.crt")?)?;
        let key = PrivateKey::from_pem(&read("admin.key")?)?;
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
        Ok(Self {
            agent: config.build().into(),
            server: setup.server(),
        })
    }

    /// The body of the answer to a GET of `path`. The body of a watch ends when the API server closes it.
    ///
    /// # Errors
    /// The API server does not answer, or the status is not 200.
    pub fn get(&self, path: &str) -> anyhow::Result<impl Read + Send + use<>> {
        let answer = self.agent.get(format!("{}{path}", self.server)).call()?;
        if answer.status() != 200 {
            bail!("HTTP status {}", answer.status());
        }
        Ok(answer.into_body().into_reader())
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
        let query = "fieldManager=kbr&force=true&fieldValidation=Strict";
        let answer = self
            .agent
            .patch(format!("{}{path}?{query}", self.server))
            .content_type("application/apply-patch+yaml")
            .send(object.to_string())?;
        if answer.status().is_success() {
            return Ok(());
        }
        let status = answer.status();
        let body = answer.into_body().read_to_string().unwrap_or_default();
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        match body["message"].as_str() {
            Some(message) => bail!("{message}"),
            None => bail!("HTTP status {status}"),
        }
    }
}
