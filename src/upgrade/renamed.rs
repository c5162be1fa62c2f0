//! Names of the library that a release changed, and that an upgrade changes in the user's code as well.

use super::Labels;
use crate::edit::is_rust;
use crate::project::release as number;

/// A path that has another name from one release on. Written in full it means nothing else, so it can be replaced as text.
struct Renamed {
    /// The first release with the new name.
    release: &'static str,
    from: &'static str,
    to: &'static str,
}

const RENAMED: &[Renamed] = &[Renamed {
    release: "0.2.0",
    from: "webhook::Refusal",
    to: "webhook::Rejection",
}];

/// The Rust file at `path` with the new names; any other file as it is.
pub fn rewritten(path: &str, text: &str, labels: Labels) -> String {
    let mut text = text.to_owned();
    if !is_rust(path) {
        return text;
    }
    let is_part = |renamed: &&Renamed| {
        let release = number(renamed.release);
        number(labels.from) < release && release <= number(labels.to)
    };
    for renamed in RENAMED.iter().filter(is_part) {
        text = replaced(&text, renamed);
    }
    text
}

/// Replaces the path where it stands alone. A `use` of it keeps the old name for the rest of the file.
fn replaced(text: &str, renamed: &Renamed) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let old = renamed.from.rsplit("::").next().unwrap_or(renamed.from);
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(renamed.from) {
        let (before, after) = (&rest[..at], &rest[at + renamed.from.len()..]);
        result += before;
        if before.ends_with(is_name) || after.starts_with(is_name) {
            result += renamed.from;
        } else {
            result += renamed.to;
            let line = result.rsplit('\n').next().unwrap_or_default().trim_start();
            if line.starts_with("use ") && after.starts_with(';') {
                result += " as ";
                result += old;
            }
        }
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_renamed_and_an_import_keeps_its_name() {
        let labels = Labels {
            from: "0.1.0",
            to: "0.2.0",
        };
        let text = "use manager::webhook::Refusal;\nfn a() -> Result<(), webhook::Refusal> {}\n// my_webhook::Refusal webhook::Refusals\n";
        assert_eq!(
            rewritten("src/a.rs", text, labels),
            "use manager::webhook::Rejection as Refusal;\nfn a() -> Result<(), webhook::Rejection> {}\n// my_webhook::Refusal webhook::Refusals\n"
        );
        assert_eq!(rewritten("README.md", text, labels), text);
        let later = Labels {
            from: "0.2.0",
            to: "0.3.0",
        };
        assert_eq!(rewritten("src/a.rs", text, later), text);
    }
}
