use super::*;

fn check(version: Option<&str>, expected: &str) {
    let manifest = version.map(|version| format!("[package]\nversion = {version}\n"));
    let error = super::check(manifest.as_deref())
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    let same = error == expected || !expected.is_empty() && error.starts_with(expected);
    assert!(same, "{version:?}: {error}");
}

#[test]
fn a_missing_old_or_unreadable_library_is_an_error() {
    check(None, "`third_party/kbr-manager/Cargo.toml` is missing");
    check(Some("\"0.2.99\""), "the project has kbr-manager 0.2.99");
    for unreadable in ["\"\"", "\"1.0\"", "\"a.b.c\"", "1", "]"] {
        let expected = "cannot read the version in `third_party/kbr-manager/Cargo.toml`";
        check(Some(unreadable), expected);
    }
}

#[test]
fn a_recent_library_is_accepted() {
    for enough in [OLDEST, "0.3.1", "0.10.0", "1.0.0", "0.3.0-rc.1", "0.3.0+a"] {
        check(Some(&format!("{enough:?}")), "");
    }
}

#[test]
fn a_file_belongs_to_the_folder_of_its_package() {
    for (path, folder) in [
        ("third_party/kbr-manager/src/lib.rs", Some(FOLDER)),
        ("third_party/kbr-testing/src/lib.rs", Some(FOLDERS[3])),
        ("manager/src/lib.rs", None),
        ("third_party/kbr-managers/src/lib.rs", None),
        ("third_party/rustfmt.toml", None),
    ] {
        assert_eq!(folder_of(path), folder, "{path}");
    }
}

#[test]
fn checksums_have_the_format_of_cargo_vendor() {
    let text = checksums(&[("b", ""), ("a/b", "a")]).unwrap();
    assert_eq!(
        text,
        "{\"files\":{\
         \"a/b\":\"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\",\
         \"b\":\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"}}\n"
    );
}
