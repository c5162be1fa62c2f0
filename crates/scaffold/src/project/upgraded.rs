//! PROJECT of another release. It is edited as text, so that comments and unknown keys survive.

use super::{Head, PROJECT, Project, parse};
use crate::quote;
use crate::tables::tables;
use kbr_host::diagnostic::Diagnostic;

/// The text of PROJECT as this release writes it, for an upgrade to `release`.
///
/// # Errors
/// kbr cannot edit it.
pub fn upgraded(text: &str, release: &str) -> anyhow::Result<String> {
    checked(with_release(text, release)?, &parse(text)?.head, release)
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
            "write it on one line below `layout`: `kbr = \"0.3.0\"`"
        ))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# ours\nlayout = \"v1\"\nkbr = \"0.1.0\" # pinned\nname = \"captains\"\ndomain = \"example.com\"\nunknown = [\n  1,\n]\n# mine\n\n[tool]\nkbr = \"0.1.0\"\n";

    #[test]
    fn only_the_release_changes() {
        let text = upgraded(OLD, "0.2.0").unwrap();
        assert_eq!(text, OLD.replacen("0.1.0", "0.2.0", 1));
        let crlf = upgraded(&OLD.replace('\n', "\r\n"), "0.2.0").unwrap();
        assert_eq!(crlf, text.replace('\n', "\r\n"));
        assert_eq!(with_release(&text, "0.1.0").unwrap(), OLD);
    }

    #[test]
    fn other_spellings_of_toml_are_understood() {
        for text in [
            OLD.replace("\nkbr =", "\n\"kbr\" ="),
            format!("\u{feff}{OLD}"),
        ] {
            let upgraded = upgraded(&text, "0.2.0").unwrap();
            assert_eq!(upgraded, text.replacen("0.1.0", "0.2.0", 1));
        }
    }
}
