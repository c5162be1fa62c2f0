//! A workspace of cargo around a new project: a project is a workspace itself, and cargo allows none within another's members.

use std::path::Path;

use kbr_host::diagnostic::Problem;
use kbr_host::{output, regular};
use kbr_scaffold::quote;

/// Warns of a workspace above `root` that breaks.
pub fn warn(root: &Path) {
    if let Some(warning) = listed(root) {
        output::problem("warning", &warning);
    }
}

/// A warning if a workspace above `root` has it as a member, so that cargo fails in all of its members.
fn listed(root: &Path) -> Option<Problem> {
    let (folder, workspace) = root.ancestors().skip(1).find_map(|folder| {
        let text = regular::text(&folder.join("Cargo.toml")).ok()?;
        let manifest: toml::Table = text.parse().ok()?;
        let workspace = manifest.get("workspace")?.as_table()?.clone();
        Some((folder, workspace))
    })?;
    let path = root.strip_prefix(folder).ok()?.to_str()?;
    let list = |key: &str| {
        let list = workspace.get(key).and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(toml::Value::as_str)
    };
    let is_excluded =
        list("exclude").any(|it| Path::new(path).starts_with(it.trim_end_matches('/')));
    if is_excluded || !list("members").any(|pattern| matches(pattern, path)) {
        return None;
    }
    let manifest = folder.join("Cargo.toml");
    let text = format!(
        "`{}` has this folder as a member, but a project is a workspace itself: cargo fails in the other members",
        manifest.display()
    );
    let mut all: Vec<&str> = list("exclude").collect();
    all.push(path);
    let all: Vec<String> = all.into_iter().map(quote::toml).collect();
    let help = format!(
        "write `exclude = [{}]` below its `[workspace]`",
        all.join(", ")
    );
    Some(Problem::new(text).help(help))
}

/// Whether a pattern of `members` has a path: `crates/*`, `crates/**`, `crates/op-?`.
fn matches(pattern: &str, path: &str) -> bool {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    let divided =
        |text: &str| -> Vec<Vec<char>> { text.split('/').map(|it| it.chars().collect()).collect() };
    glob(
        &divided(pattern),
        &divided(path),
        |name| name[..] == ['*', '*'],
        |name, folder| {
            glob(
                name,
                folder,
                |it| *it == '*',
                |it, other| *it == '?' || it == other,
            )
        },
    )
}

/// Whether a pattern fits a list, of which `is_any` stands for any part.
fn glob<T>(
    pattern: &[T],
    list: &[T],
    is_any: impl Fn(&T) -> bool,
    fits: impl Fn(&T, &T) -> bool,
) -> bool {
    let (mut part, mut at) = (0, 0);
    // What the last part that stands for any takes next: an earlier one need not take more.
    let mut again = None;
    while part < pattern.len() || at < list.len() {
        let next = pattern.get(part);
        if next.is_some_and(&is_any) {
            again = Some((part, at + 1));
            part += 1;
        } else if next
            .zip(list.get(at))
            .is_some_and(|(next, item)| fits(next, item))
        {
            (part, at) = (part + 1, at + 1);
        } else if let Some((any, end)) = again.filter(|(_, end)| *end <= list.len()) {
            (part, at) = (any + 1, end);
            again = Some((any, end + 1));
        } else {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The help about a project in `crates/op` below a workspace with these keys.
    fn help(workspace: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("[workspace]\n{workspace}\n");
        std::fs::write(folder.path().join("Cargo.toml"), text).unwrap();
        let root = folder.path().join("crates/op");
        std::fs::create_dir_all(&root).unwrap();
        let warning = listed(&root)?.to_string();
        Some(warning.split_once("help: ").unwrap().1.to_owned())
    }

    #[test]
    fn a_project_that_a_workspace_has_as_a_member_is_reported_with_the_line_that_excludes_it() {
        let excluded = Some("write `exclude = [\"crates/op\"]` below its `[workspace]`".to_owned());
        for members in [
            "crates/*",
            "./crates/op",
            "crates/**",
            "**",
            "c*s/o?",
            "crates/op/",
        ] {
            assert_eq!(
                help(&format!("members = [\"x\", \"{members}\"]")),
                excluded,
                "{members}"
            );
        }
        let both = "members = [\"crates/*\"]\nexclude = [\"old\"]";
        let both = help(both).unwrap();
        assert!(
            both.contains("`exclude = [\"old\", \"crates/op\"]`"),
            "{both}"
        );
    }

    #[test]
    fn a_project_that_no_workspace_has_as_a_member_is_not_reported() {
        for workspace in [
            "",
            "members = []",
            "members = [\"*\", \"crates/o\", \"crates/op/*\"]",
            "members = [\"crates/*\"]\nexclude = [\"crates/op\"]",
            "members = [\"crates/*\"]\nexclude = [\"crates\"]",
        ] {
            assert_eq!(help(workspace), None, "{workspace}");
        }
    }
}
