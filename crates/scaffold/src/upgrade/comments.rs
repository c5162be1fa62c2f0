//! Resolves conflicts in comments that have one solution: new words, and permissions, which are a set.

use super::merge::Hunk;
use crate::rust::is_rust;

/// The start of a permission in Rust.
const RULE: &str = "// +kbr:rbac:";

/// The merged file at `path` with fewer conflicts.
pub fn resolved(path: &str, hunks: Vec<Hunk>) -> Vec<Hunk> {
    let resolve = |hunk| match hunk {
        Hunk::Conflict {
            ancestor,
            ours,
            new,
        } => {
            let ours = with_rules(path, &ancestor, &ours, &new);
            if code(path, &ancestor) == code(path, &new) {
                // The release has changed only comments, and the user's lines may have comments of their own.
                Hunk::Merged(ours)
            } else {
                Hunk::Conflict {
                    ancestor,
                    ours,
                    new,
                }
            }
        }
        merged @ Hunk::Merged(_) => merged,
    };
    hunks.into_iter().map(resolve).collect()
}

/// The lines that are neither blank nor comments. Permissions are merged as a set, so they do not count either.
fn code<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    let lines = text.lines().map(str::trim);
    let code = lines.filter(|line| !is_comment(path, line));
    code.map(|line| without_comment(path, line)).collect()
}

/// A line of Rust without the comment at its end. A `//` in a string does not begin one.
fn without_comment<'a>(path: &str, line: &'a str) -> &'a str {
    match line.split_once(" // ") {
        Some((code, _)) if is_rust(path) && code.matches('"').count() % 2 == 0 => code,
        _ => line,
    }
}

fn is_comment(path: &str, line: &str) -> bool {
    if line.is_empty() || is_rule(path, line) {
        return true;
    }
    let sign = match path.rsplit_once('.').map(|(_, end)| end) {
        Some("rs") => "//",
        Some("md" | "json") => return false,
        _ => "#",
    };
    line.starts_with(sign) && !line.contains("+kbr:")
}

fn is_rule(path: &str, line: &str) -> bool {
    is_rust(path) && line.trim_start().starts_with(RULE)
}

/// `ours` with the permissions that the release adds, and without those that it drops, if it has permissions.
fn with_rules(path: &str, ancestor: &str, ours: &str, new: &str) -> String {
    let rules = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| is_rule(path, line));
        lines.map(|line| line.trim().to_owned()).collect()
    };
    let (before, after) = (rules(ancestor), rules(new));
    let mut lines: Vec<String> = ours.split_inclusive('\n').map(str::to_owned).collect();
    lines.retain(|line| {
        let rule = line.trim();
        !is_rule(path, line)
            || !before.iter().any(|it| it == rule)
            || after.iter().any(|it| it == rule)
    });
    let own = rules(ours);
    let Some(last) = ours.lines().rev().find(|line| is_rule(path, line)) else {
        return ours.to_owned();
    };
    let indent = &last[..last.len() - last.trim_start().len()];
    let added = after
        .iter()
        .filter(|rule| !before.contains(rule) && !own.contains(rule));
    let added: Vec<String> = added.map(|rule| format!("{indent}{rule}\n")).collect();
    let place = lines.iter().rposition(|line| is_rule(path, line));
    let place = place.map_or(0, |at| at + 1);
    lines.splice(place..place, added);
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::super::merge::{clean, merge};
    use super::*;

    fn check(path: &str, [ancestor, ours, new]: [&str; 3], expected: Option<&str>) {
        let hunks = resolved(path, merge(ancestor, ours, new));
        assert_eq!(clean(&hunks).as_deref(), expected);
    }

    #[test]
    fn the_users_line_stays_next_to_a_comment_that_has_other_words() {
        check(
            "Makefile",
            [
                "IMG = a\n# Old words.\n",
                "IMG = mine\n# Old words.\n",
                "IMG = a\n# New words.\n",
            ],
            Some("IMG = mine\n# Old words.\n"),
        );
        check("Makefile", ["IMG = a\n", "IMG = mine\n", "IMG = b\n"], None);
        check(
            "src/a.rs",
            [
                "a(b); // old\nc(\"x // y\");\n",
                "mine(b); // old\nc(\"x // y\");\n",
                "a(b); // new\nc(\"x // y\");\n",
            ],
            Some("mine(b); // old\nc(\"x // y\");\n"),
        );
        check("README.md", ["# Old\n", "# Mine\n", "# New\n"], None);
    }

    #[test]
    fn permissions_are_merged_as_a_set() {
        let rule = |rule: &str| format!("// +kbr:rbac:{rule}\n");
        let [a, b, own, new] = ["a", "b", "own", "new"].map(rule);
        let function = "/// Old.\nfn a() {}\n";
        let renewed = "/// New.\nfn a() {}\n";
        check(
            "src/a.rs",
            [
                &format!("{a}{b}{function}"),
                &format!("{a}{b}{own}/// Mine.\nfn a() {{}}\n"),
                &format!("{a}{new}{renewed}"),
            ],
            Some(&format!("{a}{own}{new}/// Mine.\nfn a() {{}}\n")),
        );
    }
}
