//! Downloads over HTTPS, with a CA of the test.

use std::fs;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::archives::{archive, file_name, serve_index};
use crate::place::{Place, check};
use crate::server::{Server, file, reply};

const NAME: &str = "1.36.4-linux-amd64";

/// A server for the name, and the PEM of its CA.
fn server_for(name: &str) -> (Server, String) {
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let serving = CertificateParams::new([name.to_owned()]).unwrap();
    let serving = serving.signed_by(&key, &ca).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![serving.der().clone()], key)
        .unwrap();
    (Server::with_tls(Arc::new(config)), ca.pem())
}

#[test]
fn https_trusts_the_cas_of_the_system_and_no_other() {
    for (name, trusted) in [
        ("127.0.0.1", true),
        ("127.0.0.1", false),
        ("other.example", true),
    ] {
        let (server, ca) = server_for(name);
        let (_, other_ca) = server_for(name);
        let bytes = archive(NAME);
        let half = bytes.len() / 2;
        serve_index(&server, &[(NAME, &bytes)]);
        server.serve(
            &format!("/{}", file_name(NAME)),
            move |number, start| match number {
                0 => file(&bytes, start).cut(half),
                _ => file(&bytes, start),
            },
        );
        let place = Place::new();
        fs::write(place.path("ca.crt"), if trusted { ca } else { other_ca }).unwrap();
        let index = server.url("/index.yaml");
        let words = format!("use -p path --os linux --arch amd64 --index {index}");
        let mut kbr = place.kbr(&words);
        kbr.env("SSL_CERT_FILE", place.path("ca.crt"));
        let output = kbr.output().unwrap();
        if trusted && name == "127.0.0.1" {
            let folder = place.path("store/k8s").join(NAME);
            check(&output, 0, &folder.display().to_string());
            place.assert_complete(NAME);
        } else {
            let stderr = check(&output, 2, "");
            assert!(stderr.contains("certificate"), "{stderr}");
            assert!(server.requests().is_empty());
        }
    }
}

#[test]
fn https_does_not_redirect_to_http() {
    let (server, ca) = server_for("127.0.0.1");
    let plain = Server::new();
    plain.serve_file("/index.yaml", b"releases: {}");
    let location = format!(
        "Location: {}\r\nContent-Length: 0\r\n",
        plain.url("/index.yaml")
    );
    server.serve("/index.yaml", move |_, _| {
        reply("302 Found", &location, b"")
    });
    let place = Place::new();
    fs::write(place.path("ca.crt"), ca).unwrap();
    let index = server.url("/index.yaml");
    let mut kbr = place.kbr(&format!("list --index {index}"));
    kbr.env("SSL_CERT_FILE", place.path("ca.crt"));
    let stderr = check(&kbr.output().unwrap(), 2, "");
    assert!(stderr.contains("cannot get `https://"), "{stderr}");
    assert!(plain.requests().is_empty());
}
