//! The rules of Kubernetes, Rust and the generated code for the names of an API.

use super::{Resource, names, shared};
use kbr_host::diagnostic::Problems;

/// Longest kind: the API server requires the list kind, `<Kind>List`, to be a DNS label of at most 63 characters.
const KIND_MAX: usize = names::LABEL_MAX - "List".len();

/// Kinds whose type would hide a name that the code in its own file needs, found with kube-derive 5 and serde 1. `S` is the type
/// parameter of the derived `Serialize`.
const KINDS_TAKEN: &[&str] = &["Default", "Option", "S", "Self", "String", "Vec"];

/// Kinds whose type would hide an import of the types that are generated from a CRD.
const IMPORTS: &[&str] = &[
    "BTreeMap",
    "Clone",
    "Deserialize",
    "IntOrString",
    "JsonSchema",
    "Result",
    "Serialize",
    "Value",
];

/// What to do with a kind that no type can have.
const UNTYPED: &str = "use `kube::core::DynamicObject` for its objects";

/// Groups that the API server accepts from the Kubernetes project only (annotation `api-approved.kubernetes.io`).
const PROTECTED: &[&str] = &["k8s.io", "kubernetes.io"];

pub(super) fn check(resource: &Resource, problems: &mut Problems) {
    check_group(resource, problems);
    if resource.imported {
        check_foreign_version(&resource.version, problems);
        check_foreign_kind(&resource.kind, problems);
    } else {
        check_version(&resource.version, problems);
        check_kind(&resource.kind, problems);
    }
    if !problems.is_empty() {
        // The names below are derived from those above.
        return;
    }
    check_label("plural", &resource.plural, problems);
    resource.check_flags(problems);
    let name = format!("{}.{}", resource.plural, resource.full_group);
    if name.len() > names::SUBDOMAIN_MAX {
        problems.add(
            format!(
                "the name of the CRD, `{name}`, is longer than {} characters",
                names::SUBDOMAIN_MAX
            ),
            "use a shorter `--group`",
        );
    }
}

/// An external kind only has to be valid for Kubernetes.
pub(super) fn check_external(resource: &Resource, problems: &mut Problems) {
    check_group_spelling(resource, problems);
    if !names::is_foreign_version(&resource.version) {
        check_version(&resource.version, problems);
    }
    if let Some(problem) = kind_spelling(&resource.kind) {
        problems.add(
            problem,
            format!("try `--kind {}`", nearest_kind(&resource.kind)),
        );
    }
    check_label("plural", &resource.plural, problems);
}

fn check_group(resource: &Resource, problems: &mut Problems) {
    if !check_group_spelling(resource, problems) {
        return;
    }
    let group = &resource.full_group;
    if !group.contains('.') {
        problems.add(
            format!("`{group}` is not a full group: the API server requires a dot in it"),
            format!("pass a domain: `--group {group} --domain example.com`"),
        );
    } else if let Some(owner) = protected(group).filter(|_| !resource.imported) {
        let word = group.split('.').next().unwrap_or_default();
        problems.add(
            format!("`{group}` belongs to the Kubernetes project: the API server rejects new kinds under `{owner}`"),
            format!("use your own domain: `--group {word} --domain example.com`; for a controller of a built-in kind, pass `--resource=false`"),
        );
    }
}

/// Checks that the group leaves the module of conversions to them.
pub(super) fn check_group_module(resource: &Resource, problems: &mut Problems) {
    let (group, module) = (&resource.full_group, resource.group_module());
    if module == names::CONVERSION_MODULE {
        problems.add(
            format!("the module `{module}` of the `api` crate is reserved for conversions, so `{group}` needs another module"),
            format!(
                "pass the full group, so that the module is `{}`: `--group {group} --domain ''`",
                names::module(group)
            ),
        );
    }
}

