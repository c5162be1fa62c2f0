use crate::project::parse;

const PROJECT: &str = r#"layout = "v1"
kbr = "0.1.0"
name = "captains"
domain = "example.com"

[[api]]
group = "crew"
full_group = "crew.example.com"
version = "v1"
kind = "Captain"
plural = "captains"
singular = "captain"
namespaced = true

[[controller]]
name = "pod"
group = "core"
full_group = ""
version = "v1"
kind = "Pod"
plural = "pods"
namespaced = true
type = "k8s_openapi::api::core::v1::Pod"
"#;

#[test]
fn each_invalid_name_in_project_is_reported() {
    assert!(parse(PROJECT).is_ok());
    for (good, bad, expected) in [
        (
            "\"captains\"\nd",
            "\"Bad Name\"\nd",
            "`Bad Name` is not a project name",
        ),
        ("\"example.com\"", "\"a b\"", "`a b` is not a domain"),
        (
            "\"crew\"",
            "\"../x\"",
            "`../x` is not the short form of the group `crew.example.com`",
        ),
        ("\"crew.example.com\"", "\"../x\"", "`../x` is not a group"),
        (
            "\"v1\"\nkind = \"C",
            "\"one\"\nkind = \"C",
            "`one` is not an API version",
        ),
        ("\"Captain\"", "\"a/b\"", "`a/b` is not a kind"),
        (
            "plural = \"captains\"",
            "plural = \"a b\"",
            "`a b` is not a valid plural",
        ),
        ("\"pod\"", "\"../pod\"", "`../pod` is not a controller name"),
        ("\"core\"", "\"..\"", "`..` is not the core group"),
        (
            "::Pod",
            "::Pod; evil",
            "Pod; evil` is not the path of a type",
        ),
    ] {
        let text = PROJECT.replacen(good, bad, 1);
        assert_ne!(text, PROJECT, "{good}");
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.starts_with("`PROJECT` is broken\n"), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn each_invalid_value_in_project_is_reported_with_its_key() {
    for (lines, expected) in [
        (
            "repo = 'https://a\"'",
            "`repo`: `https://a\\\"` is not a repository",
        ),
        (
            "repo = \"a.b/c\\nevil = 1\"",
            "`repo`: `a.b/c\\nevil = 1` is not a repository",
        ),
        (
            "owner = \"A\\n\\u001B[31m\"",
            "`owner`: the owner `A\\n\\u{1b}[31m` is not one line of text",
        ),
        (
            "license = \"../mit\"",
            "`license`: `../mit` is not a license: kbr knows `apache2`, `mit` and `none`",
        ),
    ] {
        let text = PROJECT.replacen("\n\n", &format!("\n{lines}\n\n"), 1);
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for line in [
        "owner = 'The \"Crew\", Ümlaut & {{ Sons }}'",
        "license = ''",
        "repo = 'git@github.com:x/y.git'",
    ] {
        let text = PROJECT.replacen("\n\n", &format!("\n{line}\n\n"), 1);
        assert!(parse(&text).is_ok(), "{line}");
    }
    for dependency in ["a = 1\\nb = 2", "a = 1\\n[bin]", "a"] {
        let text = format!("{PROJECT}dependency = \"{dependency}\"\n");
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains("`dependency`: `"), "{error}");
    }
    assert!(parse(&format!("{PROJECT}dependency = 'a = \"1\"'\n")).is_ok());
}

#[test]
fn a_converted_version_that_does_not_exist_is_reported() {
    let hub = r#"
[[webhook]]
group = "crew"
full_group = "crew.example.com"
version = "v1"
kind = "Captain"
plural = "captains"
namespaced = true
type = "api::crew::v1::Captain"
spokes = ["v9"]
"#;
    let error = parse(&format!("{PROJECT}{hub}")).unwrap_err().to_string();
    assert!(
        error.contains(
            "`[[webhook]]` of `Captain` converts `crew.example.com/v9`, but has no `[[api]]` for it"
        ),
        "{error}"
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = PROJECT
        .replace("captains\"\nd", "C\"\nd")
        .replace("example.com", "example.com.");
    let error = parse(&text).unwrap_err().to_string();
    assert!(error.contains("\n    `C` is not a project name"), "{error}");
    assert!(
        error.contains("\n    `example.com.` is not a domain"),
        "{error}"
    );
    assert!(
        error.contains("\n    `crew.example.com.` is not a group"),
        "{error}"
    );
}

#[test]
fn duplicate_tables_are_reported() {
    let (_, tables) = PROJECT.split_once("\n[[api]]").unwrap();
    let text = format!("{PROJECT}\n[[api]]{tables}");
    let error = parse(&text).unwrap_err().to_string();
    assert!(
        error.contains("duplicate `[[api]]` of `Captain` in `crew.example.com/v1`"),
        "{error}"
    );
    assert!(
        error.contains("duplicate `[[controller]]` `pod`"),
        "{error}"
    );
}
