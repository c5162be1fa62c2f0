//! TLS certificates of servers: from files, which are read again when they change, or generated in memory.

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

/// How often the files are checked. Polling, because a mounted Secret is a chain of symbolic links that is replaced as
/// a whole, which file notifications often miss.
pub(super) const POLL: Duration = Duration::from_secs(10);

/// A certificate and its key in two files, as a Secret of type `kubernetes.io/tls` mounts them.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// The content of the two files.
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

    /// Loads the certificate, and keeps the returned value up to date until it is dropped.
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
        // A file may be half-written or missing for a moment: the next tick checks again.
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

/// The TLS configuration for a certificate and its key. Fails unless they belong together.
pub(crate) fn from_pem(certificate: &[u8], key: &[u8]) -> anyhow::Result<Arc<ServerConfig>> {
    let chain = CertificateDer::pem_slice_iter(certificate);
    let chain = chain
        .collect::<Result<Vec<_>, _>>()
        .context("no certificate in PEM")?;
    let key = PrivateKeyDer::from_pem_slice(key).context("no private key in PEM")?;
    config(chain, key)
}

/// A certificate that lasts as long as the process, for the usual names of a scrape target.
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
    // Set the provider explicitly, so that a dependency with another one cannot break it.
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    // HTTP/2 is disabled: see CVE-2023-44487, "rapid reset".
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
        task::JoinHandle,
        time::timeout,
    };
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::servers::http::{Reply, Server, bind};

    type Made = rcgen::CertifiedKey<rcgen::KeyPair>;

    fn make() -> Made {
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap()
    }

    /// Replaces the files like kubelet: swaps a link to a directory.
    fn store(directory: &Path, number: usize, made: &Made) {
        let folder = directory.join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
        std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
        let link = directory.join("next");
        std::os::unix::fs::symlink(folder, &link).unwrap();
        std::fs::rename(link, directory.join("data")).unwrap();
    }

    /// A client that trusts only these CAs.
    fn trusting(made: &[Made]) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        for made in made {
            roots.add(made.cert.der().clone()).unwrap();
        }
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Arc::new(config)
    }

    type Stream = tokio_rustls::client::TlsStream<TcpStream>;

    async fn connect(address: SocketAddr, config: &Arc<ClientConfig>) -> std::io::Result<Stream> {
        let tcp = TcpStream::connect(address).await?;
        let connector = tokio_rustls::TlsConnector::from(config.clone());
        let name = ServerName::try_from("localhost").unwrap();
        connector.connect(name, tcp).await
    }

    /// Sends one request, whose response is four bytes long.
    async fn ask(stream: &mut Stream) -> std::io::Result<()> {
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .await?;
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\nwell") {
            text.push(stream.read_u8().await?);
        }
        Ok(())
    }

    /// Sends requests again and again; one client keeps its connection, the others open one for each request.
    async fn load(
        keep: bool,
        address: SocketAddr,
        config: Arc<ClientConfig>,
        done: CancellationToken,
    ) -> std::io::Result<usize> {
        let (mut answered, mut stream) = (0, connect(address, &config).await?);
        while !done.is_cancelled() {
            if !keep {
                stream = connect(address, &config).await?;
            }
            ask(&mut stream).await?;
            answered += 1;
        }
        Ok(answered)
    }

    async fn serve(directory: &Path, stop: CancellationToken) -> (SocketAddr, JoinHandle<()>) {
        let files = Files::new(&directory.join("data"), "tls.crt", "tls.key");
        let metrics = CertificateMetrics::default();
        let tls = files.watch_every(Duration::from_millis(10), &metrics);
        let listener = bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server {
            listener,
            tls: Some(tls.unwrap()),
            handler: Arc::new(|_| {
                Box::pin(async { Reply::text(200.try_into().unwrap(), "well".to_owned()).into() })
            }),
        };
        (address, tokio::spawn(server.run(stop)))
    }

    #[tokio::test]
    async fn a_certificate_is_renewed_twenty_times_under_load_and_no_request_fails() {
        let directory = tempfile::tempdir().unwrap();
        let made: Vec<_> = (0..21).map(|_| make()).collect();
        store(directory.path(), 0, &made[0]);
        let stop = CancellationToken::new();
        let (address, serving) = serve(directory.path(), stop.clone()).await;
        // A client that connects and sends nothing blocks no others.
        let idle = TcpStream::connect(address).await.unwrap();
        let done = CancellationToken::new();
        let clients = [true, false, false].map(|keep| {
            let config = trusting(&made);
            tokio::spawn(load(keep, address, config, done.clone()))
        });
        for (number, renewed) in made.chunks(1).enumerate().skip(1) {
            store(directory.path(), number, &renewed[0]);
            let only_new = trusting(renewed);
            let served = async {
                while connect(address, &only_new).await.is_err() {
                    tokio::task::yield_now().await;
                }
            };
            let served = timeout(Duration::from_secs(60), served).await;
            served.expect("the renewed certificate is served");
        }
        done.cancel();
        for client in clients {
            assert!(client.await.unwrap().expect("no request fails") > 0);
        }
        let old = connect(address, &trusting(&made[..20])).await;
        assert!(old.is_err(), "an old certificate is served");
        drop(idle);
        stop.cancel();
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn a_self_signed_certificate_can_be_created() {
        let config = self_signed().unwrap();
        assert_eq!(config.borrow().alpn_protocols, [b"http/1.1".to_vec()]);
    }

    #[tokio::test]
    async fn a_missing_or_invalid_certificate_file_is_named() {
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