/// Checks the syntax of a group.
fn check_group_spelling(resource: &Resource, problems: &mut Problems) -> bool {
    let group = &resource.full_group;
    if group.is_empty() {
        let help = "pass `--group`, `--domain` or both: `--group crew --domain example.com`";
        problems.add("both group and domain are empty", help);
        return false;
    }
    if names::is_subdomain(group) {
        return true;
    }
    let domain = group.strip_prefix(&resource.group).unwrap_or_default();
    let nearest = names::to_subdomain(&resource.group);
    let help = if names::is_subdomain(&format!("{nearest}{domain}")) {
        format!("try `--group {nearest}`")
    } else {
        "try `--group crew --domain example.com`".to_owned()
    };
    let rule = "use at most 253 lower-case letters and digits, with `-` or `.` between them";
    problems.add(format!("`{group}` is not a group: {rule}"), help);
    false
}

/// The protected domain that contains `group`.
pub fn protected(group: &str) -> Option<&'static str> {
    PROTECTED.iter().copied().find(|owner| {
        group
            .strip_suffix(owner)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

pub(super) fn check_version(version: &str, problems: &mut Problems) {
    if !names::is_version(version) {
        problems.add(
            format!("`{version}` is not an API version such as `v1`, `v2beta3` or `v1alpha1`"),
            format!("try `--version {}`", nearest_version(version)),
        );
    }
}

/// Checks the version of a CRD, which nobody can choose.
fn check_foreign_version(version: &str, problems: &mut Problems) {
    if !names::is_foreign_version(version) {
        problems.add(
            format!("the version `{version}` cannot be a module of Rust such as `v1`, `v1alpha1` or `v1api20230101`"),
            UNTYPED,
        );
    }
}

/// Checks the kind of a CRD, which nobody can choose: it may end with `List`.
fn check_foreign_kind(kind: &str, problems: &mut Problems) {
    if let Some(problem) = kind_spelling(kind) {
        problems.add(problem, UNTYPED);
    } else if KINDS_TAKEN.contains(&kind) || IMPORTS.contains(&kind) {
        problems.add(taken(kind), UNTYPED);
    }
}

fn taken(kind: &str) -> String {
    format!("a kind cannot be named `{kind}`: the generated code uses that name")
}

/// `v1` for `1` and `v1.2`, `v1alpha1` for `v1alpha`.
fn nearest_version(version: &str) -> String {
    let lower = version.to_ascii_lowercase();
    let number = |text: &str| {
        let digits: String = text
            .chars()
            .skip_while(|character| !character.is_ascii_digit() || *character == '0')
            .take_while(char::is_ascii_digit)
            .take(9)
            .collect();
        if digits.is_empty() {
            "1".to_owned()
        } else {
            digits
        }
    };
    for stage in ["alpha", "beta"] {
        if let Some((major, minor)) = lower.split_once(stage) {
            return format!("v{}{stage}{}", number(major), number(minor));
        }
    }
    format!("v{}", number(&lower))
}

/// Checks the spelling of a kind, and that its file can use the name.
pub(super) fn check_kind(kind: &str, problems: &mut Problems) {
    let proposal = |name: String| format!("try `--kind {name}`");
    if let Some(problem) = kind_spelling(kind) {
        problems.add(problem, proposal(nearest_kind(kind)));
    } else if KINDS_TAKEN.contains(&kind) {
        problems.add(taken(kind), proposal(format!("App{kind}")));
    } else if kind.ends_with("List") {
        let nearest = match kind.trim_end_matches("List") {
            "" => "Listing".to_owned(),
            stem => nearest_kind(stem),
        };
        problems.add(
            format!("a kind cannot be named `{kind}`: Kubernetes reserves names that end with `List` for lists"),
            proposal(nearest),
        );
    }
}

fn kind_spelling(kind: &str) -> Option<String> {
    let alphanumeric = kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !alphanumeric || !kind.starts_with(|first: char| first.is_ascii_uppercase()) {
        let rule = "use letters and digits, starting with an upper-case letter";
        return Some(format!("`{kind}` is not a kind: {rule}"));
    }
    (kind.len() > KIND_MAX)
        .then(|| format!("the kind `{kind}` is longer than {KIND_MAX} characters"))
}

/// `MyKind` for `my-kind`.
fn nearest_kind(kind: &str) -> String {
    let mut nearest = String::new();
    for word in kind.split(|character: char| !character.is_ascii_alphanumeric()) {
        let mut chars = word.chars();
        nearest.extend(chars.next().map(|first| first.to_ascii_uppercase()));
        nearest.push_str(chars.as_str());
    }
    let nearest = nearest.trim_start_matches(|first: char| first.is_ascii_digit());
    let mut nearest: String = nearest.chars().take(KIND_MAX).collect();
    if nearest.is_empty() {
        return "Captain".to_owned();
    }
    nearest[..1].make_ascii_uppercase();
    let mut problems = Problems::default();
    check_kind(&nearest, &mut problems);
    if problems.is_empty() {
        nearest
    } else {
        format!("App{}", nearest.trim_end_matches("List"))
    }
}

/// Checks a name that the API server wants to be a label of DNS.
pub(super) fn check_label(flag: &str, name: &str, problems: &mut Problems) {
    if names::is_rfc1035_label(name) {
        return;
    }
    let nearest = names::to_label(name);
    let nearest = nearest.trim_start_matches(|first: char| !first.is_ascii_lowercase());
    let help = match nearest {
        "" => format!("pass another `--{flag}`"),
        nearest => format!("try `--{flag} {nearest}`"),
    };
    let rule = "use at most 63 lower-case letters, digits and `-`, starting with a letter";
    problems.add(
        format!("`{name}` is not a valid {}: {rule}", flag.replace('-', " ")),
        help,
    );
}

/// Checks `new` against an API that the project already has.
pub(super) fn check_pair(new: &Resource, old: &Resource, problems: &mut Problems) {
    if new.matches(old) {
        return;
    }
    if new.full_group != old.full_group {
        check_groups(new, old, problems);
    } else if new.kind == old.kind {
        check_versions(new, old, problems);
    } else {
        check_kinds(new, old, problems);
    }
}

fn check_groups(new: &Resource, old: &Resource, problems: &mut Problems) {
    if new.group_module() != old.group_module() {
        return;
    }
    let (new, old) = (&new.full_group, &old.full_group);
    let module = names::module(new);
    let help = if module == names::module(old) {
        "use another `--group`".to_owned()
    } else {
        format!(
            "pass the full group, so that the module is `{module}`: `--group {new} --domain ''`"
        )
    };
    problems.add(
        format!("the groups `{new}` and `{old}` would share one module of the `api` crate"),
        help,
    );
}

/// All versions of a kind share the names and scope of one CRD.
fn check_versions(new: &Resource, old: &Resource, problems: &mut Problems) {
    for (flag, new_value, old_value) in shared(new, old) {
        if new_value != old_value {
            problems.add(
                format!(
                    "`{}` {} has {flag} `{old_value}`, not `{new_value}`: all versions of a kind share it",
                    old.kind, old.version
                ),
                format!("leave `--{flag}` out"),
            );
        }
    }
}

fn check_kinds(new: &Resource, old: &Resource, problems: &mut Problems) {
    if new.kind_lower() == old.kind_lower() {
        problems.add(
            format!(
                "`{}` and `{}` differ only in case, and Kubernetes also uses kinds in lower case",
                new.kind, old.kind
            ),
            format!("the existing kind is `--kind {}`", old.kind),
        );
        return;
    }
    check_types(new, old, problems);
    let names = |resource: &Resource| {
        let mut names = resource.short_names.clone();
        names.extend([resource.plural.clone(), resource.singular.clone()]);
        names
    };
    let taken = names(old);
    for name in names(new) {
        if taken.contains(&name) {
            problems.add(
                format!(
                    "`{name}.{}` is already a name of the kind `{}`",
                    old.full_group, old.kind
                ),
                format!(
                    "pass other names for `{}`: `--plural`, `--singular`, `--short-name`",
                    new.kind
                ),
            );
            return;
        }
    }
}

/// `FooSpec` and `FooStatus` are types of the kind `Foo`, in the same module as a kind of that name.
fn check_types(new: &Resource, old: &Resource, problems: &mut Problems) {
    if new.version != old.version {
        return;
    }
    for (kind, other) in [(new, old), (old, new)] {
        for part in ["Spec", "Status"] {
            if format!("{}{part}", kind.kind) == other.kind {
                problems.add(
                    format!(
                        "the type `{}` is the {} of the kind `{}`",
                        other.kind,
                        part.to_lowercase(),
                        kind.kind
                    ),
                    format!("try `--kind App{}`", new.kind),
                );
            }
        }
    }
}
