//! The CA of client certificates, from a file that is read again when it changes.

use std::{
    future::pending,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use tokio::{
    sync::watch,
    time::{Interval, interval},
};

use super::tls::POLL;

/// The certificates of CAs, and what checks those of clients against them.
#[derive(Debug)]
pub(crate) struct ClientCa {
    file: PathBuf,
    pem: Vec<u8>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl ClientCa {
    pub(crate) fn load(file: &Path) -> anyhow::Result<Self> {
        let place = || format!("`{}`", file.display());
        let pem = std::fs::read(file).with_context(|| format!("cannot read {}", place()))?;
        let verifier = verifier(&pem).with_context(|| format!("in {}", place()))?;
        Ok(Self {
            file: file.to_owned(),
            pem,
            verifier,
        })
    }

    /// The same configurations, each of which also asks clients for a certificate. A client may have none, but one that
    /// is not of this CA ends its connection. Keeps the returned value up to date until it is dropped.
    pub(crate) fn ask(
        self,
        certificate: watch::Receiver<Arc<ServerConfig>>,
    ) -> anyhow::Result<watch::Receiver<Arc<ServerConfig>>> {
        self.ask_every(interval(POLL), certificate)
    }

    fn ask_every(
        mut self,
        mut tick: Interval,
        mut certificate: watch::Receiver<Arc<ServerConfig>>,
    ) -> anyhow::Result<watch::Receiver<Arc<ServerConfig>>> {
        let first = self.asking(&certificate.borrow_and_update())?;
        let (sender, receiver) = watch::channel(first);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = sender.closed() => return,
                    () = changed(&mut certificate) => {}
                    _ = tick.tick() => if !self.reload() {
                        continue;
                    },
                }
                match self.asking(&certificate.borrow_and_update()) {
                    Ok(config) => drop(sender.send_replace(config)),
                    Err(error) => tracing::warn!(%error, "cannot serve a new certificate"),
                }
            }
        });
        Ok(receiver)
    }

    /// Reads the file again. False if it has not changed, or cannot be used: it may be half-written for a moment.
    fn reload(&mut self) -> bool {
        let file = self.file.display();
        let Ok(pem) = std::fs::read(&self.file) else {
            return false;
        };
        if pem == self.pem {
            return false;
        }
        match verifier(&pem) {
            Ok(verifier) => {
                tracing::info!(%file, "reloaded the CA of clients");
                (self.pem, self.verifier) = (pem, verifier);
                true
            }
            Err(error) => {
                tracing::warn!(%error, %file, "cannot reload the CA of clients");
                false
            }
        }
    }

    fn asking(&self, certificate: &ServerConfig) -> anyhow::Result<Arc<ServerConfig>> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(self.verifier.clone())
            .with_cert_resolver(certificate.cert_resolver.clone());
        config
            .alpn_protocols
            .clone_from(&certificate.alpn_protocols);
        Ok(Arc::new(config))
    }
}

/// Waits for another certificate; for ever, if there will be none.
async fn changed(certificate: &mut watch::Receiver<Arc<ServerConfig>>) {
    if certificate.changed().await.is_err() {
        pending::<()>().await;
    }
}

fn verifier(pem: &[u8]) -> anyhow::Result<Arc<dyn ClientCertVerifier>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.context("no certificate in PEM")?;
        roots
            .add(certificate)
            .context("not the certificate of a CA")?;
    }
    anyhow::ensure!(!roots.is_empty(), "no certificate in PEM");
    let provider = Arc::new(ring::default_provider());
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    Ok(builder.allow_unauthenticated().build()?)
}

#[cfg(test)]
mod tests;
