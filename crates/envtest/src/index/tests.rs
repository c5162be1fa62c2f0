//! Good, wrong and hostile indexes.

use std::fmt::Write as _;

use super::*;

const URL: &str = "https://example.com/index.yaml";

/// An index with these archives, all with the same hash.
fn index(archives: &[(&str, &str)]) -> String {
    let mut text = "releases:\n".to_owned();
    for (number, (name, url)) in archives.iter().enumerate() {
        let hash = "0a".repeat(64);
        writeln!(text, "  v{number}:\n    {name}:").unwrap();
        writeln!(text, "      hash: {hash}\n      selfLink: {url}").unwrap();
    }
    text
}

fn names(archives: &PublishedArchives) -> Vec<String> {
    let archives = archives.0.iter();
    archives
        .map(|archive| platform::folder_name(archive.version, &archive.platform))
        .collect()
}

#[track_caller]
fn check_error(text: &str, url: &str, expected: &str) {
    let error = parse(text, url).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
    assert!(error.starts_with(&format!("the index `{url}` is wrong: ")));
}

#[test]
fn archives_are_sorted_and_other_names_skipped() {
    let text = index(&[
        ("envtest-v1.9.0-linux-amd64.tar.gz", "https://a/1"),
        ("envtest-v1.36.0-linux-arm64.tar.gz", "https://a/2"),
        ("envtest-v1.36.0-linux-amd64.tar.gz", "https://a/3"),
        ("envtest-v1.37.0-rc.0-linux-amd64.tar.gz", "https://a/4"),
        ("envtest-v1.37-linux-amd64.tar.gz", "https://a/5"),
        ("README.md", "https://a/6"),
    ]);
    let archives = parse(&text, URL).unwrap();
    let expected = [
        "1.36.0-linux-amd64",
        "1.36.0-linux-arm64",
        "1.9.0-linux-amd64",
    ];
    assert_eq!(names(&archives), expected);
    let newest: Vec<_> = archives
        .matching(&"<1.36".parse().unwrap(), &Platform::any())
        .map(|archive| archive.url.as_str())
        .collect();
    assert_eq!(newest, ["https://a/1"]);
}

#[test]
fn fields_that_kbr_does_not_know_are_skipped() {
    let text = index(&[("envtest-v1.9.0-linux-amd64.tar.gz", "https://a/1")]);
    let text = format!("kind: Index\n{text}      size: 12\n");
    assert_eq!(names(&parse(&text, URL).unwrap()), ["1.9.0-linux-amd64"]);
}

#[test]
fn what_is_not_an_index_is_an_error() {
    let hash = "0a".repeat(64);
    let unclosed = format!("releases: {{v1: {{a.tar.gz: {{hash: {hash}, selfLink: https://a/1}}}}");
    for text in [
        "",
        "<html>Log in</html>",
        "releases: [a]",
        "versions: {}",
        "releases: {v1: {a.tar.gz: {hash: 1}}}",
        &unclosed,
    ] {
        check_error(text, URL, "it is not an index of envtest binaries");
    }
    let twice = index(&[("envtest-v1.9.0-linux-amd64.tar.gz", "https://a/1")]);
    let twice = format!("{twice}  v0: {{}}\n");
    check_error(&twice, URL, "it is not an index of envtest binaries");
}

#[test]
fn an_index_that_unfolds_into_a_huge_one_is_an_error() {
    let mut text = "a0: &a0 {b: c}\n".to_owned();
    for level in 1..40 {
        let before = level - 1;
        writeln!(text, "a{level}: &a{level} {{x: *a{before}, y: *a{before}}}").unwrap();
    }
    text += "releases: *a39\n";
    check_error(&text, URL, "it is not an index of envtest binaries");
}

#[test]
fn a_hash_of_another_form_is_an_error() {
    let text = index(&[("envtest-v1.9.0-linux-amd64.tar.gz", "https://a/1")]);
    for hash in ["0a", &"0a".repeat(16), &"zz".repeat(64)] {
        let text = text.replace(&"0a".repeat(64), hash);
        check_error(&text, URL, "is not SHA-512 in hexadecimal");
    }
    let text = text.replace(&"0a".repeat(64), &"0A".repeat(64));
    assert_eq!(parse(&text, URL).unwrap().0[0].sha512, "0a".repeat(64));
}

#[test]
fn an_archive_must_be_behind_https_unless_the_index_is_on_this_machine() {
    let at = |url| index(&[("envtest-v1.9.0-linux-amd64.tar.gz", url)]);
    let local = "http://127.0.0.1:8080/index.yaml";
    for url in [
        "http://127.0.0.1:8080/a",
        "http://example.com/a",
        "file:///a",
    ] {
        check_error(&at(url), URL, "`envtest-v1.9.0-linux-amd64.tar.gz`: ");
    }
    check_error(&at("http://example.com/a"), local, "is not HTTPS");
    assert!(parse(&at("http://127.0.0.1:8080/a"), local).is_ok());
    assert!(parse(&at("https://example.com/a"), local).is_ok());
}

#[test]
fn two_archives_of_one_version_are_an_error_unless_they_are_the_same() {
    let name = "envtest-v1.9.0-linux-amd64.tar.gz";
    let same = index(&[(name, "https://a/1"), (name, "https://a/1")]);
    assert_eq!(parse(&same, URL).unwrap().0.len(), 1);
    let text = index(&[(name, "https://a/1"), (name, "https://a/2")]);
    check_error(&text, URL, "duplicate archive `1.9.0-linux-amd64`");
}
