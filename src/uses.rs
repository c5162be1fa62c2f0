//! Resolves names and calls in a Rust file through its `use` items.

use std::collections::BTreeMap;

/// Maps names in the file to paths: `Captain` -> `api::crew::v1::Captain`. `code` must have no comments or strings.
pub fn uses(code: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (at, _) in code.match_indices("use ") {
        let before = code[..at].chars().next_back();
        let item = !before.is_some_and(|c| c == '_' || c.is_alphanumeric());
        if let (true, Some((tree, _))) = (item, code[at + 4..].split_once(';')) {
            let tree: String = tree.split_whitespace().collect::<Vec<_>>().join(" ");
            expand("", &tree, &mut found);
        }
    }
    found
}

/// Reads `a::{b, c as d}` below `prefix`.
fn expand(prefix: &str, tree: &str, found: &mut BTreeMap<String, String>) {
    let tree = tree.trim().trim_start_matches("::");
    if let Some((path, group)) = tree.split_once('{') {
        let prefix = format!("{prefix}{}", path.trim());
        let group = group.trim_end().strip_suffix('}').unwrap_or(group);
        for part in parts(group) {
            expand(&prefix, part, found);
        }
        return;
    }
    let (path, name) = match tree.split_once(" as ") {
        Some((path, name)) => (path.trim(), name.trim()),
        None => (tree, tree.rsplit("::").next().unwrap_or(tree)),
    };
    let whole = if path == "self" {
        prefix.trim_end_matches(':').to_owned()
    } else {
        format!("{prefix}{path}")
    };
    let name = match name {
        "self" => whole.rsplit("::").next().unwrap_or_default().to_owned(),
        name => name.to_owned(),
    };
    found.insert(name, whole);
}

/// The items of a group: splits at commas, except those of inner groups.
fn parts(group: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let split = group.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    split
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

/// The full path of a type as the file writes it, such as `v1::Captain` after `use api::crew::v1;`.
pub fn resolve(uses: &BTreeMap<String, String>, written: &str) -> String {
    let written = written.trim_start_matches("::");
    let (first, rest) = written.split_once("::").unwrap_or((written, ""));
    match uses.get(first) {
        Some(path) if rest.is_empty() => path.clone(),
        Some(path) => format!("{path}::{rest}"),
        None => written.to_owned(),
    }
}

/// `::<T>(arguments` -> `T` and the text after the parenthesis; `None` if it is not a call.
pub fn call(rest: &str) -> Option<(Option<String>, &str)> {
    if let Some(arguments) = rest.strip_prefix('(') {
        return Some((None, arguments));
    }
    let inside = rest.strip_prefix("::<")?;
    let mut depth = 1_usize;
    let end = inside.find(|c| {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let type_name = inside[..end].split_whitespace().collect();
    Some((Some(type_name), inside[end + 1..].strip_prefix('(')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str, written: &str, expected: &str) {
        assert_eq!(resolve(&uses(code), written), expected, "in {code:?}");
    }

    #[test]
    fn a_name_resolves_to_its_use_item() {
        check(
            "use api::crew::v1::Captain;",
            "Captain",
            "api::crew::v1::Captain",
        );
        check(
            "use api::crew::v1::Captain as Skipper;",
            "Skipper",
            "api::crew::v1::Captain",
        );
        check(
            "use api::crew::v1;",
            "v1::Captain",
            "api::crew::v1::Captain",
        );
        check(
            "pub(crate) use ::api::crew::v1;",
            "v1::Captain",
            "api::crew::v1::Captain",
        );
    }

    #[test]
    fn groups_of_use_items_are_resolved() {
        let code = "use api::{\n    crew::{v1::{self, Captain}, v2 as new},\n    fleet::v1::*,\n};";
        check(code, "Captain", "api::crew::v1::Captain");
        check(code, "v1::Ship", "api::crew::v1::Ship");
        check(code, "new::Captain", "api::crew::v2::Captain");
    }

    #[test]
    fn a_name_without_a_use_item_is_unchanged() {
        check(
            "reuse x; let because = 1;",
            "api::crew::v1::Captain",
            "api::crew::v1::Captain",
        );
        check("", "Captain", "Captain");
    }
}
