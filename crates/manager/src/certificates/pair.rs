//! A CA, the serving certificate that it signed, and the certificate's key.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::{
    CertificateError, RootCertStore, ServerConfig,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};

use crate::servers::tls;

/// How long both are valid.
pub(super) const LIFETIME: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// How long before its expiry a certificate is replaced.
pub(super) const MARGIN: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The tolerated difference between clocks.
const SKEW: Duration = Duration::from_secs(60 * 60);

/// All fields are PEM.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) ca: String,
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Pair {
    /// A new pair for these names, valid from `now` on.
    pub(super) fn new(names: &[String], now: SystemTime) -> anyhow::Result<Self> {
        let mut ca = params(Vec::new(), now)?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        // The CAs must differ, because the API server trusts the old and the new one side by side.
        let unique = RandomState::new().hash_one(now);
        let name = format!("webhook-authority-{unique:016x}");
        ca.distinguished_name
            .push(DnType::CommonName, name.as_str());
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;

        let mut server = params(names.to_vec(), now)?;
        server
            .distinguished_name
            .push(DnType::CommonName, "webhook");
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        Ok(Self {
            certificate: server.signed_by(&key, &ca)?.pem(),
            ca: ca.pem(),
            key: key.serialize_pem(),
        })
    }

    /// The TLS configuration of a server. Fails unless certificate and key belong together.
    pub(super) fn config(&self) -> anyhow::Result<Arc<ServerConfig>> {
        tls::from_pem(self.certificate.as_bytes(), self.key.as_bytes())
    }

    /// Whether the certificate is valid for all these names at this time, for clients that trust its CA.
    pub(super) fn serves(&self, names: &[String], at: SystemTime) -> bool {
        self.config().is_ok() && self.verify(names, at).is_some()
    }

    fn verify(&self, names: &[String], at: SystemTime) -> Option<()> {
        let cas = CertificateDer::pem_slice_iter(self.ca.as_bytes());
        let cas = cas.collect::<Result<Vec<_>, _>>().ok()?;
        let mut roots = RootCertStore::empty();
        for root in &cas {
            roots.add(root.clone()).ok()?;
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().ok()?;
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes()).ok()?;
        let at = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let at = UnixTime::since_unix_epoch(at);
        let mut cas = cas.iter();
        if !cas.all(|ca| is_in_time(&verifier, ca, at)) {
            return None;
        }
        names.iter().try_for_each(|name| {
            let name = ServerName::try_from(name.as_str()).ok()?;
            let result = verifier.verify_server_cert(&certificate, &[], &name, &[], at);
            result.ok().map(|_| ())
        })
    }
}

/// Whether a CA is valid at this time. API servers check that, but rustls does not: it trusts a CA forever. Verified as
/// if it were a server's certificate, its validity is checked first, before it is rejected for being a CA.
fn is_in_time(verifier: &WebPkiServerVerifier, ca: &CertificateDer<'_>, at: UnixTime) -> bool {
    let Ok(name) = ServerName::try_from("localhost") else {
        return false;
    };
    let result = verifier.verify_server_cert(ca, &[], &name, &[], at);
    !matches!(
        result,
        Err(rustls::Error::InvalidCertificate(
            CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. }
        ))
    )
}

fn params(names: Vec<String>, now: SystemTime) -> anyhow::Result<CertificateParams> {
    let mut params = CertificateParams::new(names)?;
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let now = now.duration_since(SystemTime::UNIX_EPOCH)?;
    params.not_before = epoch + now.saturating_sub(SKEW);
    params.not_after = epoch + now + LIFETIME;
    params.distinguished_name = DistinguishedName::new();
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_certificate_covers_its_names_until_it_expires() {
        let now = SystemTime::now();
        let own = names(&["a.b.svc", "127.0.0.1", "localhost"]);
        let pair = Pair::new(&own, now).unwrap();
        assert!(pair.serves(&own, now));
        assert!(pair.serves(&own[..1], now + LIFETIME - Duration::from_secs(1)));
        assert!(!pair.serves(&own, now + LIFETIME + Duration::from_secs(1)));
        assert!(!pair.serves(&names(&["c.b.svc"]), now));
        // Clients whose clocks are behind accept it, too.
        let minutes = |count: u64| Duration::from_secs(60 * count);
        assert!(pair.serves(&own, now - minutes(59)));
        assert!(!pair.serves(&own, now - minutes(61)));
    }

    #[test]
    fn each_ca_has_a_unique_name_and_is_not_a_server_certificate() {
        let (now, own) = (SystemTime::now(), names(&["localhost"]));
        let ca = || Pair::new(&own, now).unwrap().ca;
        let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let name = |der: &CertificateDer<'_>| {
            let text = String::from_utf8_lossy(der);
            let at = text.find("webhook-authority-").unwrap();
            text[at..at + 34].to_owned()
        };
        let (one, other) = (ca(), ca());
        assert_ne!(name(&der(&one)), name(&der(&other)));
        // It is not a valid server certificate, because it may sign.
        let mut roots = RootCertStore::empty();
        roots.add(der(&one)).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let (verifier, host) = (verifier.build().unwrap(), "localhost".try_into().unwrap());
        let at = UnixTime::now();
        let refused = verifier.verify_server_cert(&der(&one), &[], &host, &[], at);
        let refused = format!("{:?}", refused.unwrap_err());
        assert!(refused.contains("CaUsedAsEndEntity"), "{refused}");
    }

    #[test]
    fn a_ca_that_is_expired_or_not_yet_valid_is_not_trusted() {
        let (now, own) = (SystemTime::now(), names(&["localhost"]));
        let day = Duration::from_secs(24 * 60 * 60);
        for (from, good) in [
            (now - 91 * day, false),
            (now - 89 * day, true),
            (now + day, false),
        ] {
            let mut ca = params(Vec::new(), from).unwrap();
            ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            let signer = KeyPair::generate().unwrap();
            let ca = CertifiedIssuer::self_signed(ca, signer).unwrap();
            let (server, key) = (
                params(own.clone(), now).unwrap(),
                KeyPair::generate().unwrap(),
            );
            let pair = Pair {
                ca: ca.pem(),
                certificate: server.signed_by(&key, &ca).unwrap().pem(),
                key: key.serialize_pem(),
            };
            assert_eq!(pair.serves(&own, now), good);
        }
    }

    #[test]
    fn a_ca_certificate_and_key_that_do_not_match_are_invalid() {
        let (now, own) = (SystemTime::now(), names(&["localhost"]));
        let (one, other) = (Pair::new(&own, now).unwrap(), Pair::new(&own, now).unwrap());
        let mixed = |change: fn(&mut Pair, &Pair)| {
            let mut pair = one.clone();
            change(&mut pair, &other);
            pair
        };
        for pair in [
            mixed(|pair, other| pair.key.clone_from(&other.key)),
            mixed(|pair, other| pair.ca.clone_from(&other.ca)),
            mixed(|pair, other| pair.certificate.clone_from(&other.certificate)),
            mixed(|pair, _| pair.key.clear()),
            mixed(|pair, _| pair.certificate.truncate(99)),
            mixed(|pair, _| pair.ca = "nonsense".to_owned()),
        ] {
            assert!(!pair.serves(&own, now));
        }
    }
}
