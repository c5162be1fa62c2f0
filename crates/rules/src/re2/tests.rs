use super::*;

#[test]
fn patterns_match_like_in_go() {
    let table = [
        ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-b", true),
        ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-", false),
        (r"^\d{1,3}(\.\d{1,3}){3}/\d+$", "10.0.0.0/8", true),
        (r"^\w+$", "é", false),
        ("^[^]a]$", "b", true),
        ("^[]a]$", "]", true),
        ("^[a&&b]+$", "a&b", true),
        ("^[[:alpha:]_]+$", "a_B", true),
        (r"^\Qa.b\E+$", "a.bb", true),
        ("^{a}$", "{a}", true),
        ("^a{,3}$", "a{,3}", true),
        ("(?i)^ABC$", "abc", true),
        (r"^[\d_-]+$", "1_-", true),
        (r"\101", "A", true),
        (r"^\p{Greek}\pL$", "αb", true),
        (r"^(?P<year>\d{4})-(?<month>\d\d)$", "2026-11", true),
        ("", "anything", true),
        ("^a*?$", "aa", true),
        (r"^\<\_$", "<_", true),
    ];
    for (pattern, text, expected) in table {
        assert_eq!(
            matches(pattern, text),
            Some(expected),
            "{pattern} on {text}: {:?}",
            translate(pattern)
        );
    }
}

#[test]
fn patterns_that_go_rejects_are_rejected() {
    let rejected = [
        "^(?!kube-)",
        "(?=a)",
        "(?<=a)b",
        "(?<!a)b",
        r"(a)\1",
        "a**",
        "*a",
        "(",
        ")",
        "[a",
        "a{1001}",
        "(a{100}){100}",
        "a{3,2}",
        r"\Z",
        r"\h",
        r"\",
        "[z-a]",
        "[[:foo:]]",
        r"\p{Foo}",
        "(?P<a>.)(?P<a>.)",
        "(?P<>a)",
        "(?x)a",
        "(?i)*",
        "a|*",
        "(*)",
        r"\xZZ",
        r"[\A]",
        "(?#comment)",
        "(?>a)",
        "a+*",
        "(?-)a",
    ];
    for pattern in rejected {
        assert!(
            translate(pattern).is_err(),
            "{pattern}: {:?}",
            translate(pattern)
        );
    }
}
