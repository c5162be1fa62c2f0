//! The text of a Rust file -> what a function reads from its syntax tree. Nothing else parses Rust that kbr has not written itself.
//!
//! syn calls itself to parse, to visit and to drop what is nested: `((a))`, but also `!!a`, `a.b.c`, `A<B<C>>` or `if {} else if {}`. So
//! only a tree of a known depth is made, by a thread whose stack suffices for it.

use std::panic::resume_unwind;
use std::thread;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::comments::without_shebang;
use kbr_host::diagnostic::Problem;

/// The most tokens of which each may be nested in the one before. Code of people has a hundredth of it.
const DEEPEST: usize = 4096;

/// The stack for one of them, in bytes. The most that a build without optimization has been seen to use is 33,000, for a `&` in a type;
/// a release uses 6,000.
const EACH: usize = 64 << 10;

/// The longest text, in bytes: its tokens take a hundred times as much memory.
const LONGEST: usize = 4 << 20;

/// Why a file was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is not Rust; cargo says why.
    Invalid,
    /// What is in this line is nested deeper than kbr reads.
    TooDeep {
        /// From 1.
        line: usize,
    },
    /// It is longer than kbr reads.
    TooLong,
    /// The system has no memory for the stack.
    NoStack,
}

impl Unread {
    /// The warning about the file at `path`; `None` if cargo has a better one.
    pub fn problem(self, path: &str) -> Option<Problem> {
        let (at, what) = match self {
            Unread::Invalid => return None,
            Unread::TooDeep { line } => (
                format!("{path}:{line}"),
                "this is nested or chained too deeply for kbr",
            ),
            Unread::TooLong => (path.to_owned(), "this file is too long for kbr"),
            Unread::NoStack => (path.to_owned(), "there is no memory to parse this file"),
        };
        Some(Problem::new(what).at(&at))
    }
}

/// What `read` returns for the syntax tree of the file with this text.
///
/// # Errors
/// It has none.
pub fn parse<T: Send>(text: &str, read: impl FnOnce(&syn::File) -> T + Send) -> Result<T, Unread> {
    if text.len() > LONGEST {
        return Err(Unread::TooLong);
    }
    let parse = || {
        let text = without_shebang(text.strip_prefix('\u{feff}').unwrap_or(text));
        let tokens: TokenStream = text.parse().map_err(|_| Unread::Invalid)?;
        bounded(tokens.clone())?;
        let file = syn::parse2(tokens).map_err(|_| Unread::Invalid)?;
        Ok(read(&file))
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(DEEPEST * EACH);
        let thread = thread.spawn_scoped(scope, parse);
        let thread = thread.map_err(|_| Unread::NoStack)?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Whether the file with this text is Rust, as far as kbr can tell.
pub fn is_valid(text: &str) -> bool {
    parse(text, |_| ()).is_ok()
}

/// Checks that a syntax tree of these tokens is at most [`DEEPEST`] deep.
///
/// Each token may nest all that follow it in its group, until a `;` ends the item, statement or type that it is part of; and a group nests
/// what it contains. This is a loop, so depth costs it no stack.
fn bounded(tokens: TokenStream) -> Result<(), Unread> {
    // Each group around the current token: what is left of it, how deep it is, and how deep the token before is.
    let mut groups = vec![(tokens.into_iter(), 0, 0)];
    let mut is_attribute = false;
    while let Some((rest, outer, depth)) = groups.last_mut() {
        let Some(token) = rest.next() else {
            groups.pop();
            continue;
        };
        *depth = match &token {
            TokenTree::Punct(sign) if sign.as_char() == ';' => *outer,
            token => *depth + nests(token, is_attribute),
        };
        is_attribute = matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '#');
        let inner = *depth + 1;
        if inner > DEEPEST {
            let line = token.span().start().line;
            return Err(Unread::TooDeep { line });
        }
        if let TokenTree::Group(group) = token {
            groups.push((group.stream().into_iter(), inner, inner));
        }
    }
    Ok(())
}

/// How many levels a token adds to those that follow it in its group.
fn nests(token: &TokenTree, is_attribute: bool) -> usize {
    match token {
        // A value nests nothing, and neither does an attribute: what they belong to does.
        TokenTree::Literal(_) => 0,
        TokenTree::Group(group) if is_attribute && group.delimiter() == Delimiter::Bracket => 0,
        TokenTree::Punct(sign) if matches!(sign.as_char(), ',' | '#') => 0,
        // syn copies all that follows them, which takes long in a chain.
        TokenTree::Ident(word) if word == "become" || word == "box" => 8,
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
