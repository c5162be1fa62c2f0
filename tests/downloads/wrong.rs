//! Indexes and archives that are wrong or hostile: none changes anything.

use std::fs;
use std::process::{Output, Stdio};

use tar::EntryType;

use crate::archives::{PROGRAMS, archive, entry, file_name, packed, serve_index, sha512};
use crate::place::{Place, check};
use crate::server::{Server, file, reply};

const NAME: &str = "1.36.4-linux-amd64";

/// A place with a version that must stay as it is, and a file that must not be overwritten.
fn place() -> Place {
    let place = Place::with(&[NAME]);
    fs::create_dir(place.path("home")).unwrap();
    fs::write(place.path("etcd"), "not in the store").unwrap();
    place
}

/// Downloads the version of [`place`] again.
fn use_it(place: &Place, server: &Server) -> Output {
    let index = server.url("/index.yaml");
    let words = format!("use --force --os linux --arch amd64 1.36.4 --index {index}");
    place.kbr(&words).output().unwrap()
}

/// Expects an error with this text, and that nothing changes.
#[track_caller]
fn check_error(server: &Server, expected: &str) {
    let place = place();
    let before = place.tree();
    let stderr = check(&use_it(&place, server), 2, "");
    assert!(stderr.contains(expected), "{stderr}");
    let error = stderr.lines().find(|line| line.starts_with("error: "));
    let unchanged = error.is_some_and(|line| line.starts_with("error: the store is unchanged: "));
    assert!(unchanged, "{stderr}");
    assert_eq!(place.tree(), before, "{stderr}");
}

/// The programs, without their folder.
fn programs() -> Vec<u8> {
    PROGRAMS
        .map(|name| entry(EntryType::Regular, &format!("a/{name}"), b"new"))
        .concat()
}

fn hostile_archives() -> Vec<(&'static str, Vec<u8>)> {
    let with = |entries: &[Vec<u8>]| packed(&[&[programs()], entries].concat());
    vec![
        (
            "leaves the archive's folder",
            with(&[entry(EntryType::Regular, "../../../etcd", b"evil")]),
        ),
        (
            "leaves the archive's folder",
            with(&[entry(EntryType::Regular, "/tmp/etcd", b"evil")]),
        ),
        (
            "is a link",
            with(&[entry(EntryType::Symlink, "a/other", b"")]),
        ),
        (
            "is a link",
            packed(&[entry(EntryType::Symlink, "a/etcd", b""), programs()]),
        ),
        (
            "is a special file",
            with(&[entry(EntryType::Fifo, "a/other", b"")]),
        ),
        (
            "it contains `etcd` twice",
            with(&[entry(EntryType::Regular, "b/etcd", b"")]),
        ),
        (
            "it has no `etcd`",
            packed(&[entry(EntryType::Regular, "a/other", b"")]),
        ),
        ("invalid gzip header", b"<html>Log in</html>".to_vec()),
        ("it is damaged", packed(&[b"not a tar".repeat(100)])),
    ]
}

#[test]
fn a_hostile_archive_changes_nothing_even_if_its_checksum_is_right() {
    for (expected, bytes) in hostile_archives() {
        let server = Server::new();
        serve_index(&server, &[(NAME, &bytes)]);
        server.serve_file(&format!("/{}", file_name(NAME)), &bytes);
        check_error(&server, expected);
    }
}

#[test]
fn a_hostile_archive_on_standard_input_changes_nothing() {
    let truncated = archive("a")[..50_000].to_vec();
    let mut archives = hostile_archives();
    archives.push(("it is damaged", truncated));
    archives.push(("it is damaged", Vec::new()));
    for (expected, bytes) in archives {
        let place = place();
        fs::write(place.path("archive"), bytes).unwrap();
        let before = place.tree();
        let mut kbr = place.kbr("sideload --os linux --arch amd64 1.36.4");
        kbr.stdin(Stdio::from(fs::File::open(place.path("archive")).unwrap()));
        let stderr = check(&kbr.output().unwrap(), 2, "");
        assert!(stderr.contains(expected), "{stderr}");
        assert_eq!(place.tree(), before, "{stderr}");
    }
}

#[test]
fn an_archive_with_another_checksum_changes_nothing() {
    let bytes = archive(NAME);
    let other = archive("other");
    let shorter = bytes[..bytes.len() - 1].to_vec();
    for wrong in [&other, &shorter] {
        let server = Server::new();
        serve_index(&server, &[(NAME, &bytes)]);
        server.serve_file(&format!("/{}", file_name(NAME)), wrong);
        check_error(
            &server,
            &format!("is wrong: its SHA-512 is `{}`, but ", sha512(wrong)),
        );
    }
}

