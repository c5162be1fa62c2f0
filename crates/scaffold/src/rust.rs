//! The Rust of a project, as kbr reads it.
//!
//! There are two readers, because there are two questions. [`comments`] reads any text, also what does not compile yet, and knows every
//! comment, which is no part of a syntax tree; [`uses`] resolves names in the code that it leaves. [`parse`] reads the tree of valid Rust:
//! [`derived`] finds kinds in it, and [`exports`] items.

pub mod comments;
pub mod derived;
pub mod exports;
pub mod parse;
pub mod uses;

use std::collections::BTreeMap;

use comments::{Lexed, Unterminated, lex};

/// A file, read once for all who ask about it.
#[derive(Clone, Debug)]
pub struct Source {
    /// From the root of the project: `src/main.rs`.
    pub path: String,
    /// As it is on disk.
    pub text: String,
    /// Its comments and its code.
    pub lexed: Result<Lexed, Unterminated>,
    /// Where its lines begin.
    pub lines: Lines,
    /// The names of its `use` items.
    uses: BTreeMap<String, String>,
}

impl Source {
    /// Reads the file at `path` with this text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let lexed = lex(&text);
        let uses = lexed.as_ref().map(|it| uses::uses(&it.code));
        Source {
            path: path.into(),
            lines: Lines::new(&text),
            uses: uses.unwrap_or_default(),
            lexed,
            text,
        }
    }

    /// The text with blanks instead of comments, strings and characters; `None` if one of them has no end.
    pub fn code(&self) -> Option<&str> {
        self.lexed.as_ref().ok().map(|it| it.code.as_str())
    }

    /// The full path of a type as the file writes it, such as `v1::Captain` after `use api::crew::v1;`.
    pub fn resolve(&self, written: &str) -> String {
        uses::resolve(&self.uses, written)
    }
}

/// Whether the file at `path` is Rust.
pub fn is_rust(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, end)| end == "rs")
}

/// Where the lines of a text begin, to number many places in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines(Vec<usize>);

impl Lines {
    /// The lines of a text.
    pub fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The number of the line with the character at `at`, from 1.
    pub fn number(&self, at: usize) -> usize {
        1 + self.0.partition_point(|end| *end < at)
    }
}
