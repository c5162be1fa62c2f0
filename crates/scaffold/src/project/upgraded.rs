//! PROJECT of another release. It is edited as text, so that comments and unknown keys survive.

use super::{Head, PROJECT, Project, parse};
use crate::quote;
use crate::tables::{lines, tables};
use kbr_host::diagnostic::Diagnostic;

/// The keys of the head that an earlier release wrote, and this one does not.
const OLD_KEYS: &[&str] = &["manager"];

/// The first lines that earlier releases wrote.
const OLD_COMMENTS: &[&str] =
    &["# What kbr has scaffolded, for kbr to read: commands add to it and change nothing in it."];

/// The text of PROJECT as this release writes it, for an upgrade to `release`.
///
/// # Errors
/// kbr cannot edit it.
pub fn upgraded(text: &str, release: &str) -> anyhow::Result<String> {
    let head = parse(text)?.head;
    let mut text = with_release(text, release)?;
    for key in OLD_KEYS {
        if let Some(entry) = tables(&text)[0].find(key) {
            let lines = lines(&text, &(entry.key.start..entry.value.end));
            text.replace_range(lines, "");
        }
    }
    let comment = head.text()?;
    let comment = comment.lines().next().unwrap_or_default();
    for old in OLD_COMMENTS {
        if text.trim_start_matches('\u{feff}').starts_with(old) {
            text = text.replacen(old, comment, 1);
        }
    }
    checked(text, &head, release)
}

/// The text of PROJECT with another release, and nothing else changed.
///
/// # Errors
/// kbr cannot edit it.
pub fn with_release(text: &str, release: &str) -> anyhow::Result<String> {
    let tables = tables(text);
    let entry = tables[0].find("kbr").ok_or_else(unable)?;
    let mut text = text.to_owned();
    text.replace_range(entry.value.clone(), &quote::toml(release));
    Ok(text)
}

/// Checks that `text` is the same project, of `release`.
fn checked(text: String, head: &Head, release: &str) -> anyhow::Result<String> {
    let expected = Head {
        kbr: release.to_owned(),
        ..head.clone()
    };
    match parse(&text) {
        Ok(Project { head, .. }) if head == expected => Ok(text),
        _ => Err(unable()),
    }
}

fn unable() -> anyhow::Error {
    Diagnostic::new(format_args!("kbr cannot change the release in `{PROJECT}`"))
        .help(format_args!(
            "write it on one line below `layout`: `kbr = \"0.1.0\"`"
        ))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# What kbr has scaffolded, for kbr to read: commands add to it and change nothing in it.\nlayout = \"v1\"\nkbr = \"0.1.0\" # pinned\nname = \"captains\"\ndomain = \"example.com\"\nmanager = { version = \"0.1.0\", sha256 = \"00\" }\n# mine\n\n[tool]\nkbr = \"0.1.0\"\n";

    #[test]
    fn only_what_belongs_to_the_release_changes() {
        let text = upgraded(OLD, "0.2.0").unwrap();
        let (comment, rest) = text.split_once('\n').unwrap();
        let head = parse(OLD).unwrap().head;
        assert!(head.text().unwrap().starts_with(comment), "{comment}");
        assert_eq!(
            rest,
            "layout = \"v1\"\nkbr = \"0.2.0\" # pinned\nname = \"captains\"\ndomain = \"example.com\"\n# mine\n\n[tool]\nkbr = \"0.1.0\"\n"
        );
        let crlf = upgraded(&OLD.replace('\n', "\r\n"), "0.2.0").unwrap();
        assert_eq!(crlf, text.replace('\n', "\r\n"));
        assert_eq!(
            with_release(&text, "0.1.0").unwrap(),
            text.replacen("0.2.0", "0.1.0", 1)
        );
    }

    #[test]
    fn other_spellings_of_toml_are_understood() {
        let quoted = OLD.replace("\nkbr =", "\n\"kbr\" =");
        assert!(
            upgraded(&quoted, "0.2.0")
                .unwrap()
                .contains("\n\"kbr\" = \"0.2.0\" # pinned\n")
        );
        let long = OLD.replace("{ version = \"0.1.0\", sha256 = \"00\" }", "[\n  1,\n]");
        let text = upgraded(&long, "0.2.0").unwrap();
        assert!(
            text.contains("domain = \"example.com\"\n# mine\n"),
            "{text}"
        );
        let marked = format!("\u{feff}{OLD}");
        assert!(
            upgraded(&marked, "0.2.0")
                .unwrap()
                .contains("kbr = \"0.2.0\" # pinned")
        );
    }
}
