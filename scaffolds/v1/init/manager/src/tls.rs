//! Certificates of servers: from files, which are read again when they change, or made in memory.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::{sync::watch, time::interval};

use crate::metrics::CertificateMetrics;

/// How often the files are looked at. Polling, because a mounted Secret is a chain of symbolic links that is
/// replaced as a whole, which file notifications often miss.
const POLL: Duration = Duration::from_secs(10);

/// A certificate and its key in two files, as a Secret of type `kubernetes.io/tls` mounts them.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// What was read from the two.
#[derive(PartialEq, Eq)]
struct Pem {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Files {
    /// The two files in this directory.
    pub(crate) fn new(directory: &Path, certificate: &str, key: &str) -> Self {
        Self {
            certificate: directory.join(certificate),
            key: directory.join(key),
        }
    }

    /// Loads the certificate, and keeps what is returned up to date for as long as it lives.
    pub(crate) fn watch(
        self,
        metrics: &CertificateMetrics,
    ) -> anyhow::Result<watch::Receiver<Arc<ServerConfig>>> {
        self.watch_every(POLL, metrics)
    }

    fn watch_every(
        self,
        period: Duration,
        metrics: &CertificateMetrics,
    ) -> anyhow::Result<watch::Receiver<Arc<ServerConfig>>> {
        let metrics = metrics.clone();
        let pem = self.read(&metrics)?;
        let config = pem
            .config()
            .with_context(|| format!("in `{}`", self.certificate.display()))?;
        let (sender, receiver) = watch::channel(config);
        tokio::spawn(async move {
            let mut tick = interval(period);
            let mut served = pem;
            loop {
                tokio::select! {
                    () = sender.closed() => return,
                    _ = tick.tick() => self.reload(&mut served, &sender, &metrics),
                }
            }
        });
        Ok(receiver)
    }

    fn reload(
        &self,
        served: &mut Pem,
        sender: &watch::Sender<Arc<ServerConfig>>,
        metrics: &CertificateMetrics,
    ) {
        let file = self.certificate.display();
        // Half-written, or not there for a moment: the next tick looks again.
        let Ok(pem) = self.read(metrics) else {
            return;
        };
        if pem == *served {
            return;
        }
        match pem.config() {
            Ok(config) => {
                tracing::info!(%file, "reloaded certificate");
                sender.send_replace(config);
                *served = pem;
            }
            Err(error) => {
                metrics.errors.inc();
                tracing::warn!(%error, %file, "cannot reload certificate");
            }
        }
    }

    fn read(&self, metrics: &CertificateMetrics) -> anyhow::Result<Pem> {
        metrics.reads.inc();
        self.read_files().inspect_err(|_| {
            metrics.errors.inc();
        })
    }

    fn read_files(&self) -> anyhow::Result<Pem> {
        let read = |path: &Path| {
            std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))
        };
        Ok(Pem {
            certificate: read(&self.certificate)?,
            key: read(&self.key)?,
        })
    }
}

impl Pem {
    fn config(&self) -> anyhow::Result<Arc<ServerConfig>> {
        from_pem(&self.certificate, &self.key)
    }
}

/// What a server needs of a certificate and its key. Fails unless they belong together.
pub(crate) fn from_pem(certificate: &[u8], key: &[u8]) -> anyhow::Result<Arc<ServerConfig>> {
    let chain = CertificateDer::pem_slice_iter(certificate);
    let chain = chain
        .collect::<Result<Vec<_>, _>>()
        .context("no certificate in PEM")?;
    let key = PrivateKeyDer::from_pem_slice(key).context("no private key in PEM")?;
    config(chain, key)
}

/// A certificate that lasts as long as the process, for the names that a scraper may call it by.
pub(crate) fn self_signed() -> anyhow::Result<watch::Receiver<Arc<ServerConfig>>> {
    let mut names = vec!["localhost".to_owned()];
    names.extend(
        hostname::get()
            .ok()
            .and_then(|name| name.into_string().ok()),
    );
    let made = rcgen::generate_simple_self_signed(names)?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der());
    let key = key.map_err(|error| anyhow::anyhow!("cannot make a private key: {error}"))?;
    let config = config(vec![made.cert.der().clone()], key)?;
    Ok(watch::channel(config).1)
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> anyhow::Result<Arc<ServerConfig>> {
    // The provider is named, so that a dependency that brings another one cannot break it.
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    // HTTP/2 is left out on purpose: see CVE-2023-44487, "rapid reset".
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
        time::timeout,
    };
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::server::{Reply, Server, bind};

    fn write(directory: &Path) -> rcgen::Certificate {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(directory.join("tls.crt"), made.cert.pem()).unwrap();
        std::fs::write(directory.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
        made.cert
    }

    /// The status line that a client gets who trusts `root` and nothing else.
    async fn get(address: SocketAddr, root: &rcgen::Certificate) -> std::io::Result<String> {
        let mut roots = RootCertStore::empty();
        roots.add(root.der().clone()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let tcp = TcpStream::connect(address).await?;
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = connector.connect(name, tcp).await?;
        let request = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    #[tokio::test]
    async fn a_renewed_certificate_is_served_and_an_idle_client_holds_up_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let old = write(directory.path());
        let files = Files::new(directory.path(), "tls.crt", "tls.key");
        let listener = bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server {
            listener,
            tls: Some(
                files
                    .watch_every(Duration::from_millis(10), &CertificateMetrics::default())
                    .unwrap(),
            ),
            handler: Arc::new(|_| {
                Box::pin(async { Reply::text(200.try_into().unwrap(), String::new()) })
            }),
        };
        let stop = CancellationToken::new();
        let serving = tokio::spawn(server.run(stop.clone()));
        let idle = TcpStream::connect(address).await.unwrap();
        assert_eq!(get(address, &old).await.unwrap(), "HTTP/1.1 200 OK");

        let new = write(directory.path());
        let renewed = async {
            while get(address, &new).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        let renewed = timeout(Duration::from_secs(10), renewed).await;
        renewed.expect("the renewed certificate is served");
        assert!(get(address, &old).await.is_err());
        drop(idle);
        stop.cancel();
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn a_certificate_is_made_when_there_is_none() {
        let config = self_signed().unwrap();
        assert_eq!(config.borrow().alpn_protocols, [b"http/1.1".to_vec()]);
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_or_no_certificate_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::new(directory.path(), "tls.crt", "tls.key");
        let error = format!(
            "{:#}",
            files
                .clone()
                .watch(&CertificateMetrics::default())
                .unwrap_err()
        );
        assert!(
            error.contains("cannot read") && error.contains("tls.crt"),
            "{error}"
        );
        for file in ["tls.crt", "tls.key"] {
            std::fs::write(directory.path().join(file), "nonsense").unwrap();
        }
        let error = format!(
            "{:#}",
            files.watch(&CertificateMetrics::default()).unwrap_err()
        );
        assert!(
            error.contains("tls.crt") && error.contains("PEM"),
            "{error}"
        );
    }
}
