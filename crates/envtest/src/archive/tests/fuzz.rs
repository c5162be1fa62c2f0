//! Archives of any content.

use super::*;
use crate::fuzz::{self, Corpus};

/// The unpacked size that is allowed here; in a debug build, it takes a part of a second.
const LIMIT: u64 = 1 << 20;

const WORDS: &[&str] = &[
    "\0\0\0\0",
    "ustar\0",
    "ustar  \0",
    "../",
    "/",
    "etcd",
    "1 path=",
    "\u{1f}\u{8b}\u{8}",
    "00000000017\0",
    "77777777777\0",
    "L",
    "x",
    "5",
    "2",
];

/// Unpacks an archive of any content: at most the programs are written, and no more than is allowed.
fn check(archive: &[u8]) {
    let programs = PROGRAMS.map(str::to_owned);
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("into");
    fs::create_dir(&into).unwrap();
    if let Err(error) = unpack_limited(archive, &programs, &into, LIMIT) {
        drop(format!("{error:#}"));
    }
    let mut written = 0;
    for entry in fs::read_dir(&into).unwrap() {
        let entry = entry.unwrap();
        assert!(programs.iter().any(|name| entry.file_name() == **name));
        assert!(entry.file_type().unwrap().is_file());
        written += entry.metadata().unwrap().len();
    }
    assert!(written <= LIMIT);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_archive_of_any_content_writes_at_most_its_programs() {
    let (tar, packed) = (Packed::complete().tar(), Packed::complete().gzip());
    let plain = Corpus {
        inputs: &[&tar],
        words: WORDS,
    };
    fuzz::run(plain, |bytes| check(&gzip(bytes)));
    let packed = Corpus {
        inputs: &[&packed],
        words: WORDS,
    };
    fuzz::run(packed, check);
}
