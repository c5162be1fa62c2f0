//! What a control plane has is for its user only.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustls::crypto::ring;
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PrivateKey, TlsConfig};

use crate::place::{Place, Running};

/// The user `nobody`.
const NOBODY: u32 = 65534;

/// Starts `kbr envtest run` with a umask that takes nothing away.
fn start(place: &Place) -> Running {
    let script = r#"umask 0; exec "$0" envtest run --audit target/audit.log -- sh -c 'echo up; exec sleep 1000'"#;
    let mut sh = Command::new("sh");
    sh.args(["-c", script, env!("CARGO_BIN_EXE_kbr")])
        .current_dir(place.path(""))
        .env("TMPDIR", place.path("tmp"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut kbr = Running(sh.spawn().unwrap());
    let mut line = String::new();
    let mut stdout = BufReader::new(kbr.0.stdout.as_mut().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    kbr
}

/// Everything in a folder.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    // etcd renames files meanwhile.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        found.push(entry.path());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&entry.path(), found);
        }
    }
}

fn mode(path: &Path) -> Option<u32> {
    let found = fs::symlink_metadata(path).ok()?;
    Some(found.permissions().mode() & 0o777)
}

/// The port in a flag of etcd.
fn port(folder: &Path, flag: &str) -> u16 {
    let pids = fs::read_to_string(folder.join("pids")).unwrap();
    let pid = pids.lines().find_map(|line| line.strip_prefix("etcd "));
    let command = fs::read_to_string(format!("/proc/{}/cmdline", pid.unwrap())).unwrap();
    let mut arguments = command.split('\0');
    let url = arguments.find_map(|argument| argument.strip_prefix(flag));
    url.unwrap().rsplit(':').next().unwrap().parse().unwrap()
}

/// The status of an answer of etcd's, if there is one.
fn ask(url: &str, certificate: Option<ClientCert>) -> Result<u16, ureq::Error> {
    let tls = TlsConfig::builder()
        .disable_verification(true)
        .client_cert(certificate)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .proxy(None)
        .http_status_as_error(false);
    let agent: Agent = config.build().into();
    Ok(agent.get(url).call()?.status().as_u16())
}

#[test]
fn other_users_can_neither_read_the_folder_nor_ask_etcd() {
    let place = Place::new();
    let _kbr = start(&place);
    assert!(
        place.path("target/audit.log").is_file(),
        "its folder is created"
    );
    let folder = place.left_over().remove(0);
    assert_eq!(mode(&folder), Some(0o700));
    let mut all = Vec::new();
    walk(&folder, &mut all);
    let open: Vec<_> = all
        .iter()
        .filter(|path| mode(path).is_some_and(|mode| mode & 0o077 != 0))
        .collect();
    assert!(open.is_empty(), "{open:?}");
    let sockets = all
        .iter()
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()));
    assert_eq!(sockets.count(), 1, "the relay's");
    if rustix::process::geteuid().is_root() {
        for name in [
            "kubeconfig",
            "admin.key",
            "etcd-client.key",
            "relay/relay.sock",
        ] {
            assert!(folder.join(name).exists(), "{name}");
            let mut test = Command::new("test");
            test.arg("-e")
                .arg(folder.join(name))
                .uid(NOBODY)
                .gid(NOBODY);
            assert!(!test.status().unwrap().success(), "nobody finds {name}");
        }
    }

    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let certificate = |name: &str| {
        let certificate = Certificate::from_pem(&read(&format!("{name}.crt"))).unwrap();
        let key = PrivateKey::from_pem(&read(&format!("{name}.key"))).unwrap();
        ClientCert::new_with_certs(&[certificate], key)
    };
    for flag in ["--listen-client-urls=", "--listen-peer-urls="] {
        let port = port(&folder, flag);
        let url = format!("https://127.0.0.1:{port}/version");
        assert_eq!(
            ask(&url, Some(certificate("etcd-client"))).unwrap(),
            200,
            "{flag}"
        );
        assert!(ask(&url, None).is_err(), "{flag} without a certificate");
        for other in ["admin", "etcd", "relay/tls"] {
            assert!(
                ask(&url, Some(certificate(other))).is_err(),
                "{flag} {other}"
            );
        }
        let plain = ask(&format!("http://127.0.0.1:{port}/version"), None);
        assert!(
            !plain.is_ok_and(|status| status == 200),
            "{flag} without TLS"
        );
    }
}
