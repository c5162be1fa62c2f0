//! Rules for the project name: it names the crate and the binary, and is the prefix of every name in the cluster.

use crate::cargo_lock;
use crate::library;
use crate::resource::names;

/// The maximum length: `<name>-webhook-certificate` and the names of Pods must be DNS labels.
pub const NAME_MAX: usize = 40;

/// Names with a meaning for cargo: crates that come with Rust, and folders of its build directory.
const OF_CARGO: &[&str] = &[
    "alloc",
    "build",
    "core",
    "deps",
    "doc",
    "examples",
    "incremental",
    "package",
    "proc-macro",
    "std",
    "test",
    "tests",
];

/// Crates and binaries in every project, besides the packages of the library.
const OF_PROJECTS: &[&str] = &["api", "crdgen", "manager"];

/// Why the characters of `name` are invalid, as a sentence.
pub fn spelling(name: &str) -> Option<String> {
    if name.len() > NAME_MAX {
        return Some(format!(
            "the project name `{name}` is longer than {NAME_MAX} characters"
        ));
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return Some(format!(
            "the project name `{name}` starts with a digit, which a crate name cannot"
        ));
    }
    if !names::is_rfc1035_label(name) {
        let rule = "use lower-case letters, digits and `-`, starting with a letter";
        return Some(format!("`{name}` is not a project name: {rule}"));
    }
    None
}

/// Why `name` is invalid, as a sentence. `lock` is that of the reference project.
pub fn problem(name: &str, lock: &str) -> Option<String> {
    if let Some(problem) = spelling(name) {
        return Some(problem);
    }
    if names::is_keyword(&name.replace('-', "_")) || OF_CARGO.contains(&name) {
        return Some(format!("the project name `{name}` is reserved by cargo"));
    }
    if name == "null" {
        return Some("the project name `null` is not a string in YAML".to_owned());
    }
    if OF_PROJECTS.contains(&name) || library::packages().any(|package| package == name) {
        return Some(format!(
            "the project name `{name}` is reserved: every project has a crate of that name"
        ));
    }
    let api = format!("{name}-api");
    let taken = cargo_lock::crates(lock)
        .map(|taken| taken.replace('_', "-"))
        .find(|taken| *taken == name || *taken == api)?;
    Some(format!(
        "the project name `{name}` clashes with the dependency `{taken}` of every project"
    ))
}

/// The valid name nearest to `text`, a folder's name or an invalid one. `lock` is that of the reference project.
pub fn propose(text: &str, lock: &str) -> String {
    let label = names::to_label(text);
    let mut name = label
        .trim_start_matches(|first: char| !first.is_ascii_lowercase())
        .to_owned();
    name.truncate(NAME_MAX);
    let name = name.trim_end_matches('-');
    if name.is_empty() {
        return "my-operator".to_owned();
    }
    if problem(name, lock).is_none() {
        return name.to_owned();
    }
    let suffix = "-operator";
    let stem = &name[..name.len().min(NAME_MAX - suffix.len())];
    format!("{}{suffix}", stem.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout;

    #[test]
    fn an_invalid_project_name_is_rejected_with_a_valid_one() {
        let lock = checkout::lock();
        let long = "a".repeat(41);
        for (bad, reason, proposal) in [
            ("", "is not a project name", "my-operator"),
            ("My Operator", "is not a project name", "my-operator"),
            ("my_operator", "is not a project name", "my-operator"),
            ("my.operator", "is not a project name", "my-operator"),
            ("-a-", "is not a project name", "a"),
            ("3scale", "starts with a digit", "scale"),
            ("2024", "starts with a digit", "my-operator"),
            ("日本", "is not a project name", "my-operator"),
            (&long, "is longer than 40 characters", &long[..40]),
            (
                "manager",
                "is reserved: every project has a crate of that name",
                "manager-operator",
            ),
            (
                "kbr-manager",
                "is reserved: every project has a crate of that name",
                "kbr-manager-operator",
            ),
            (
                "kbr-testing",
                "is reserved: every project has a crate of that name",
                "kbr-testing-operator",
            ),
            (
                "crdgen",
                "is reserved: every project has a crate of that name",
                "crdgen-operator",
            ),
            ("null", "is not a string in YAML", "null-operator"),
            ("type", "is reserved by cargo", "type-operator"),
            ("test", "is reserved by cargo", "test-operator"),
            ("deps", "is reserved by cargo", "deps-operator"),
            (
                "kube",
                "clashes with the dependency `kube`",
                "kube-operator",
            ),
            (
                "serde-json",
                "clashes with the dependency `serde-json`",
                "serde-json-operator",
            ),
        ] {
            let problem = problem(bad, &lock).unwrap_or_default();
            assert!(problem.contains(reason), "{bad}: {problem}");
            assert_eq!(propose(bad, &lock), proposal);
            assert_eq!(super::problem(proposal, &lock), None);
        }
        for good in [
            "a",
            "captains",
            "my-operator",
            "kube-captains",
            "guestbook",
            "kbr",
        ] {
            assert_eq!(problem(good, &lock), None);
            assert_eq!(propose(good, &lock), good);
        }
    }
}
