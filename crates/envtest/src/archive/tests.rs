//! Unpacking of good, damaged and hostile archives.

mod fuzz;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::Header;

use super::*;

const PROGRAMS: [&str; 3] = ["etcd", "kube-apiserver", "kubectl"];

/// An archive in memory.
struct Packed(tar::Builder<Vec<u8>>);

impl Packed {
    fn new() -> Self {
        Packed(tar::Builder::new(Vec::new()))
    }

    /// With the three programs, as they are published.
    fn complete() -> Self {
        let packed = Packed::new().add(EntryType::Directory, "controller-tools/envtest/", "");
        PROGRAMS.into_iter().fold(packed, |packed, name| {
            packed.file(&format!("controller-tools/envtest/{name}"), name)
        })
    }

    fn file(self, path: &str, text: &str) -> Self {
        self.add(EntryType::Regular, path, text)
    }

    /// The path is written as it is: the builder's own functions reject hostile ones.
    fn add(mut self, kind: EntryType, path: &str, text: &str) -> Self {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(kind);
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        if matches!(kind, EntryType::Link | EntryType::Symlink) {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        self.0.append(&header, text.as_bytes()).unwrap();
        self
    }

    fn tar(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }

    fn gzip(self) -> Vec<u8> {
        gzip(&self.tar())
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn try_unpack(archive: &[u8], into: &Path) -> anyhow::Result<()> {
    unpack(archive, &PROGRAMS.map(str::to_owned), into)
}

/// The error, after which the folder has at most the programs.
#[track_caller]
fn check_error(archive: &[u8], expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("into");
    fs::create_dir(&into).unwrap();
    let error = try_unpack(archive, &into).expect_err(expected);
    let error = format!("{error:#}");
    assert!(error.contains(expected), "{error}");
    for entry in fs::read_dir(&into).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(PROGRAMS.iter().any(|program| name == *program), "{name:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_programs_are_unpacked_by_their_names_and_can_be_run_but_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Packed::complete()
        .file("controller-tools/LICENSE", "text")
        .add(EntryType::Directory, "./kubectl/", "");
    try_unpack(&archive.gzip(), folder.path()).unwrap();
    for name in PROGRAMS {
        let path = folder.path().join(name);
        assert_eq!(fs::read_to_string(&path).unwrap(), name);
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o222, 0, "{mode:o}");
        assert_ne!(mode & 0o100, 0, "{mode:o}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn an_archive_in_several_parts_is_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let tar = Packed::complete().tar();
    let parts = [gzip(&tar[..700]), gzip(&tar[700..])].concat();
    try_unpack(&parts, folder.path()).unwrap();
}

#[test]
fn a_path_that_leads_elsewhere_is_rejected() {
    for path in [
        "/etcd",
        "../etcd",
        "a/../../etcd",
        "a/../etcd",
        "/etc/cron.d/evil",
        "../../evil",
        "..",
        "",
    ] {
        let archive = Packed::complete().file(path, "evil");
        check_error(&archive.gzip(), "leaves the archive's folder");
    }
    let folder = Packed::complete().add(EntryType::Directory, "../evil/", "");
    check_error(&folder.gzip(), "leaves the archive's folder");
}

#[test]
fn links_and_special_files_are_rejected_even_if_they_are_not_programs() {
    for kind in [EntryType::Link, EntryType::Symlink] {
        for path in ["a/etcd", "a/other"] {
            let archive = Packed::complete().add(kind, path, "");
            check_error(&archive.gzip(), "is a link");
        }
    }
    for kind in [
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::Continuous,
        EntryType::GNUSparse,
        EntryType::new(b'Z'),
    ] {
        let archive = Packed::complete().add(kind, "a/other", "");
        check_error(&archive.gzip(), "is a special file");
    }
}

#[test]
fn a_program_that_is_there_twice_is_rejected() {
    let archive = Packed::complete().file("other/etcd", "evil");
    check_error(&archive.gzip(), "it contains `etcd` twice");
}

#[test]
fn missing_programs_are_listed() {
    let archive = Packed::new().file("a/kubectl", "").file("etcd/a", "");
    check_error(&archive.gzip(), "it has no `etcd`, no `kube-apiserver`");
    let empty = Packed::new().gzip();
    check_error(
        &empty,
        "it has no `etcd`, no `kube-apiserver`, no `kubectl`",
    );
}

#[test]
fn an_archive_that_ends_early_is_damaged_wherever_it_ends() {
    let archive = Packed::complete().gzip();
    for end in 0..archive.len() {
        let folder = tempfile::tempdir().unwrap();
        assert!(try_unpack(&archive[..end], folder.path()).is_err(), "{end}");
    }
    let tar = Packed::complete().tar();
    check_error(&gzip(&tar[..512 * 2 + 2]), "it is truncated");
}

#[test]
fn an_archive_with_one_changed_byte_is_damaged_or_the_same() {
    let archive = Packed::complete().gzip();
    // The first ten bytes are the header of gzip, whose time and system do not matter.
    for at in 10..archive.len() {
        let folder = tempfile::tempdir().unwrap();
        let mut changed = archive.clone();
        changed[at] ^= 1;
        if try_unpack(&changed, folder.path()).is_ok() {
            for name in PROGRAMS {
                let text = fs::read_to_string(folder.path().join(name)).unwrap();
                assert_eq!(text, name, "{at}");
            }
        }
    }
}

#[test]
fn other_files_are_not_archives() {
    check_error(b"", "");
    check_error(b"<html>Log in</html>", "invalid gzip header");
    check_error(&gzip(b"not a tar"), "it is damaged");
    check_error(&Packed::complete().tar(), "invalid gzip header");
}

#[test]
fn a_bomb_stops_at_the_limit_whether_it_is_a_program_or_not() {
    let large = "0".repeat(100_000);
    for path in ["a/etcd", "a/other"] {
        let archive = Packed::new().file(path, &large).gzip();
        let folder = tempfile::tempdir().unwrap();
        let programs = PROGRAMS.map(str::to_owned);
        let result = unpack_limited(archive.as_slice(), &programs, folder.path(), 10_000);
        let error = format!("{:#}", result.unwrap_err());
        assert!(error.contains("too large when unpacked"), "{error}");
        let written: u64 = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(written <= 10_000, "{written}");
    }
    let behind = [Packed::complete().tar(), vec![0; 100_000]].concat();
    let folder = tempfile::tempdir().unwrap();
    let programs = PROGRAMS.map(str::to_owned);
    let result = unpack_limited(gzip(&behind).as_slice(), &programs, folder.path(), 20_000);
    assert!(result.is_err());
}

#[test]
fn extensions_may_have_times_but_neither_paths_nor_sizes() {
    for kind in [EntryType::XHeader, EntryType::XGlobalHeader] {
        let folder = tempfile::tempdir().unwrap();
        let times = Packed::new().add(kind, "PaxHeaders/etcd", "20 mtime=1700000000.5\n");
        let times = PROGRAMS
            .into_iter()
            .fold(times, |packed, name| packed.file(name, name));
        try_unpack(&times.gzip(), folder.path()).unwrap();
        for text in [
            "12 path=etcd\n",
            "20 mtime=1700000000.5\n18 linkpath=/etc/a\n",
            "18 size=999999999\n",
            "22 GNU.sparse.major=1\n",
        ] {
            let archive = Packed::new().add(kind, "PaxHeaders/etcd", text);
            check_error(&archive.gzip(), "pack it with --format=ustar");
        }
    }
}

#[test]
fn a_header_cannot_announce_more_than_the_limit_to_be_kept_in_memory() {
    for kind in [EntryType::GNULongName, EntryType::GNULongLink] {
        let archive = Packed::new().add(kind, "././@LongLink", &"a/".repeat(1000));
        check_error(&archive.gzip(), "longer than 100 bytes");
    }
    let large = Packed::new().add(EntryType::XHeader, "PaxHeaders/etcd", &"a".repeat(70_000));
    check_error(&large.gzip(), "its extended header is too large");
    let many = (0..2000).fold(Packed::new(), |packed, _| packed.file("a", ""));
    check_error(&many.gzip(), "more than 1000 files");
}
