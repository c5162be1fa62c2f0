//! Fakes of certificates and private keys that parsers accept: each key pair is replaced by a new one (ECDSA P-256), and a certificate is
//! signed again. Names, validity and extensions of a certificate stay, so what an operator decides about it stays, too.

use std::collections::HashMap;

use rcgen::{KeyPair, PublicKeyData as _, SigningKey as _};
use sha2::{Digest as _, Sha256};

use super::der::{self, Element, tag};

/// `AlgorithmIdentifier` of ecdsa-with-SHA256 (RFC 5758).
const SIGNED_WITH: [u8; 12] = [0x30, 0x0a, 0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
/// The object id of the curve P-256 (RFC 5480).
const CURVE: [u8; 10] = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
/// The object ids of the extensions that are hashes of public keys (RFC 5280).
const SUBJECT_KEY: [u8; 3] = [0x55, 0x1d, 0x0e];
const AUTHORITY_KEY: [u8; 3] = [0x55, 0x1d, 0x23];

/// The key pairs, certificates and CAs of a clone.
#[derive(Default)]
pub struct Certificates {
    /// By the public key of the original.
    pairs: HashMap<Vec<u8>, KeyPair>,
    /// By the original.
    made: HashMap<Vec<u8>, Vec<u8>>,
    /// The public keys, and their ids, of all certificates with this subject.
    subjects: HashMap<Vec<u8>, Vec<Noted>>,
}

/// The id of a public key, and the key.
type Noted = (Option<Vec<u8>>, Vec<u8>);

impl Certificates {
    /// Notes a certificate, which may have issued others. All are noted before the first fake is made.
    pub fn note(&mut self, der: &[u8]) {
        let Some(parts) = Parts::of(der) else { return };
        let noted = (parts.key_id(&SUBJECT_KEY), parts.public_key.to_owned());
        let same = self.subjects.entry(parts.subject.whole.to_owned());
        let same = same.or_default();
        // Thousands of certificates may have the same subject, and CAs are among the first ones.
        if same.len() < 16 && !same.contains(&noted) {
            same.push(noted);
        }
    }

    /// The label and content of the PEM block that replaces one with these. `None` if the content is of no kind that is known.
    pub fn fake(&mut self, label: &str, der: &[u8]) -> Option<(String, Vec<u8>)> {
        let (label, fake) = match label {
            "CERTIFICATE" | "TRUSTED CERTIFICATE" => (label, self.certificate(der)?),
            "EC PRIVATE KEY" => (label, sec1(self.pair(&public_key(der)?)?)?),
            "PRIVATE KEY" | "RSA PRIVATE KEY" => {
                let pair = self.pair(&public_key(der)?)?;
                ("PRIVATE KEY", pair.serialize_der())
            }
            "PUBLIC KEY" => (label, self.public(subject_public_key(der)?)?),
            "RSA PUBLIC KEY" => ("PUBLIC KEY", self.public(der)?),
            "EC PARAMETERS" => (label, CURVE.to_vec()),
            _ => return None,
        };
        Some((label.to_owned(), fake))
    }

    fn public(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        Some(self.pair(key)?.subject_public_key_info())
    }

    /// The key pair that replaces the one with this public key.
    fn pair(&mut self, public_key: &[u8]) -> Option<&KeyPair> {
        if !self.pairs.contains_key(public_key) {
            let pair = KeyPair::generate().ok()?;
            self.pairs.insert(public_key.to_owned(), pair);
        }
        self.pairs.get(public_key)
    }

    fn certificate(&mut self, der: &[u8]) -> Option<Vec<u8>> {
        if let Some(made) = self.made.get(der) {
            return Some(made.clone());
        }
        let parts = Parts::of(der)?;
        let own = self.pair(parts.public_key)?.subject_public_key_info();
        let issuer = self.issuer(&parts);
        let issuer = self.pair(&issuer)?;
        let unsigned = parts.unsigned(&own, issuer)?;
        let signature = issuer.sign(&unsigned).ok()?;
        let signature = der::element(tag::BIT_STRING, &[&[0], &signature])?;
        let made = der::element(tag::SEQUENCE, &[&unsigned, &SIGNED_WITH, &signature])?;
        self.made.insert(der.to_owned(), made.clone());
        Some(made)
    }

    /// The public key that a certificate was signed for; a name instead, if no Secret has the CA.
    fn issuer(&self, parts: &Parts) -> Vec<u8> {
        if parts.issuer.whole == parts.subject.whole {
            return parts.public_key.to_owned();
        }
        let id = parts.key_id(&AUTHORITY_KEY);
        let candidates = self.subjects.get(parts.issuer.whole);
        let candidates = candidates.map_or(&[][..], Vec::as_slice);
        let same = candidates.iter().find(|(known, _)| *known == id);
        match same.or(candidates.first()) {
            Some((_, key)) => key.clone(),
            None => parts.issuer.whole.to_owned(),
        }
    }
}

/// What a certificate consists of (RFC 5280, 4.1).
struct Parts<'a> {
    /// From the version to the serial number.
    before: Vec<&'a [u8]>,
    issuer: Element<'a>,
    validity: Element<'a>,
    subject: Element<'a>,
    public_key: &'a [u8],
    /// Ids of issuer and subject, and the extensions.
    after: Vec<Element<'a>>,
}

