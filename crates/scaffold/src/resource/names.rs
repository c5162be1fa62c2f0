//! The rules of Kubernetes and Rust for names.

use super::api_version;

/// Rust's keywords in every edition, including reserved ones.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Names that a module of a generated project cannot have: a `use` of the crate would be ambiguous, or the path
/// (`api/src/bin/`, `api/src/lib.rs`, `api/src/main.rs`) has a special meaning for cargo.
const MODULES_TAKEN: &[&str] = &[
    "alloc",
    "bin",
    "client",
    "core",
    "k8s_openapi",
    "kube",
    "lib",
    "main",
    "schemars",
    "serde",
    "serde_json",
    "std",
];

/// Names in the standard library's prelude: importing a kind under one of them would shadow the original.
const PRELUDE: &[&str] = &[
    "AsMut",
    "AsRef",
    "AsyncFn",
    "AsyncFnMut",
    "AsyncFnOnce",
    "Box",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "Err",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Future",
    "Hash",
    "Into",
    "IntoFuture",
    "IntoIterator",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Send",
    "Sized",
    "Some",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "Vec",
];

/// Names that the scaffolded controller imports.
const CONTROLLER_IMPORTS: &[&str] = &[
    "Action",
    "Api",
    "Arc",
    "Client",
    "Condition",
    "Context",
    "FakeApi",
    "Manager",
    "ObjectMeta",
    "Resource",
    "ResourceExt",
];

/// Names that the scaffolded webhooks import.
const WEBHOOK_IMPORTS: &[&str] = &["FakeApi", "Manager"];

/// Names that the scaffolded conversions import.
const CONVERSION_IMPORTS: &[&str] = &["Spoke"];

/// The module of the `api` crate that the first conversion of a project creates: no group can have it. It is not among
/// [`MODULES_TAKEN`], because released projects have such groups, which works as long as nothing is converted.
pub const CONVERSION_MODULE: &str = "conversion";

/// The maximum length of a DNS label.
pub const LABEL_MAX: usize = 63;
/// The maximum length of a DNS name.
pub const SUBDOMAIN_MAX: usize = 253;

/// Whether `word` is a keyword of Rust.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Whether a controller must import the type `name` under an alias.
pub fn is_taken_in_controllers(name: &str) -> bool {
    PRELUDE.contains(&name) || CONTROLLER_IMPORTS.contains(&name)
}

/// Whether a webhook must import the type `name` under an alias.
pub fn is_taken_in_webhooks(name: &str) -> bool {
    PRELUDE.contains(&name) || WEBHOOK_IMPORTS.contains(&name)
}

/// Whether a conversion must import the type `name` under an alias.
pub fn is_taken_in_conversions(name: &str) -> bool {
    PRELUDE.contains(&name) || CONVERSION_IMPORTS.contains(&name)
}

/// The name under which a file imports the type `name`: `ActionKind` if the file already uses `Action`.
pub fn alias(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    if is_taken(name) {
        format!("{name}Kind")
    } else {
        name.to_owned()
    }
}

/// `a` or `an` before a kind: by its first sound, as far as the letters tell.
pub fn article(kind: &str) -> &'static str {
    let letters: Vec<char> = kind.chars().take(3).collect();
    let lower = kind.to_ascii_lowercase();
    let is_spelled = letters.get(1).is_some_and(|it| !it.is_ascii_lowercase());
    let is_vowel = if is_spelled {
        lower.starts_with(|it| "aefhilmnorsx".contains(it))
    } else {
        // A user and a unit, but an update.
        let is_long =
            lower.starts_with('u') && letters.get(2).is_some_and(|it| "aeio".contains(*it));
        lower.starts_with(|it| "aeiou".contains(it)) && !is_long
    };
    if is_vowel { "an" } else { "a" }
}

/// The Rust module of a group, kind or controller: `.` and `-` become `_`, and a leading digit gets the prefix `g`. Keywords,
/// reserved names and names that look like a version get the suffix `_`, because the modules between groups and kinds are versions.
pub fn module(name: &str) -> String {
    let mut module = name.replace(['.', '-'], "_");
    if module.starts_with(|first: char| first.is_ascii_digit()) {
        module.insert(0, 'g');
    }
    if is_keyword(&module) || is_version(&module) || MODULES_TAKEN.contains(&module.as_str()) {
        module.push('_');
    }
    module
}

/// Whether `version` is an API version by Kubernetes' rule.
pub fn is_version(version: &str) -> bool {
    version.len() <= LABEL_MAX && api_version::is_valid(version)
}

