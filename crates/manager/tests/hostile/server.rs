//! A webhook server in this process, and its client.

use std::{net::SocketAddr, time::Duration};

use kbr_testing::{FakeApi, eventually};
use manager::{Manager, Options};
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::{net::TcpStream, sync::oneshot};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::tls;

pub struct Server {
    address: SocketAddr,
    connector: TlsConnector,
    _stop: oneshot::Sender<()>,
    _folder: tempfile::TempDir,
}

impl Server {
    /// Serves the webhooks that `register` registers, over TLS, until it is dropped.
    pub fn start(register: impl FnOnce(&mut Manager)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(folder.path().join("tls.crt"), made.cert.pem()).unwrap();
        std::fs::write(
            folder.path().join("tls.key"),
            made.signing_key.serialize_pem(),
        )
        .unwrap();
        let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let mut options = Options::default();
        options.health_probe_bind_address = "0".parse().unwrap();
        options.webhook_host = Some("127.0.0.1".to_owned());
        options.webhook_port = address.port();
        options.webhook_cert_path = Some(folder.path().to_owned());
        options.shutdown_delay = Duration::ZERO;
        let mut manager = FakeApi::new().manager_with(options);
        register(&mut manager);
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            manager.run_until(stopped).await.unwrap();
        });
        let connector = tls::connector([made.cert.der().clone()]).unwrap();
        Self {
            address,
            connector,
            _stop: stop,
            _folder: folder,
        }
    }

    pub async fn connect(&self) -> anyhow::Result<TlsStream<TcpStream>> {
        let within = Duration::from_secs(60);
        let stream = eventually(within, "it listens", async || {
            Ok(Some(TcpStream::connect(self.address).await?))
        });
        let name = ServerName::try_from("localhost")?;
        Ok(self.connector.connect(name, stream.await?).await?)
    }

    /// Sends a request, and returns status and body.
    pub async fn send(&self, head: &str, body: &[u8]) -> anyhow::Result<(u16, String)> {
        tls::exchange(self.connect().await?, head, body).await
    }

    pub async fn post(&self, path: &str, body: &[u8]) -> (u16, Value) {
        let head = format!("POST {path} HTTP/1.1\r\ncontent-type: application/json\r\n");
        let (status, body) = self.send(&head, body).await.unwrap();
        (status, serde_json::from_str(&body).unwrap_or_default())
    }
}
