//! The files that a repository's configuration includes: another file could configure what the repository may not.

use std::path::{Component, Path};

/// Where actions/checkout keeps the credentials that it includes.
pub const RUNNER_TEMP: &str = "RUNNER_TEMP";

/// Whether each file that the configuration `text` of a repository in `folder` includes is missing, which git ignores, or in
/// `temporary`, which only a workflow's own steps write to.
pub fn are_harmless(text: &str, folder: &Path, temporary: Option<&Path>) -> bool {
    let is_header = |line: &str| line.to_lowercase().starts_with("[include");
    if !text.to_lowercase().contains("[include") {
        return true;
    }
    let mut lines = text.lines().map(str::trim);
    lines.all(|line| {
        if is_header(line) {
            return line.ends_with(']');
        }
        // Whatever else has these words may be written in a form that this does not understand.
        let lower = line.to_lowercase();
        if !lower.contains("path") && !lower.contains("[include") {
            return true;
        }
        plain_path(line).is_some_and(|path| {
            let path = folder.join(path);
            std::fs::symlink_metadata(&path).is_err()
                || temporary.is_some_and(|temporary| path.starts_with(temporary))
        })
    })
}

/// The value of `path = value`, if it is written without quotes, escapes and variables, and does not lead back up.
fn plain_path(line: &str) -> Option<&Path> {
    let (key, value) = line.split_once('=')?;
    let value = value.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let path = Path::new(value);
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    let is_path = key.trim().eq_ignore_ascii_case("path") && !value.is_empty();
    (is_path && value.chars().all(is_plain) && !goes_up).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> bool {
        are_harmless(text, Path::new("/no/such/.git"), Some(Path::new("/usr")))
    }

    #[test]
    fn the_credentials_of_a_workflow_may_be_included() {
        assert!(check("[core]\n\tbare = false\n\thooksPath = hooks\n"));
        assert!(check(
            "[core]\n\tbare = false\n[includeIf \"gitdir:/a/.git\"]\n\tpath = /usr/bin\n\tPATH=/no/such/file\n"
        ));
    }

    #[test]
    fn any_other_file_may_not() {
        for text in [
            "[include]\npath = /etc/passwd\n",
            "[include] path = /etc/passwd\n",
            "[include]\npath = /usr/../etc/passwd\n",
            "[include]\npath = \"/no/such\"\n",
            "[include]\npath = ~/x\n",
            "[include]\npath = /no/such\\\n/../x\n",
            "[core] bare = true [include]\npath = /no/such\n",
            "[include]\npath = /usr/bin ; comment\n",
            "[Include]\nhooksPath = a\n",
        ] {
            assert!(!check(text), "{text}");
        }
    }
}