/// Whether an API server accepts `version` in a CRD, and Rust as a module: such as `v0`, `v1alpha08` or `v1api20230101`.
pub fn is_foreign_version(version: &str) -> bool {
    let is_numbered = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
    is_rfc1035_label(version)
        && !version.contains('-')
        && version.strip_prefix('v').is_some_and(is_numbered)
}

/// Whether `name` is a label of RFC 1123: at most 63 characters of `a-z`, `0-9` and `-`, without `-` at either end.
pub fn is_label(name: &str) -> bool {
    name.len() <= LABEL_MAX && is_part(name)
}

/// Whether `text` is a part of a name between dots. Kubernetes limits only the length of the whole name, not of each part.
fn is_part(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.bytes().all(is_allowed)
}

/// Whether `name` is a label of RFC 1035: a label of RFC 1123 that starts with a letter.
pub fn is_rfc1035_label(name: &str) -> bool {
    is_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase())
}

/// Whether `name` is a DNS name by Kubernetes' rules: labels of RFC 1123 separated by dots, at most 253 characters.
pub fn is_subdomain(name: &str) -> bool {
    name.len() <= SUBDOMAIN_MAX && name.split('.').all(is_part)
}

/// The label nearest to `text`: in lower case, with a single `-` for each run of other characters, and none at either end.
pub fn to_label(text: &str) -> String {
    let mut label = String::new();
    for character in text.chars() {
        if character.is_ascii_alphanumeric() {
            label.push(character.to_ascii_lowercase());
        } else if !label.is_empty() && !label.ends_with('-') {
            label.push('-');
        }
    }
    label.truncate(LABEL_MAX);
    label.trim_end_matches('-').to_owned()
}

/// Whether `path` is the path of a type in a crate: `cert_manager::v1::Certificate`.
pub fn is_type_path(path: &str) -> bool {
    let is_name = |part: &str| {
        !part.starts_with(|first: char| first.is_ascii_digit())
            && !part.is_empty()
            && !is_keyword(part)
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    path.contains("::") && path.split("::").all(is_name)
}

/// The DNS name nearest to `text`, or empty.
pub fn to_subdomain(text: &str) -> String {
    let labels: Vec<String> = text.split('.').map(to_label).collect();
    let labels: Vec<&str> = labels
        .iter()
        .map(String::as_str)
        .filter(|label| !label.is_empty())
        .collect();
    labels.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_article_of_a_kind_is_that_of_its_first_sound() {
        let with = |kind| format!("{} {kind}", article(kind));
        for expected in [
            "a Captain",
            "an Exchange",
            "an At",
            "a User",
            "a Unit",
            "an UpgradePlan",
            "an AWSMachine",
            "a VMService",
            "an S3Bucket",
            "a Hold",
            "an HTTPRoute",
        ] {
            let kind = expected.split(' ').nth(1).unwrap();
            assert_eq!(with(kind), expected);
        }
        assert_eq!(article(""), "a");
    }

    #[test]
    fn a_module_is_a_unique_rust_identifier() {
        for (name, expected) in [
            ("crew", "crew"),
            ("programming-kubernetes.info", "programming_kubernetes_info"),
            ("3scale", "g3scale"),
            ("type", "type_"),
            ("self", "self_"),
            ("crate", "crate_"),
            ("gen", "gen_"),
            ("bin", "bin_"),
            ("serde-json", "serde_json_"),
            ("union", "union"),
            ("v1alpha1", "v1alpha1_"),
            ("v1alpha", "v1alpha"),
        ] {
            assert_eq!(module(name), expected);
        }
    }

    #[test]
    fn labels_and_subdomains_follow_kubernetes() {
        for good in ["a", "a1", "1a", "a-b", &"a".repeat(63)] {
            assert!(is_label(good), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a.b", "ä", &"a".repeat(64)] {
            assert!(!is_label(bad), "{bad}");
        }
        assert!(is_rfc1035_label("a1") && !is_rfc1035_label("1a"));
        for good in ["a", "a.b", "cnat.programming-kubernetes.info", "3scale.net"] {
            assert!(is_subdomain(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "a.-b",
            "A.b",
            "a_b",
            "a b",
            &"a".repeat(254),
        ] {
            assert!(!is_subdomain(bad), "{bad}");
        }
    }

    #[test]
    fn the_nearest_name_is_valid() {
        assert_eq!(to_label("My Operator_2.0"), "my-operator-2-0");
        assert_eq!(to_label("--x--"), "x");
        assert_eq!(to_label("日本"), "");
        assert_eq!(to_subdomain("Example_Corp..COM."), "example-corp.com");
    }
}
