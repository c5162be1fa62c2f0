//! PROJECT of another release. It is edited as text, so that comments and unknown keys survive.

use crate::project::Head;

/// The keys of the head that releases wrote, and this one does not.
const OLD_KEYS: &[&str] = &["manager"];

/// The first lines that earlier releases wrote.
const OLD_COMMENTS: &[&str] =
    &["# What kbr has scaffolded, for kbr to read: commands add to it and change nothing in it."];

/// The text of PROJECT after an upgrade to the release `to`.
///
/// # Errors
/// The head cannot be written as TOML.
pub fn upgraded(text: &str, head: &Head, to: &str) -> anyhow::Result<String> {
    let comment = head.text()?;
    let comment = comment.lines().next().unwrap_or_default();
    let mut is_head = true;
    let lines = text.split_inclusive('\n').filter_map(|line| {
        let content = line.trim_end_matches(['\r', '\n']);
        let ending = &line[content.len()..];
        is_head &= !content.trim_start().starts_with('[');
        let key = content.split('=').next().unwrap_or_default().trim();
        match key {
            _ if OLD_COMMENTS.contains(&content.trim_start_matches('\u{feff}')) => {
                Some(format!("{comment}{ending}"))
            }
            "kbr" if is_head => Some(content.replacen(&head.kbr, to, 1) + ending),
            key if is_head && OLD_KEYS.contains(&key) => None,
            _ => Some(line.to_owned()),
        }
    });
    Ok(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project;

    const OLD: &str = "# What kbr has scaffolded, for kbr to read: commands add to it and change nothing in it.\nlayout = \"v1\"\nkbr = \"0.1.0\" # pinned\nname = \"captains\"\ndomain = \"example.com\"\nmanager = { version = \"0.1.0\", sha256 = \"00\" }\n# mine\n\n[tool]\nkbr = \"0.1.0\"\n";

    #[test]
    fn only_what_belongs_to_the_release_changes() {
        let head = project::parse(OLD).unwrap().head;
        let text = upgraded(OLD, &head, "0.2.0").unwrap();
        let (comment, rest) = text.split_once('\n').unwrap();
        assert!(head.text().unwrap().starts_with(comment), "{comment}");
        assert_eq!(
            rest,
            "layout = \"v1\"\nkbr = \"0.2.0\" # pinned\nname = \"captains\"\ndomain = \"example.com\"\n# mine\n\n[tool]\nkbr = \"0.1.0\"\n"
        );
        let crlf = upgraded(&OLD.replace('\n', "\r\n"), &head, "0.2.0").unwrap();
        assert_eq!(crlf, text.replace('\n', "\r\n"));
    }
}
