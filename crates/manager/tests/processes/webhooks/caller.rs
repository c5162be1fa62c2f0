//! Calls a replica over TLS like the API server, but with arbitrary requests.

use k8s_openapi::ByteString;
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::site::{Guests, SECRET, Site};
use crate::tls;

pub const JSON: &str = "application/json";

/// A client that calls a replica like the API server.
pub struct Caller {
    port: u16,
    connector: TlsConnector,
}

impl Caller {
    pub async fn new(site: &Site, replica: &Guests) -> anyhow::Result<Self> {
        let secret = site.get(SECRET).await?;
        let authority: ByteString = serde_json::from_value(secret["data"]["ca.crt"].clone())?;
        let authority = CertificateDer::from_pem_slice(&authority.0)?;
        Ok(Self {
            port: replica.port,
            connector: tls::connector([authority])?,
        })
    }

    /// Posts a review, with the time limit of the API server for conversion; returns the status and, if it is JSON, the
    /// body.
    pub async fn post(&self, path: &str, body: &[u8]) -> anyhow::Result<(u16, Value)> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let name = ServerName::try_from("127.0.0.1")?;
        let stream = self.connector.connect(name, stream).await?;
        let head = format!("POST {path}?timeout=30s HTTP/1.1\r\ncontent-type: {JSON}\r\n");
        let (status, body) = tls::exchange(stream, &head, body).await?;
        Ok((status, serde_json::from_str(&body).unwrap_or_default()))
    }
}
