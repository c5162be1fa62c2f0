//! Names of the library that a release changed, and that an upgrade changes in the user's code as well.

mod manifest;
mod replace;
mod testing;

use super::Span;
use crate::rust::comments::lex;
use crate::rust::is_rust;
use crate::rust::uses;
use replace::with_new_name;

/// A public name in a module of the library that has another name from one release on.
struct Renamed {
    /// The first release with the new name.
    release: &'static str,
    /// The module: `webhook`.
    module: &'static str,
    from: &'static str,
    to: &'static str,
}

const RENAMED: &[Renamed] = &[Renamed {
    release: "0.2.0",
    module: "webhook",
    from: "Refusal",
    to: "Rejection",
}];

/// The Rust file or the manifest at `path` with the new names; any other file as it is.
pub fn renewed(path: &str, text: &str, span: Span) -> String {
    if manifest::is(path) {
        return manifest::with_crate(text, span);
    }
    let mut text = text.to_owned();
    if !is_rust(path) {
        return text;
    }
    let is_part = |renamed: &&Renamed| span.includes(renamed.release);
    for renamed in RENAMED.iter().filter(is_part) {
        text = replaced(&text, renamed);
    }
    testing::as_crate(&text, span)
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

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span {
        from: "0.1.0",
        to: "0.2.0",
    };

    fn check(text: &str, expected: &str) {
        assert_eq!(renewed("src/a.rs", text, SPAN), expected);
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
        assert_eq!(renewed("README.md", text, SPAN), text);
        let later = Span {
            from: "0.2.0",
            to: "0.3.0",
        };
        assert_eq!(renewed("src/a.rs", text, later), text);
    }
}
