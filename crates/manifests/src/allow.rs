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

/// The id of a kind that earlier CRDs have and no type defines any more. It has no line of Rust, so only PROJECT can allow it.
pub const KIND_REMOVED: &str = "kind-removed";

/// Findings that crd-lint cannot have, because they are about several definitions or about sources; and whether they can be allowed.
const OWN: [(&str, bool); 7] = [
    (IGNORED_ATTRIBUTE, false),
    (MISSING_PERMISSION, true),
    ("unknown-resource", true),
    ("unknown-verb", true),
    ("unknown-webhook-field", true),
    (UNSELECTIVE_WATCH, true),
    ("versions", true),
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
    let own = OWN.into_iter().filter(|(_, allowable)| *allowable);
    let rules = RULES.iter().filter(|rule| rule.is_allowable);
    let ids = lints.map(|lint| lint.id).chain(own.map(|(id, _)| id));
    ids.chain(rules.map(|rule| rule.id)).chain([KIND_REMOVED])
}

fn is_known(id: &str) -> bool {
    let matches = |lint: &Lint| lint.id == id;
    let is_rule = RULES.iter().any(|rule| rule.id == id);
    LINTS.iter().any(matches) || OWN.iter().any(|(own, _)| *own == id) || is_rule
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

    const ERRORS: &str = "| Error | Finds |";
    const UNLESS_ALLOWED: &str = "| Error, unless allowed | Finds |";
    const WARNINGS: &str = "| Warning | Finds |";

    /// Each row of the tables in docs/lint.md: the header of its table, the id, and what the lint finds.
    fn rows() -> Vec<(&'static str, &'static str, &'static str)> {
        let mut head = "";
        let mut rows = Vec::new();
        for line in include_str!("../../../docs/lint.md").lines() {
            if let Some(it) = [ERRORS, UNLESS_ALLOWED, WARNINGS]
                .iter()
                .find(|it| **it == line)
            {
                head = it;
            } else if line.is_empty() {
                head = "";
            } else if let (false, Some(row)) = (head.is_empty(), line.strip_prefix("| `")) {
                let (id, text) = row.split_once("` | ").unwrap();
                rows.push((head, id, text.strip_suffix(" |").unwrap()));
            }
        }
        rows
    }

    #[test]
    fn the_lint_page_lists_every_finding_in_the_right_table_and_no_others() {
        let head = |lint: &Lint| match (lint.severity, lint.is_allowable()) {
            (Severity::Warning, _) => WARNINGS,
            (Severity::Error, true) => UNLESS_ALLOWED,
            (Severity::Error, false) => ERRORS,
        };
        let mut rows = rows();
        for lint in LINTS {
            let row = (head(lint), lint.id, lint.explanation);
            let at = rows.iter().position(|known| *known == row);
            rows.remove(at.unwrap_or_else(|| panic!("docs/lint.md lacks {row:?}")));
        }
        for (id, allowable) in OWN {
            let at = rows.iter().position(|(_, known, _)| *known == id);
            let (head, ..) = rows.remove(at.unwrap_or_else(|| panic!("docs/lint.md lacks `{id}`")));
            assert_eq!(head != ERRORS, allowable, "{id}");
        }
        assert_eq!(rows, [], "these are not findings");
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
            let is_own = OWN.iter().any(|(id, _)| *id == rule.id);
            assert!(!is_lint && !is_own, "{}", rule.id);
        }
    }
}
