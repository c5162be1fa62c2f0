//! The certificates of one control plane: X.509 v3 (rustls rejects v1), ECDSA P-256, newly created for each.

use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

use super::folder;

/// Writes into `folder`, keys with mode 0600:
/// - `ca.crt`, and `apiserver.crt` and `.key` signed by it, for `localhost` and `127.0.0.1`;
/// - `client-ca.crt`, and `admin.crt` and `.key` signed by it, of the group `system:masters`;
/// - `sa.pub` and `sa.key`, which sign the tokens of service accounts;
/// - `etcd-ca.crt`, and `etcd.crt` and `.key` and `etcd-client.crt` and `.key` signed by it, for etcd and kube-apiserver.
///
/// The keys of the CAs are never written. Nothing expires, because everything is removed with the folder. Keeps those that
/// exist, in the folder of a cluster that was kept.
pub fn write(folder: &Path) -> anyhow::Result<()> {
    // The last one.
    if folder.join("sa.key").exists() {
        return Ok(());
    }
    write_etcd(folder)?;
    let serving_ca = new_ca("kbr envtest")?;
    let serving = for_loopback("kube-apiserver")?;
    pair(folder, "apiserver", &serving, &serving_ca)?;
    file(folder, "ca.crt", &serving_ca.pem())?;

    // A separate CA: a serving certificate must not authenticate clients.
    let client_ca = new_ca("kbr envtest clients")?;
    let mut admin = leaf("admin", ExtendedKeyUsagePurpose::ClientAuth);
    admin
        .distinguished_name
        .push(DnType::OrganizationName, "system:masters");
    pair(folder, "admin", &admin, &client_ca)?;
    file(folder, "client-ca.crt", &client_ca.pem())?;

    let tokens = KeyPair::generate()?;
    file(folder, "sa.pub", &tokens.public_key_pem())?;
    file(folder, "sa.key", &tokens.serialize_pem())
}

/// etcd answers any program of this machine that has a certificate of its CA. Only kube-apiserver has one.
fn write_etcd(folder: &Path) -> anyhow::Result<()> {
    let ca = new_ca("kbr envtest etcd")?;
    pair(folder, "etcd", &for_loopback("etcd")?, &ca)?;
    let client = leaf("kube-apiserver", ExtendedKeyUsagePurpose::ClientAuth);
    pair(folder, "etcd-client", &client, &ca)?;
    file(folder, "etcd-ca.crt", &ca.pem())
}

/// Creates `folder` again, with `tls.crt` and `tls.key` for a server on the loopback; returns the PEM of the CA that signed.
pub fn loopback(folder: &Path) -> anyhow::Result<String> {
    serving(folder, &for_loopback("webhooks")?)
}

/// As [`loopback`], for a server that is also called by these names.
pub fn named_too(folder: &Path, names: &[String]) -> anyhow::Result<String> {
    let mut params = for_loopback("webhooks")?;
    let names = CertificateParams::new(names)?.subject_alt_names;
    params.subject_alt_names.extend(names);
    serving(folder, &params)
}

fn serving(folder: &Path, params: &CertificateParams) -> anyhow::Result<String> {
    // A cluster that is kept has an older one.
    let _ = fs::remove_dir_all(folder);
    folder::make_private(folder)?;
    let ca = new_ca("kbr dev")?;
    pair(folder, "tls", params, &ca)?;
    Ok(ca.pem())
}

/// The parameters of a serving certificate for the loopback.
fn for_loopback(name: &str) -> anyhow::Result<CertificateParams> {
    let mut serving = leaf(name, ExtendedKeyUsagePurpose::ServerAuth);
    serving.subject_alt_names =
        CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])?.subject_alt_names;
    Ok(serving)
}

fn new_ca(name: &str) -> anyhow::Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = named(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn leaf(name: &str, usage: ExtendedKeyUsagePurpose) -> CertificateParams {
    let mut params = named(name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    // Strict verifiers, such as Python 3.13, require it.
    params.use_authority_key_identifier_extension = true;
    params
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn pair(
    folder: &Path,
    name: &str,
    params: &CertificateParams,
    ca: &CertifiedIssuer<'static, KeyPair>,
) -> anyhow::Result<()> {
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, ca)?;
    file(folder, &format!("{name}.crt"), &certificate.pem())?;
    file(folder, &format!("{name}.key"), &key.serialize_pem())
}

fn file(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    folder::write(&folder.join(name), text)
}
