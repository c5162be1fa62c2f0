//! Resolves names and calls in a Rust file through its `use` items.

use std::collections::BTreeMap;

/// The longest path above a group that is read, in bytes: no program has a longer one, and each import repeats it.
const LONGEST: usize = 1000;

/// Maps names in the file to paths: `Captain` -> `api::crew::v1::Captain`. `code` must have no comments or strings.
pub fn uses(code: &str) -> BTreeMap<String, String> {
    let imports = trees(code).flat_map(|tree| imports(&tree));
    imports.map(|it| (it.name, it.path)).collect()
}

/// The modules from which `code` imports everything: `a` in `use a::*;`.
pub fn globs(code: &str) -> Vec<String> {
    let imports = trees(code).flat_map(|tree| imports(&tree));
    let modules = imports.filter_map(|it| it.path.strip_suffix("::*").map(str::to_owned));
    modules.collect()
}

/// A name that a `use` item brings into its scope; `*` for a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The name that the file uses.
    pub name: String,
    /// Without `::` at its start.
    pub path: String,
}

/// The trees of all `use` items, each on one line: `a::{b, c as d}`.
fn trees(code: &str) -> impl Iterator<Item = String> {
    let mut rest = code;
    std::iter::from_fn(move || {
        loop {
            let (before, after) = rest.split_once("use ")?;
            let before = before.chars().next_back();
            if before.is_some_and(|c| c == '_' || c.is_alphanumeric()) {
                rest = after;
                continue;
            }
            let (tree, after) = after.split_once(';')?;
            rest = after;
            return Some(tree.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    })
}

/// What `use a::{b, c as d};` imports, from `a::{b, c as d}`.
pub fn imports(tree: &str) -> Vec<Import> {
    let mut found = Vec::new();
    // The path above the current group, and the length of each outer one.
    let (mut prefix, mut outer) = (String::new(), Vec::new());
    let mut start = 0;
    for (at, sign) in tree.match_indices(['{', ',', '}']) {
        let piece = &tree[start..at];
        start = at + 1;
        if sign == "{" {
            outer.push(prefix.len());
            prefix += piece.trim().trim_start_matches("::");
        } else {
            found.extend(import(&prefix, piece));
        }
        if sign == "}" {
            prefix.truncate(outer.pop().unwrap_or_default());
        }
        if prefix.len() > LONGEST {
            return found;
        }
    }
    found.extend(import(&prefix, &tree[start..]));
    found
}

/// Reads `b` or `c as d` below `prefix`.
fn import(prefix: &str, piece: &str) -> Option<Import> {
    let piece = piece.trim().trim_start_matches("::");
    let (path, name) = match piece.split_once(" as ") {
        Some((path, name)) => (path.trim(), name.trim()),
        None => (piece, piece.rsplit("::").next().unwrap_or(piece)),
    };
    let path = match path {
        "" => return None,
        "self" => prefix.trim_end_matches(':').to_owned(),
        path => format!("{prefix}{path}"),
    };
    let name = match name {
        "self" => path.rsplit("::").next().unwrap_or_default().to_owned(),
        name => name.to_owned(),
    };
    Some(Import { name, path })
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
