//! Files of clones, also those that a stranger changed.

use std::io::Cursor;
use std::os::unix::fs::{MetadataExt as _, symlink};

use serde_json::{Value, json};

use super::*;
use crate::cloned::Kind;
use crate::fuzz::{Corpus, run};

fn captain(name: &str) -> Value {
    json!({
        "apiVersion": "crew.example.com/v1", "kind": "Captain",
        "metadata": {"name": name, "namespace": "navy"}, "spec": {"a": [1, 2.5, "é\n", null]},
    })
}

fn clone() -> Cloned {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a:b"}});
    let kind = |group: &str, kind: &str, namespaced, objects| Kind {
        group: group.to_owned(),
        version: "v1".to_owned(),
        plural: kind.to_lowercase() + "s",
        kind: kind.to_owned(),
        namespaced,
        objects,
    };
    Cloned {
        secrets: false,
        kubernetes: "v1.37.2+k3s1".to_owned(),
        kinds: vec![
            kind(
                "crew.example.com",
                "Captain",
                true,
                vec![captain("nemo"), captain("ahab")],
            ),
            kind("", "Node", false, vec![node]),
        ],
        unread: vec!["`/api/v1/pods`: forbidden".to_owned()],
    }
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn error(content: &[u8]) -> String {
    let error = read(Cursor::new(content)).unwrap_err();
    kbr_host::diagnostic::text(&error)
}

#[test]
fn what_is_written_is_read() {
    let written = write(&clone()).unwrap();
    assert_eq!(read(Cursor::new(&written)).unwrap(), clone());
    assert_eq!(write(&clone()).unwrap(), written);
    let mut unpacked = String::new();
    let mut decoder = GzDecoder::new(&written[..]);
    decoder.read_to_string(&mut unpacked).unwrap();
    assert!(unpacked.starts_with("kbr clone 1\n{\"kubernetes\":\"v1.37.2+k3s1\","));
}

#[test]
fn another_file_or_version_is_refused() {
    let not_a_clone = "it is not the file of a clone\nhelp: create one with `kbr clone`";
    assert_eq!(error(b""), not_a_clone);
    assert_eq!(error(b"kbr clone 1\n{}"), not_a_clone);
    assert_eq!(error(&packed("{}")), not_a_clone);
    let other = error(&packed("kbr clone \x1b[2J\n{}"));
    assert!(other.starts_with(
        "it is a clone of version `\\u{1b}[2J`, and this kbr reads version 1\nhelp: "
    ));
}

#[test]
fn a_damaged_file_is_refused() {
    let written = write(&clone()).unwrap();
    let mut longer = written.clone();
    longer.push(b'x');
    assert!(error(&longer).contains("something follows the clone"));
    let mut changed = written.clone();
    // The checksum.
    let at = changed.len() - 6;
    changed[at] ^= 1;
    assert!(
        error(&changed).contains("the clone is damaged: corrupt gzip"),
        "{}",
        error(&changed)
    );
    assert!(error(&written[..written.len() - 9]).contains("the clone is damaged"));
    let json = |json: &str| error(&packed(&format!("kbr clone 1\n{json}")));
    let error = json("{\"kubernetes\": 1}");
    assert!(
        error.contains("expected a string at line 2 column 17"),
        "{error}"
    );
    assert!(json("{\"\x1b\": 1}").contains("damaged"));
    let long = json(&format!("{{\"{}\": 1}}", "x".repeat(10_000)));
    assert!(
        long.len() < 500 && long.contains("…") && long.contains("at line 2"),
        "{long}"
    );
    let deep = json(&format!("{{\"unread\": [{}", "[".repeat(1000)));
    assert!(deep.contains("the clone is damaged"));
    let nested = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let objects = json!({"kinds": [{"objects": ["@"]}]}).to_string();
    assert!(json(&objects.replace("\"@\"", &nested)).contains("recursion limit"));
}

/// The error for a file whose JSON begins with a text, and has another one many times after it: as long as it does not fail.
fn bomb(start: &str, part: &str, limits: Limits) -> String {
    let text = format!("kbr clone 1\n{start}{}", part.repeat(100_000));
    let error = read_within(Cursor::new(packed(&text)), limits).unwrap_err();
    kbr_host::diagnostic::text(&error)
}

#[test]
fn a_bomb_ends_early() {
    let limits = Limits {
        packed: 10_000,
        unpacked: 100_000,
        values: 10_000,
    };
    let text = "{\"kubernetes\":\"";
    let error = bomb(text, "0000", limits);
    assert!(
        error.contains("the clone is damaged: larger than 100000 bytes"),
        "{error}"
    );
    let unpacked = Limits {
        unpacked: u64::MAX,
        ..limits
    };
    let error = bomb(
        text,
        "0000",
        Limits {
            packed: 100,
            ..unpacked
        },
    );
    assert!(error.contains("larger than 100 bytes"), "{error}");
    let nested = "{\"kinds\":[{\"objects\":[[0";
    let error = bomb(nested, ",0", unpacked);
    assert!(
        error.contains("more values in JSON than kbr reads"),
        "{error}"
    );
}

#[test]
fn a_file_is_written_as_a_whole_and_for_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.clone");
    save(
        &path,
        &Cloned {
            unread: vec![],
            ..clone()
        },
    )
    .unwrap();
    save(&path, &clone()).unwrap();
    assert_eq!(load(&path).unwrap(), clone());
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let link = folder.path().join("link");
    symlink("a.clone", &link).unwrap();
    for other in [&link, folder.path()] {
        let error = save(other, &clone()).unwrap_err().to_string();
        assert!(error.contains("is not a regular file\nhelp: "), "{error}");
        assert!(load(other).is_err());
    }
    let missing = folder.path().join("missing/a");
    assert!(format!("{:#}", save(&missing, &clone()).unwrap_err()).starts_with("cannot write `"));
    assert!(format!("{:#}", load(&missing).unwrap_err()).starts_with("cannot read `"));
    let wrong = Cloned {
        kubernetes: String::new(),
        ..clone()
    };
    assert!(save(&path, &wrong).is_err());
    assert_eq!(load(&path).unwrap(), clone());
    // No temporary file is left.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// What `check` says of the clone after a change.
fn changed(change: impl FnOnce(&mut Cloned)) -> String {
    let mut cloned = clone();
    change(&mut cloned);
    let error = check::check(&cloned).unwrap_err().to_string();
    let error = error
        .strip_prefix("the clone is damaged: ")
        .unwrap()
        .to_owned();
    assert!(write(&cloned).is_err());
    let json = serde_json::to_string(&cloned).unwrap();
    assert!(read(Cursor::new(packed(&format!("kbr clone 1\n{json}")))).is_err());
    error
}

#[test]
fn kinds_that_no_cluster_has_are_refused() {
    for (field, value, expected) in [
        ("group", "a/b", "`a/b` is not a group"),
        ("group", "a..b", "`a..b` is not a group"),
        ("version", "", "`` is not a version"),
        ("version", "v1/..", "`v1/..` is not a version"),
        ("plural", "..", "`..` is not a plural"),
        ("plural", "a\n", "`a\\n` is not a plural"),
        ("kind", "\u{1b}", "`\\u{1b}` is not a kind"),
        ("kind", "1a", "`1a` is not a kind"),
    ] {
        let error = changed(|cloned| {
            let kind = &mut cloned.kinds[1];
            kind.objects.clear();
            let field = match field {
                "group" => &mut kind.group,
                "version" => &mut kind.version,
                "plural" => &mut kind.plural,
                _ => &mut kind.kind,
            };
            value.clone_into(field);
        });
        assert_eq!(error, format!("1 problem\n  `kinds[1]`: {expected}"));
    }
    let error = changed(|cloned| cloned.kubernetes = "1.37\n".to_owned());
    assert_eq!(
        error,
        "1 problem\n  `kubernetes`: `1.37\\n` is not a version"
    );
    let error = changed(|cloned| cloned.kinds.push(cloned.kinds[1].clone()));
    assert_eq!(error, "1 problem\n  `kinds[2]`: `nodes` is there twice");
}

#[test]
fn objects_that_are_not_of_their_kind_are_refused() {
    let name = |name: &str| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    let long = "a".repeat(254);
    for (object, expected) in [
        (json!([]), "it is not an object"),
        (json!({"kind": "Node"}), "it has no text `apiVersion`"),
        (
            json!({"apiVersion": "v2"}),
            "its `apiVersion` is `v2` instead of `v1`",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod"}),
            "its `kind` is `Pod` instead of `Node`",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Node"}),
            "it has no `metadata`",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {}}),
            "it has no text `name`",
        ),
        (name(""), "`` is not a name"),
        (name("."), "`.` is not a name"),
        (name(".."), "`..` is not a name"),
        (name("a/b"), "`a/b` is not a name"),
        (name("a%2fb"), "`a%2fb` is not a name"),
        (name("a\u{202e}"), "`a\\u{202e}` is not a name"),
        (name("a\t"), "`a\t` is not a name"),
        (name(&long), &format!("`{}…` is not a name", &long[..80])),
        (name("a:b"), "`a:b` is there twice"),
        (
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "namespace": "b"}}),
            "its kind has no namespaces",
        ),
    ] {
        let error = changed(|cloned| cloned.kinds[1].objects.push(object));
        assert_eq!(
            error,
            format!("1 problem\n  `kinds[1].objects[1]`: {expected}")
        );
    }
    for (namespace, expected) in [
        (json!(""), "it has no namespace"),
        (json!(1), "it has no text `namespace`"),
        (json!("../x"), "`../x` is not a namespace"),
        (json!("-"), "`-` is not a namespace"),
    ] {
        let error = changed(|cloned| {
            cloned.kinds[0].objects[1]["metadata"]["namespace"] = namespace;
        });
        assert_eq!(
            error,
            format!("1 problem\n  `kinds[0].objects[1]`: {expected}")
        );
    }
}

