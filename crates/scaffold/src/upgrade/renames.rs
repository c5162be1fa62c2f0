//! Names of the library that a release changed, which an upgrade changes in the user's Rust as well.

use super::changes::{Changes, Renamed, Span};
use crate::rust::comments::lex;
use crate::rust::is_rust;
use crate::rust::uses;

/// The Rust file at `path` with the new names; any other file as it is.
pub fn renewed(path: &str, text: &str, span: Span, changes: &Changes) -> String {
    if !is_rust(path) {
        return text.to_owned();
    }
    let renamed = changes
        .renamed
        .iter()
        .filter(|it| span.includes(it.release));
    renamed.fold(text.to_owned(), |text, renamed| replaced(&text, renamed))
}

/// Replaces the name behind the module, if the file imports the module of the library, and in imports, which keep the old name for the
/// rest of the file.
fn replaced(text: &str, renamed: &Renamed) -> String {
    let Renamed {
        module, from, to, ..
    } = renamed;
    let path = format!("manager::{module}");
    let code = lex(text).map_or_else(|_| text.to_owned(), |it| it.code);
    let names = uses::uses(&code);
    let old = format!("{path}::{from}");
    let mut text = with_new_name(text, &old, &format!("{path}::{to}"), from);
    if names.get(*module) == Some(&path) {
        text = with_new_name(
            &text,
            &format!("{module}::{from}"),
            &format!("{module}::{to}"),
            from,
        );
    }
    // `use manager::webhook::{Refusal, Request};`
    if names.get(*from) == Some(&old)
        && let Some(at) = text.find(&format!("{path}::{{"))
    {
        let (before, rest) = text.split_at(at);
        let end = rest.find('}').unwrap_or(rest.len());
        let group = with_new_name(&rest[..end], from, &format!("{to} as {from}"), "");
        text = format!("{before}{group}{}", &rest[end..]);
    }
    text
}

/// Replaces `from` where it stands alone. An import of it keeps the `alias`.
fn with_new_name(text: &str, from: &str, to: &str, alias: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        result += before;
        if before.ends_with(is_name) && !(alias.is_empty() && before.ends_with(':'))
            || after.starts_with(|c: char| is_name(c) && c != ':')
        {
            result += from;
        } else {
            result += to;
            let line = result.rsplit('\n').next().unwrap_or_default().trim_start();
            let is_import = line.starts_with("use ") || line.contains(" use ");
            if is_import && after.starts_with(';') && !alias.is_empty() {
                result += " as ";
                result += alias;
            }
        }
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predecessor::{CHANGES, SPAN, VERSION};

    fn check(text: &str, expected: &str) {
        assert_eq!(renewed("src/a.rs", text, SPAN, &CHANGES), expected);
    }

    #[test]
    fn a_name_is_changed_behind_the_module_of_the_library() {
        check(
            "use manager::webhook;\nfn a() -> Result<(), webhook::Refusal> {}\n",
            "use manager::webhook;\nfn a() -> Result<(), webhook::Rejection> {}\n",
        );
        check(
            "fn a() -> Result<(), manager::webhook::Refusal> {}\n",
            "fn a() -> Result<(), manager::webhook::Rejection> {}\n",
        );
    }

    #[test]
    fn an_import_keeps_the_old_name_for_the_rest_of_the_file() {
        check(
            "use manager::webhook::Refusal;\nfn a() -> Refusal {}\n",
            "use manager::webhook::Rejection as Refusal;\nfn a() -> Refusal {}\n",
        );
        check(
            "use manager::webhook::{Refusal, Request};\nfn a() -> Refusal {}\n",
            "use manager::webhook::{Rejection as Refusal, Request};\nfn a() -> Refusal {}\n",
        );
    }

    #[test]
    fn a_name_of_the_user_stays() {
        for text in [
            "pub mod webhook { pub struct Refusal; }\nfn a() -> crate::webhook::Refusal {}\n",
            "fn a() -> webhook::Refusal {}\n",
            "use manager::webhook;\n// my_webhook::Refusal webhook::Refusals crate::webhook::Refusal\n",
        ] {
            check(text, text);
        }
        let text = "use manager::webhook;\nwebhook::Refusal\n";
        assert_eq!(renewed("README.md", text, SPAN, &CHANGES), text);
        let earlier = Span {
            from: "0.0.1",
            to: VERSION,
        };
        assert_eq!(renewed("src/a.rs", text, earlier, &CHANGES), text);
    }
}