#[test]
fn an_archive_whose_end_is_not_announced_and_does_not_come_changes_nothing() {
    let bytes = archive(NAME);
    let server = Server::new();
    serve_index(&server, &[(NAME, &bytes)]);
    server.serve(&format!("/{}", file_name(NAME)), move |_, _| {
        reply("200 OK", "", &bytes[..bytes.len() / 2])
    });
    check_error(&server, "is wrong: its SHA-512 is");
}

#[test]
fn an_archive_that_is_too_large_is_not_downloaded() {
    let bytes = archive(NAME);
    let server = Server::new();
    serve_index(&server, &[(NAME, &bytes)]);
    server.serve(&format!("/{}", file_name(NAME)), |_, _| {
        reply("200 OK", "Content-Length: 600000000\r\n", b"").hang()
    });
    check_error(&server, "is wrong: it is too large");
}

#[test]
fn another_part_than_the_one_that_was_asked_for_changes_nothing() {
    let bytes = archive(NAME);
    let server = Server::new();
    serve_index(&server, &[(NAME, &bytes)]);
    server.serve(
        &format!("/{}", file_name(NAME)),
        move |number, start| match number {
            0 => file(&bytes, start).cut(1000),
            _ => reply(
                "206 Partial Content",
                "Content-Length: 10\r\nContent-Range: bytes 500-509/9999\r\n",
                b"0123456789",
            ),
        },
    );
    check_error(&server, "another part of the file");
}

#[test]
fn a_wrong_index_changes_nothing() {
    let hash = "0a".repeat(64);
    let entry = |link: &str, hash: &str| {
        format!(
            "releases: {{v1: {{envtest-v1.36.4-linux-amd64.tar.gz: {{hash: {hash}, selfLink: \"{link}\"}}}}}}"
        )
    };
    let bomb = (1..40).fold("a0: &a0 {b: c}\n".to_owned(), |text, level| {
        let before = level - 1;
        format!("{text}a{level}: &a{level} {{x: *a{before}, y: *a{before}}}\n")
    });
    let not_an_index = "it is not an index of envtest binaries";
    for (text, expected) in [
        ("<html>Log in</html>".to_owned(), not_an_index),
        (String::new(), not_an_index),
        (format!("{bomb}releases: *a39\n"), not_an_index),
        (
            entry("https://a.example/a", &hash)[..60].to_owned(),
            not_an_index,
        ),
        (entry("http://a.example/a", &hash), "is not HTTPS"),
        (entry("file:///etc/passwd", &hash), "is not an https:// URL"),
        (entry("https://a.example/a", "0a"), "is not SHA-512"),
    ] {
        let server = Server::new();
        server.serve_file("/index.yaml", text.as_bytes());
        check_error(&server, expected);
    }
}

#[test]
fn an_index_that_does_not_arrive_changes_nothing() {
    let server = Server::new();
    check_error(&server, "HTTP status 404 Not Found");
    server.serve("/index.yaml", |_, _| file(&[b'a'; 1000], None).cut(500));
    check_error(&server, "cannot download all of `");
    server.serve("/index.yaml", |_, _| {
        reply("200 OK", "", &vec![b'a'; 9 << 20])
    });
    check_error(&server, "is wrong: it is too large");
    server.serve("/index.yaml", |_, _| {
        reply("200 OK", "Content-Length: 2\r\n", b"\xff\xff")
    });
    check_error(&server, "is wrong: it is not text");
    let again = format!(
        "Location: {}\r\nContent-Length: 0\r\n",
        server.url("/index.yaml")
    );
    server.serve("/index.yaml", move |_, _| reply("302 Found", &again, b""));
    check_error(&server, "cannot get `");
}

#[test]
fn an_index_is_read_over_https_only_and_its_certificate_is_checked() {
    let place = Place::new();
    for url in ["http://a.example/index.yaml", "file:///etc/passwd", "a", ""] {
        let mut kbr = place.kbr("list");
        kbr.args(["--index", url]);
        let stderr = check(&kbr.output().unwrap(), 2, "");
        assert!(stderr.contains("https://"), "{stderr}");
    }
    let server = Server::new();
    let index = format!("https://{}/index.yaml", server.address);
    let output = place
        .kbr(&format!("list --index {index}"))
        .output()
        .unwrap();
    check(&output, 2, "");
    assert!(server.requests_of("/index.yaml").is_empty());
}