impl<'a> Parts<'a> {
    fn of(certificate: &'a [u8]) -> Option<Parts<'a>> {
        let signed = der::inside(certificate, tag::SEQUENCE)?;
        let [unsigned, _, _] = signed[..] else {
            return None;
        };
        let elements = der::inside(unsigned.whole, tag::SEQUENCE)?;
        let before = 1 + usize::from(elements.first()?.tag == tag::ZERO);
        let (before, rest) = elements.split_at_checked(before)?;
        let [_algorithm, issuer, validity, subject, key, after @ ..] = rest else {
            return None;
        };
        Some(Parts {
            before: before.iter().map(|it| it.whole).collect(),
            issuer: *issuer,
            validity: *validity,
            subject: *subject,
            public_key: subject_public_key(key.whole)?,
            after: after.to_vec(),
        })
    }

    fn extensions(&self) -> Option<Vec<Vec<Element<'a>>>> {
        let extensions = self.after.iter().find(|it| it.tag == tag::THREE)?;
        let list = der::inside(extensions.content, tag::SEQUENCE)?;
        list.into_iter().map(|it| der::all(it.content)).collect()
    }

    /// The id in one of the two extensions.
    fn key_id(&self, extension: &[u8]) -> Option<Vec<u8>> {
        let extensions = self.extensions()?;
        let mut found = extensions
            .into_iter()
            .filter(|it| it.first().is_some_and(|id| id.content == extension));
        let value = found.find_map(|it| it.last().copied())?.content;
        let (inner, _) = der::first(value)?;
        match inner.tag {
            tag::SEQUENCE => Some(der::first(inner.content)?.0.content.to_owned()),
            _ => Some(inner.content.to_owned()),
        }
    }

    /// The part that is signed, with another key and another issuer's.
    fn unsigned(&self, own: &[u8], signer: &KeyPair) -> Option<Vec<u8>> {
        let mut parts = self.before.clone();
        let [issuer, validity, subject] = [self.issuer, self.validity, self.subject];
        parts.extend([&SIGNED_WITH, issuer.whole, validity.whole, subject.whole]);
        parts.push(own);
        let extensions = match self.extensions() {
            Some(extensions) => renewed(&extensions, own, &signer.subject_public_key_info())?,
            None => Vec::new(),
        };
        let kept = self.after.iter().filter(|it| it.tag != tag::THREE);
        parts.extend(kept.map(|it| it.whole));
        parts.push(&extensions);
        der::element(tag::SEQUENCE, &parts)
    }
}

/// The extensions with the ids of the new keys, if they had ids.
fn renewed(extensions: &[Vec<Element>], own: &[u8], issuer: &[u8]) -> Option<Vec<u8>> {
    let id = |tag, key: &[u8]| der::element(tag, &[&Sha256::digest(key)[..20]]);
    let mut list = Vec::new();
    for extension in extensions {
        let name = extension.first()?;
        let value = if name.content == SUBJECT_KEY {
            id(tag::OCTET_STRING, own)?
        } else if name.content == AUTHORITY_KEY {
            der::element(tag::SEQUENCE, &[&id(0x80, issuer)?])?
        } else {
            let parts: Vec<_> = extension.iter().map(|it| it.whole).collect();
            list.extend(der::element(tag::SEQUENCE, &parts)?);
            continue;
        };
        let value = der::element(tag::OCTET_STRING, &[&value])?;
        list.extend(der::element(tag::SEQUENCE, &[name.whole, &value])?);
    }
    der::element(tag::THREE, &[&der::element(tag::SEQUENCE, &[&list])?])
}

/// The key of a `SubjectPublicKeyInfo`.
fn subject_public_key(info: &[u8]) -> Option<&[u8]> {
    match der::inside(info, tag::SEQUENCE)?[..] {
        [algorithm, bits] if algorithm.tag == tag::SEQUENCE && bits.tag == tag::BIT_STRING => {
            bits.content.get(1..)
        }
        _ => None,
    }
}

/// The public key of a private one in PKCS #8, PKCS #1 or SEC 1, as certificates have it.
fn public_key(private: &[u8]) -> Option<Vec<u8>> {
    let elements = der::inside(private, tag::SEQUENCE)?;
    let [version, second, rest @ ..] = &elements[..] else {
        return None;
    };
    match (version.tag, second.tag, rest) {
        (tag::INTEGER, tag::SEQUENCE, [inner, ..]) if inner.tag == tag::OCTET_STRING => {
            public_key(inner.content)
                .or_else(|| Some(KeyPair::try_from(private).ok()?.public_key_raw().to_owned()))
                // A pair of its own.
                .or_else(|| Some(private.to_owned()))
        }
        (tag::INTEGER, tag::INTEGER, [exponent, ..]) => {
            der::element(tag::SEQUENCE, &[second.whole, exponent.whole])
        }
        (tag::INTEGER, tag::OCTET_STRING, _) => {
            let bits = rest.iter().find(|it| it.tag == tag::ONE);
            let bits = bits.and_then(|it| der::first(it.content)?.0.content.get(1..));
            Some(bits.unwrap_or(private).to_owned())
        }
        _ => None,
    }
}

