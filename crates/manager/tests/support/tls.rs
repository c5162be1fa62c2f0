//! Sends a request over TLS, and reads any response.

use std::sync::Arc;

use anyhow::Context as _;
use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// A connector that trusts these CAs.
pub fn connector(
    authorities: impl IntoIterator<Item = CertificateDer<'static>>,
) -> anyhow::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config).into())
}

/// Sends a request that starts with this head, and returns status and body.
pub async fn exchange(
    mut stream: TlsStream<TcpStream>,
    head: &str,
    body: &[u8],
) -> anyhow::Result<(u16, String)> {
    let length = body.len();
    let head = format!("{head}host: x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    // The server may stop reading a body that is too large.
    let _ = stream.write_all(body).await;
    let _ = stream.flush().await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    Ok((status, body.to_owned()))
}
