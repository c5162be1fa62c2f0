//! Archives and indexes of fake programs.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha512};
use tar::{EntryType, Header};

use crate::server::Server;

pub const PROGRAMS: [&str; 3] = ["etcd", "kube-apiserver", "kubectl"];

/// An archive as it is published, whose programs contain `text` and about 100 kB that cannot be compressed.
pub fn archive(text: &str) -> Vec<u8> {
    let mut seed = text
        .bytes()
        .fold(1_u32, |seed, byte| seed.wrapping_mul(31) + u32::from(byte));
    let mut program = format!("#!/bin/sh\necho {text}\nexit\n").into_bytes();
    for _ in 0..100_000 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        program.push(seed.to_be_bytes()[0]);
    }
    let folder = entry(EntryType::Directory, "controller-tools/envtest/", b"");
    let programs = PROGRAMS.map(|name| {
        entry(
            EntryType::Regular,
            &format!("controller-tools/envtest/{name}"),
            &program,
        )
    });
    packed(&[folder, programs.concat()])
}

/// A header and its file. The path may be any.
pub fn entry(kind: EntryType, path: &str, bytes: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(kind);
    header.set_size(bytes.len() as u64);
    header.set_mode(0o755);
    if kind == EntryType::Symlink {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_cksum();
    let mut out = header.as_bytes().to_vec();
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

/// A complete archive of these entries.
pub fn packed(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&entries.concat()).unwrap();
    encoder.write_all(&[0; 1024]).unwrap();
    encoder.finish().unwrap()
}

pub fn sha512(bytes: &[u8]) -> String {
    Sha512::digest(bytes)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        })
}

/// `envtest-v1.36.4-linux-amd64.tar.gz` for `1.36.4-linux-amd64`.
pub fn file_name(name: &str) -> String {
    format!("envtest-v{name}.tar.gz")
}

/// Serves an index of these archives, each with its SHA-512, but not the archives.
pub fn serve_index(server: &Server, archives: &[(&str, &[u8])]) {
    let mut index = "releases:\n".to_owned();
    for (name, bytes) in archives {
        let (file, version) = (file_name(name), name.split('-').next().unwrap());
        let url = server.url(&format!("/{file}"));
        if !index.contains(&format!("  v{version}:\n")) {
            writeln!(index, "  v{version}:").unwrap();
        }
        writeln!(
            index,
            "    {file}:\n      hash: {}\n      selfLink: {url}",
            sha512(bytes)
        )
        .unwrap();
    }
    server.serve_file("/index.yaml", index.as_bytes());
}

/// Serves an archive for each of these names, and an index of them. The names are sorted by version.
pub fn serve(server: &Server, names: &[&str]) {
    let archives: Vec<_> = names.iter().map(|name| (*name, archive(name))).collect();
    for (name, bytes) in &archives {
        server.serve_file(&format!("/{}", file_name(name)), bytes);
    }
    let borrowed: Vec<_> = archives
        .iter()
        .map(|(name, bytes)| (*name, bytes.as_slice()))
        .collect();
    serve_index(server, &borrowed);
}