#[test]
fn only_the_first_problems_are_listed() {
    let error = changed(|cloned| cloned.kinds[1].objects = vec![json!(1); 50]);
    assert!(error.starts_with("11 problems\n") && error.ends_with("there are more problems"));
    assert_eq!(error.lines().count(), 12);
    let error = changed(|cloned| cloned.unread = vec![String::new(); 5000]);
    assert_eq!(
        error,
        "1 problem\n  it has 5000 unread sentences, of which kbr reads 4096"
    );
}

#[test]
fn no_file_makes_kbr_panic() {
    let file = write(&clone()).unwrap();
    let words = [
        "kbr clone 1\n",
        "\x1f\u{8b}\u{8}",
        "[",
        "{\"kinds\":[",
        "\"metadata\":{\"name\":\"..\"}",
    ];
    let corpus = Corpus {
        inputs: &[&file],
        words: &words,
    };
    run(corpus, |input| drop(read(Cursor::new(input))));
    let text = format!("kbr clone 1\n{}", serde_json::to_string(&clone()).unwrap());
    let corpus = Corpus {
        inputs: &[text.as_bytes()],
        words: &words,
    };
    run(corpus, |input| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(input).unwrap();
        let content = encoder.finish().unwrap();
        if let Ok(cloned) = read(Cursor::new(content)) {
            assert_eq!(read(Cursor::new(write(&cloned).unwrap())).unwrap(), cloned);
        }
    });
}
