//! PROJECT of another release, or with another origin of the library. It is edited as text, so that comments and unknown keys survive.

use super::{Head, PROJECT, Project, parse};
use crate::library::Origin;
use crate::quote;
use crate::tables::{lines, tables};
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

/// The text of PROJECT with another origin of the library. The default is not recorded.
///
/// # Errors
/// kbr cannot edit it.
pub fn with_library(text: &str, library: Origin) -> anyhow::Result<String> {
    let expected = Head {
        library,
        ..parse(text)?.head
    };
    let tables = tables(text);
    let head = &tables[0];
    let line = format!("library = {}", quote::toml(library.name()));
    let mut edited = text.to_owned();
    match head.find("library") {
        Some(entry) if library == Origin::default() => {
            edited.replace_range(lines(text, &(entry.key.start..entry.value.end)), "");
        }
        Some(entry) => edited.replace_range(entry.key.start..entry.value.end, &line),
        None if library == Origin::default() => {}
        None => {
            let end = lines(text, &(head.end()..head.end())).end;
            let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
            let is_last = !text[..end].ends_with('\n');
            let before = if is_last { ending } else { "" };
            edited.insert_str(end, &format!("{before}{line}{ending}"));
        }
    }
    match parse(&edited) {
        Ok(Project { head, .. }) if head == expected => Ok(edited),
        _ => Err(Diagnostic::new(format_args!(
            "kbr cannot change where the library is in `{PROJECT}`"
        ))
        .help(format_args!(
            "write it on one line below `layout`: `{line}`"
        ))
        .into()),
    }
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
    fn the_origin_of_the_library_comes_and_goes_with_its_line() {
        let last = "layout = \"v1\"\nkbr = \"0.2.0\"\nname = \"a\"\ndomain = \"b.c\"";
        for text in [
            OLD.to_owned(),
            OLD.replace('\n', "\r\n"),
            format!("{last}\n"),
        ] {
            let there = with_library(&text, Origin::Registry).unwrap();
            assert_eq!(parse(&there).unwrap().head.library, Origin::Registry);
            assert_eq!(with_library(&there, Origin::Registry).unwrap(), there);
            assert_eq!(with_library(&there, Origin::Vendored).unwrap(), text);
        }
        let there = with_library(last, Origin::Registry).unwrap();
        assert_eq!(there, format!("{last}\nlibrary = \"registry\"\n"));
        let said = format!("library = 'vendored' # ours\n{OLD}");
        let there = with_library(&said, Origin::Registry).unwrap();
        assert_eq!(there, format!("library = \"registry\" # ours\n{OLD}"));
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
