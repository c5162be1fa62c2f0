//! The certificates of the control plane and of its users.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair,
};

/// Writes `ca.crt`, a certificate and a key for the server and for each user, and the key that signs tokens. All users
/// are administrators.
pub fn write(folder: &Path, users: &[&str]) -> anyhow::Result<()> {
    let mut params = named("ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    fs::write(folder.join("ca.crt"), ca.pem())?;

    let mut server = named("server");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let names = CertificateParams::new(["127.0.0.1".to_owned()])?;
    server.subject_alt_names = names.subject_alt_names;
    pair(folder, "server", &server, &ca)?;
    for user in users {
        let mut params = named(user);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let group = (DnType::OrganizationName, "system:masters");
        params.distinguished_name.push(group.0, group.1);
        pair(folder, user, &params, &ca)?;
    }
    let tokens = KeyPair::generate()?;
    fs::write(folder.join("tokens.pub"), tokens.public_key_pem())?;
    fs::write(folder.join("tokens.key"), tokens.serialize_pem())?;
    Ok(())
}

/// Writes a certificate and a key for a client, of a CA of its own; returns the file of that CA.
pub fn client(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let mut params = named("ca of clients");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let file = folder.join(format!("{name}-ca.crt"));
    fs::write(&file, ca.pem())?;
    let mut client = named(name);
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    pair(folder, name, &client, &ca)?;
    Ok(file)
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
    fs::write(folder.join(format!("{name}.crt")), certificate.pem())?;
    fs::write(folder.join(format!("{name}.key")), key.serialize_pem())?;
    Ok(())
}
