//! The findings that a project allows: every finding of an id through PROJECT, single ones through comments.

use std::collections::BTreeSet;

use crd_lint::compatibility::RULES;
use crd_lint::{LINTS, Lint, nearest};

use super::markers::Marker;
use super::problem::Problem;

/// The id of attributes that have no effect.
pub const IGNORED_ATTRIBUTE: &str = "ignored-attribute";

/// The id of permissions that the code needs but no comment grants.
pub const MISSING_PERMISSION: &str = "missing-permission";

/// The id of watches that cache every object of a large kind.
pub const UNSELECTIVE_WATCH: &str = "unselective-watch";

/// The id of types that read or write something else than their schema says.
pub const SERDE: &str = "serde";

/// The id of a kind that earlier CRDs have and no type defines any more. It has no line of Rust, so only PROJECT can allow it.
pub const KIND_REMOVED: &str = "kind-removed";

/// A finding that crd-lint cannot have, because it is about several definitions or about sources: a row of docs/lint.md.
struct Own {
    id: &'static str,
    kind: Kind,
    /// What it finds, in one line.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the page"))]
    explanation: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Error,
    /// An error that can be allowed, because a newer Kubernetes may accept what it finds.
    UnlessAllowed,
    Warning,
}

impl Own {
    const fn new(id: &'static str, kind: Kind, explanation: &'static str) -> Self {
        Self {
            id,
            kind,
            explanation,
        }
    }
}

const OWN: &[Own] = &[
    Own::new(
        IGNORED_ATTRIBUTE,
        Kind::Error,
        "attributes that have no effect: `length` on a map, `range` on a string, `StructMerge`, unknown keys in `extend`",
    ),
    Own::new(
        SERDE,
        Kind::UnlessAllowed,
        "a type and its schema that disagree: an object that the API server accepts cannot be read, or what is written of it is rejected, loses a field, or differs each time; a warning if only some texts or numbers cannot be read. Objects made from the schema show it, so no attribute has to be known",
    ),
    Own::new(
        "unknown-resource",
        Kind::UnlessAllowed,
        "a group, resource or sub-resource in a marker for RBAC or a webhook that does not exist",
    ),
    Own::new(
        "unknown-verb",
        Kind::UnlessAllowed,
        "a verb in a marker for RBAC that Kubernetes does not have",
    ),
    Own::new(
        "unknown-webhook-field",
        Kind::UnlessAllowed,
        "a field in the `patch` of a webhook marker that webhooks do not have",
    ),
    Own::new(
        "versions",
        Kind::Warning,
        "a field that another version lacks or has with another type, with nothing to convert it: `kbr create webhook … --conversion --spoke …` adds a conversion",
    ),
    Own::new(
        MISSING_PERMISSION,
        Kind::Warning,
        "a kind that a controller watches, its finalizer, or an event that it publishes, without a marker for RBAC that permits it",
    ),
    Own::new(
        UNSELECTIVE_WATCH,
        Kind::Warning,
        "`kind::<C>` of whole Secrets, ConfigMaps, Pods or Events without [`manager.cache`](concepts.md#the-shape-of-a-cache), so that the operator caches those of the whole cluster",
    ),
];

/// The ids that PROJECT allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allow(BTreeSet<String>);

impl Allow {
    pub fn new(ids: &[String]) -> Self {
        Self(ids.iter().cloned().collect())
    }

    pub fn has(&self, id: &str) -> bool {
        self.0.contains(id)
    }
}

/// Whether findings with this id can be allowed.
pub fn is_allowable(id: &str) -> bool {
    allowable().any(|known| known == id)
}

fn allowable() -> impl Iterator<Item = &'static str> {
    let lints = LINTS.iter().filter(|lint| lint.is_allowable());
    let own = OWN.iter().filter(|own| own.kind != Kind::Error);
    let rules = RULES.iter().filter(|rule| rule.is_allowable);
    let ids = lints.map(|lint| lint.id).chain(own.map(|own| own.id));
    ids.chain(rules.map(|rule| rule.id)).chain([KIND_REMOVED])
}

fn is_known(id: &str) -> bool {
    let matches = |lint: &Lint| lint.id == id;
    let is_rule = RULES.iter().any(|rule| rule.id == id);
    LINTS.iter().any(matches) || OWN.iter().any(|own| own.id == id) || is_rule
}

/// Validates the ids that PROJECT allows.
pub fn check_project(ids: &[String]) -> Vec<Problem> {
    let problems = ids.iter().filter_map(|id| check(id));
    let at = |problem: Problem| problem.at("PROJECT");
    problems.map(at).collect()
}

