//! Which versions a selector matches.

use super::*;

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

/// Which of these a selector matches, and where it looks.
fn check(selector: &str, lookup: Lookup, matched: &[&str]) {
    let all = [
        "0.40.9", "1.9.3", "1.35.9", "1.36.0", "1.36.2", "1.36.3", "1.36.10", "1.37.0", "2.0.0",
    ];
    let parsed: Selector = selector.parse().unwrap();
    let found: Vec<_> = all
        .into_iter()
        .filter(|text| parsed.versions.contains(version(text)))
        .collect();
    assert_eq!(found, matched, "{selector}");
    assert_eq!(parsed.lookup, lookup, "{selector}");
}

#[test]
fn a_selector_matches_the_versions_that_it_matches_in_setup_envtest() {
    use Lookup::{Index, StoreFirst, StoreOnly};
    let minor = ["1.36.0", "1.36.2", "1.36.3", "1.36.10"];
    let before = ["0.40.9", "1.9.3", "1.35.9"];
    let all = [
        "0.40.9", "1.9.3", "1.35.9", "1.36.0", "1.36.2", "1.36.3", "1.36.10", "1.37.0", "2.0.0",
    ];
    check("", Index, &all);
    check("latest", Index, &all);
    check("latest-on-disk", StoreOnly, &all);
    check("1.36.2", StoreFirst, &["1.36.2"]);
    check("1.36.2!", Index, &["1.36.2"]);
    for text in ["1.36", "1.36.x", "1.36.*", "~1.36", "~1.36.x", "~1.36.0"] {
        check(text, StoreFirst, &minor);
        check(&format!("{text}!"), Index, &minor);
    }
    check("~1.36.3", StoreFirst, &["1.36.3", "1.36.10"]);
    for text in ["<1.36", "<1.36.x", "<1.36.*", "<1.36.0"] {
        check(text, StoreFirst, &before);
    }
    check("<1.36.3", StoreFirst, &[&before[..], &minor[..2]].concat());
    check("<=1.36.3", StoreFirst, &[&before[..], &minor[..3]].concat());
    check("<=1.36!", Index, &[&before[..], &minor[..]].concat());
}

#[test]
fn other_texts_are_not_selectors() {
    for text in [
        "a.b.c",
        "1",
        "1.36.",
        "1.36.2.1",
        "1.036",
        "01.36",
        "1.36.2-rc.0",
        ">1.36",
        "=1.36",
        "~ 1.36",
        " 1.36",
        "1.36 ",
        "1.x",
        "x",
        "*",
        "!",
        "1.36!!",
        "!1.36",
        "~<1.36",
        "+1.36",
        "1.-36",
        "latest!",
        "1.99999999999",
    ] {
        assert!(text.parse::<Selector>().is_err(), "{text:?}");
    }
    let error = "v1.36.2".parse::<Selector>().unwrap_err();
    assert!(error.ends_with("; leave out the `v`"), "{error}");
}

#[test]
fn versions_are_ordered_by_number() {
    assert!(version("1.36.10") > version("1.36.9"));
    assert!(version("1.9.10") < version("1.10.0"));
    assert!("1.36".parse::<Version>().is_err());
}

#[test]
fn only_the_minor_version_that_was_asked_for_is_accepted_instead() {
    let own = version("1.36.3");
    for text in [
        "latest", "1.36", "1.36.2", "1.36.9", "~1.36.5", "<=1.36", "<1.37",
    ] {
        let selector: Selector = text.parse().unwrap();
        assert!(selector.versions.accepts_minor_of(own), "{text}");
    }
    for text in [
        "1.35", "1.35.3", "1.37.0", "~1.35.1", "<1.36", "<1.36.3", "<=1.36.2", "2.36.3",
    ] {
        let selector: Selector = text.parse().unwrap();
        assert!(!selector.versions.accepts_minor_of(own), "{text}");
    }
}
