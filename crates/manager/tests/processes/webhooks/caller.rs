//! Who calls a replica over TLS as the API server does, and says what that would not.

use std::sync::Arc;

use anyhow::Context as _;
use k8s_openapi::ByteString;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::site::{Guests, SECRET, Site};

pub const JSON: &str = "application/json";

/// Who calls a replica as the API server does.
pub struct Caller {
    port: u16,
    connector: TlsConnector,
}

impl Caller {
    pub async fn new(site: &Site, replica: &Guests) -> anyhow::Result<Self> {
        let secret = site.get(SECRET).await?;
        let authority: ByteString = serde_json::from_value(secret["data"]["ca.crt"].clone())?;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&authority.0)?)?;
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            port: replica.port,
            connector: Arc::new(config).into(),
        })
    }

    /// Posts a review; returns the status and, if it is JSON, the body.
    pub async fn post(&self, path: &str, body: &[u8]) -> anyhow::Result<(u16, Value)> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let name = ServerName::try_from("127.0.0.1")?;
        let mut stream = self.connector.connect(name, stream).await?;
        let head = format!(
            "POST {path}?timeout=10s HTTP/1.1\r\nhost: x\r\ncontent-type: {JSON}\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        // Who has too much to say is not listened to until the end.
        let _ = stream.write_all(body).await;
        let _ = stream.flush().await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8(answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        let status = head.split(' ').nth(1).context("no status")?.parse()?;
        Ok((status, serde_json::from_str(body).unwrap_or_default()))
    }
}