/// Validates the comments that allow findings.
pub fn check_comments(markers: &[Marker]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for marker in markers {
        for (key, ids) in &marker.arguments {
            let wrong = ids.iter().filter_map(|id| check(id));
            problems.extend(wrong.map(|problem| problem.at(&marker.at)));
            if key != "allow" {
                let text = format!("`{key}` is not an argument of `+kbr:lint`");
                let help = "write `// +kbr:lint:allow=<id>`";
                problems.push(Problem::new(text).at(&marker.at).help(help));
            }
        }
    }
    problems
}

fn check(id: &str) -> Option<Problem> {
    if is_allowable(id) {
        return None;
    }
    if is_known(id) {
        let text = format!("`{id}` is an error that cannot be allowed");
        return Some(Problem::new(text).help("fix the error, and remove the id"));
    }
    let text = format!("`{id}` is not a finding that can be allowed");
    Some(Problem::new(text).did_you_mean(nearest(id, allowable())))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use crd_lint::Severity;
    use crd_lint::compatibility::Rule;

    use super::*;

    #[test]
    fn an_unknown_id_is_reported_with_the_nearest_one_and_an_error_cannot_be_allowed() {
        let report = |id: &str| {
            let found = check_project(&[id.to_owned()]);
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            found.join("")
        };
        assert_eq!(report("unknown-function"), "");
        assert_eq!(report("versions"), "");
        let unknown = "`PROJECT`: `unknown-funktion` is not a finding that can be allowed\n    help: did you mean `unknown-function`";
        assert_eq!(report("unknown-funktion"), unknown);
        assert!(report("pattern").contains("`pattern` is an error that cannot be allowed"));
    }

    /// The table of docs/lint.md for findings of a kind, without its first two lines.
    fn table(kind: Kind) -> String {
        let of = |lint: &Lint| match (lint.severity, lint.is_allowable()) {
            (Severity::Warning, _) => Kind::Warning,
            (Severity::Error, true) => Kind::UnlessAllowed,
            (Severity::Error, false) => Kind::Error,
        };
        let lints = LINTS.iter().filter(|lint| of(lint) == kind);
        let lints = lints.map(|lint| (lint.id, lint.explanation));
        let own = OWN.iter().filter(|own| own.kind == kind);
        let rows = lints.chain(own.map(|own| (own.id, own.explanation)));
        let rows = rows.map(|(id, finds)| format!("| `{id}` | {finds} |\n"));
        rows.collect::<Vec<_>>().concat()
    }

    #[test]
    fn the_tables_of_the_lint_page_are_generated() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lint.md");
        let mut page = fs::read_to_string(&path).unwrap();
        let found = page.clone();
        for (head, kind) in [
            ("\n| Error | Finds |\n|---|---|\n", Kind::Error),
            (
                "\n| Error, unless allowed | Finds |\n|---|---|\n",
                Kind::UnlessAllowed,
            ),
            ("\n| Warning | Finds |\n|---|---|\n", Kind::Warning),
        ] {
            let start = page.find(head).expect("the table") + head.len();
            let end = start + page[start..].find("\n\n").expect("an end") + 1;
            page.replace_range(start..end, &table(kind));
        }
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &page).unwrap();
        } else {
            assert!(page == found, "docs/lint.md is stale: run `make update`");
        }
    }

    #[test]
    fn the_page_about_compatibility_lists_every_rule() {
        let page = include_str!("../../../docs/compatibility.md");
        let (_, table) = page.split_once("| Rule | Severity | Finds |").unwrap();
        let rows = table.lines().skip(2).take_while(|line| !line.is_empty());
        let rule = |rule: &Rule| {
            let (id, severity) = (rule.id, rule.severity);
            format!("| `{id}` | {severity} | {} |", rule.explanation)
        };
        let expected: Vec<String> = RULES.iter().map(rule).collect();
        let (own, rows): (Vec<_>, Vec<_>) = rows.partition(|row| row.contains(KIND_REMOVED));
        assert_eq!(rows, expected);
        assert_eq!(own.len(), 1);
    }

    #[test]
    fn the_id_of_a_rule_is_not_that_of_a_lint() {
        for rule in RULES {
            let is_lint = LINTS.iter().any(|lint| lint.id == rule.id);
            let is_own = OWN.iter().any(|own| own.id == rule.id);
            assert!(!is_lint && !is_own, "{}", rule.id);
        }
    }
}
