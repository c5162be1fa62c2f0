//! Test a server that asks clients for certificates.

use std::{net::SocketAddr, time::Duration};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::{
    ClientConfig,
    pki_types::{PrivateKeyDer, ServerName},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::servers::{
    http::{Reply, Server, bind},
    tls,
};

/// A CA, and a certificate of it with its key.
struct Ca {
    pem: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Ca {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &ca).unwrap().der().clone();
        Self {
            pem: ca.pem(),
            certificate,
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        }
    }
}

fn client(
    server: &RootCertStore,
) -> rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(server.clone())
}

/// Asks the server whether it has seen a certificate.
async fn ask(address: SocketAddr, client: &ClientConfig) -> anyhow::Result<String> {
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost")?;
    let connector = TlsConnector::from(Arc::new(client.clone()));
    let mut stream = connector.connect(name, stream).await?;
    let head = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(head).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    Ok(body.to_owned())
}

/// A server that asks for certificates of the CA in this file, and what clients trust.
async fn serve(file: &Path, stop: CancellationToken) -> (SocketAddr, RootCertStore) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let config = tls::from_pem(
        made.cert.pem().as_bytes(),
        made.signing_key.serialize_pem().as_bytes(),
    );
    let (_, certificate) = watch::channel(config.unwrap());
    let tick = interval(Duration::from_millis(10));
    let asking = ClientCa::load(file).unwrap().ask_every(tick, certificate);
    let server = Server {
        listener: bind("127.0.0.1:0").await.unwrap(),
        tls: Some(asking.unwrap()),
        handler: Arc::new(|request| {
            let text = request.has_certificate().to_string();
            Box::pin(async { Reply::text(200.try_into().unwrap(), text).into() })
        }),
    };
    let address = server.listener.local_addr().unwrap();
    tokio::spawn(server.run(stop));
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    (address, roots)
}

#[tokio::test]
async fn a_client_needs_no_certificate_but_one_of_another_ca_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.crt");
    let (mine, others) = (Ca::new(), Ca::new());
    std::fs::write(&file, &mine.pem).unwrap();
    let stop = CancellationToken::new();
    let (address, roots) = serve(&file, stop.clone()).await;
    let trusting = |ca: &Ca| {
        let (chain, key) = (vec![ca.certificate.clone()], ca.key.clone_key());
        client(&roots).with_client_auth_cert(chain, key).unwrap()
    };
    let none = client(&roots).with_no_client_auth();
    assert_eq!(ask(address, &none).await.unwrap(), "false");
    assert_eq!(ask(address, &trusting(&mine)).await.unwrap(), "true");
    assert!(ask(address, &trusting(&others)).await.is_err());

    // A file that is being written is ignored.
    std::fs::write(&file, "nonsense").unwrap();
    assert_eq!(ask(address, &trusting(&mine)).await.unwrap(), "true");
    std::fs::write(&file, &others.pem).unwrap();
    let reloaded = async { while ask(address, &trusting(&others)).await.is_err() {} };
    let reloaded = timeout(Duration::from_secs(60), reloaded).await;
    reloaded.expect("the other CA is trusted");
    assert!(ask(address, &trusting(&mine)).await.is_err());
    stop.cancel();
}

#[tokio::test]
async fn a_file_without_a_ca_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.crt");
    let problem = || format!("{:#}", ClientCa::load(&file).unwrap_err());
    assert!(problem().starts_with("cannot read `"), "{}", problem());
    for text in ["", "nonsense"] {
        std::fs::write(&file, text).unwrap();
        assert!(
            problem().ends_with("ca.crt`: no certificate in PEM"),
            "{}",
            problem()
        );
    }
}