/// A key pair as RFC 5915 writes it, with the curve, which PKCS #8 has elsewhere.
fn sec1(pair: &KeyPair) -> Option<Vec<u8>> {
    let der = pair.serialized_der();
    let outer = der::inside(der, tag::SEQUENCE)?;
    let inner = outer.iter().find(|it| it.tag == tag::OCTET_STRING)?;
    let inner = der::inside(inner.content, tag::SEQUENCE)?;
    let curve = der::element(tag::ZERO, &[&CURVE])?;
    let [version, private, .., public] = &inner[..] else {
        return None;
    };
    der::element(
        tag::SEQUENCE,
        &[version.whole, private.whole, &curve, public.whole],
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa};
    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::pki_types::{CertificateDer, UnixTime};

    use super::*;

    fn ca(name: &str) -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, name);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    /// Whether a client that trusts the CA accepts this certificate for `a.example`.
    fn verifies(certificate: &[u8], ca: &[u8]) -> bool {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(ca)).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let certificate = CertificateDer::from(certificate);
        let (name, now) = ("a.example".try_into().unwrap(), UnixTime::now());
        let verifier = verifier.build().unwrap();
        verifier
            .verify_server_cert(&certificate, &[], &name, &[], now)
            .is_ok()
    }

    #[test]
    fn a_chain_still_verifies_and_a_key_still_belongs_to_its_certificate() {
        // After a rotation, two CAs have the same name.
        let [old, new, other] = ["a", "a", "b"].map(ca);
        let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().unwrap();
        let leaf = params.signed_by(&key, &new).unwrap();
        assert!(verifies(leaf.der(), new.der()) && !verifies(leaf.der(), old.der()));

        let mut certificates = Certificates::default();
        for der in [leaf.der(), old.der(), new.der(), other.der()] {
            certificates.note(der);
        }
        let mut fake = |label, der: &[u8]| certificates.fake(label, der).unwrap().1;
        let [fake_leaf, fake_old, fake_new, fake_other] =
            [leaf.der(), old.der(), new.der(), other.der()].map(|it| fake("CERTIFICATE", it));
        assert!(verifies(&fake_leaf, &fake_new));
        assert!(!verifies(&fake_leaf, &fake_old) && !verifies(&fake_leaf, &fake_other));
        assert!(!verifies(&fake_leaf, new.der()));
        assert_eq!(fake("CERTIFICATE", leaf.der()), fake_leaf);

        let fake_key = fake("PRIVATE KEY", key.serialized_der());
        assert_ne!(fake_key, key.serialized_der());
        let pair = KeyPair::try_from(&fake_key[..]).unwrap();
        assert_eq!(
            Parts::of(&fake_leaf).unwrap().public_key,
            pair.public_key_raw()
        );
        let in_sec1 = fake("EC PRIVATE KEY", &sec1(&key).unwrap());
        assert_eq!(in_sec1, sec1(&pair).unwrap());
        let public = fake("PUBLIC KEY", &key.subject_public_key_info());
        assert_eq!(public, pair.subject_public_key_info());
    }

    #[test]
    fn the_public_key_of_an_rsa_key_is_found_in_both_formats() {
        let element = |tag, parts: &[&[u8]]| der::element(tag, parts).unwrap();
        let [n, e] = [&[9; 256][..], &[1, 0, 1]].map(|it| element(tag::INTEGER, &[it]));
        let zero = element(tag::INTEGER, &[&[0]]);
        let pkcs1 = element(tag::SEQUENCE, &[&zero, &n, &e, &n]);
        let inner = element(tag::OCTET_STRING, &[&pkcs1]);
        let algorithm = element(tag::SEQUENCE, &[]);
        let pkcs8 = element(tag::SEQUENCE, &[&zero, &algorithm, &inner]);
        let public = element(tag::SEQUENCE, &[&n, &e]);
        assert_eq!(public_key(&pkcs1).unwrap(), public);
        assert_eq!(public_key(&pkcs8).unwrap(), public);
        let mut certificates = Certificates::default();
        let (label, fake) = certificates.fake("RSA PRIVATE KEY", &pkcs1).unwrap();
        assert_eq!(label, "PRIVATE KEY");
        assert_eq!(certificates.fake("PRIVATE KEY", &pkcs8).unwrap().1, fake);
    }

    #[test]
    fn something_else_is_not_a_certificate_or_a_key() {
        let mut certificates = Certificates::default();
        let key = KeyPair::generate().unwrap();
        for (label, der) in [
            ("CERTIFICATE", key.serialized_der()),
            ("CERTIFICATE", &[0x30, 0]),
            ("PRIVATE KEY", b"abc"),
            ("OPENSSH PRIVATE KEY", key.serialized_der()),
        ] {
            assert_eq!(certificates.fake(label, der), None, "{label}");
        }
    }
}
