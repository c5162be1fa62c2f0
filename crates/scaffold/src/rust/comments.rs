//! Rust source -> its comments. Text in strings is not mistaken for comments.

/// What is text in a Rust source, and what is code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexed {
    /// Every `//` comment and every line of a doc comment, in order. Plain block comments are left out, because code that is commented
    /// out must not grant permissions.
    pub comments: Vec<Comment>,
    /// The lines of plain block comments.
    pub blocks: Vec<Comment>,
    /// The source with comments, strings and characters replaced by blanks, so that the remaining code keeps its positions.
    pub code: String,
}

/// A line of a comment that may contain a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Counted from 1.
    pub line: usize,
    /// Whether rustdoc reads it: `///`, `//!`, `/** */`, `/*! */`.
    pub doc: bool,
    /// The text after the comment's prefix, trimmed.
    pub text: String,
}

/// An unterminated string or comment: the text after it cannot be distinguished from its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unterminated {
    /// Where it begins, counted from 1.
    pub line: usize,
    /// `string` or `comment`.
    pub what: &'static str,
}

/// Reads a source that need not compile.
///
/// # Errors
/// A string or a block comment is not terminated.
pub fn lex(source: &str) -> Result<Lexed, Unterminated> {
    let lexer = Lexer::run(source)?;
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    for (start, end) in lexer.text {
        code.push_str(&source[at..start]);
        let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
        code.extend(source[start..end].bytes().map(blank));
        at = end;
    }
    code.push_str(&source[at..]);
    let (comments, blocks) = (lexer.found, lexer.blocks);
    Ok(Lexed {
        comments,
        blocks,
        code,
    })
}

/// The source without its first line if that is `#!/usr/bin/env …`, which is not Rust, as `#![…]` is.
pub fn without_shebang(source: &str) -> &str {
    match source.strip_prefix("#!") {
        Some(rest) if !rest.trim_start().starts_with('[') => {
            &source[source.find('\n').unwrap_or(source.len())..]
        }
        _ => source,
    }
}

/// The part of Rust's lexical grammar that distinguishes comments from code.
struct Lexer<'a> {
    source: &'a str,
    at: usize,
    line: usize,
    found: Vec<Comment>,
    blocks: Vec<Comment>,
    /// The ranges without code: comments, strings, characters.
    text: Vec<(usize, usize)>,
}

impl<'a> Lexer<'a> {
    fn run(source: &'a str) -> Result<Self, Unterminated> {
        let mut lexer = Lexer {
            source,
            at: 0,
            line: 1,
            found: Vec::new(),
            blocks: Vec::new(),
            text: Vec::new(),
        };
        lexer.skip(source.len() - without_shebang(source).len());
        while let Some(next) = lexer.peek() {
            let start = lexer.at;
            lexer.token(next)?;
            // Strings, raw strings and characters end with a quote; identifiers and lifetimes do not.
            let token = &source[start..lexer.at];
            if token.len() > 1 && (token.starts_with('/') || token.ends_with(['"', '#', '\''])) {
                lexer.text.push((start, lexer.at));
            }
        }
        Ok(lexer)
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, bytes: usize) {
        let skipped = &self.source[self.at..self.at + bytes];
        self.line += skipped.matches('\n').count();
        self.at += bytes;
    }

    /// Skips past `end`; `None` if it is not found.
    fn skip_past(&mut self, end: &str) -> Option<()> {
        let length = self.rest().find(end)? + end.len();
        self.skip(length);
        Some(())
    }

    fn token(&mut self, next: char) -> Result<(), Unterminated> {
        let rest = self.rest();
        if rest.starts_with("//") {
            self.line_comment();
        } else if rest.starts_with("/*") {
            self.block_comment()?;
        } else if next == '"' {
            self.string()?;
        } else if next == '\'' {
            self.quote();
        } else if next == '_' || next.is_alphanumeric() {
            self.word()?;
        } else {
            self.skip(next.len_utf8());
        }
        Ok(())
    }

    fn line_comment(&mut self) {
        let rest = self.rest();
        let whole = &rest[..rest.find('\n').unwrap_or(rest.len())];
        // Four or more slashes are a plain comment.
        let doc =
            whole.starts_with("//!") || whole.starts_with("///") && !whole.starts_with("////");
        let text = whole[if doc { 3 } else { 2 }..].trim();
        self.found.push(Comment {
            line: self.line,
            doc,
            text: text.to_owned(),
        });
        self.skip(whole.len());
    }

    fn block_comment(&mut self) -> Result<(), Unterminated> {
        let start = self.at;
        let line = self.line;
        let mut depth = 0;
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") {
                depth += 1;
                self.skip(2);
            } else if rest.starts_with("*/") {
                depth -= 1;
                self.skip(2);
            } else if let Some(next) = self.peek() {
                self.skip(next.len_utf8());
            } else {
                let what = "comment";
                return Err(Unterminated { line, what });
            }
            if depth == 0 {
                break;
            }
        }
        self.block(&self.source[start..self.at], line);
        Ok(())
    }

    fn block(&mut self, whole: &'a str, line: usize) {
        // `/***` and `/**/` are plain comments.
        let outer = whole.starts_with("/**") && !whole.starts_with("/***") && whole.len() > 4;
        let doc = outer || whole.starts_with("/*!");
        let inside = &whole[if doc { 3 } else { 2 }..whole.len() - 2];
        let lines = inside
            .split('\n')
            .enumerate()
            .map(|(offset, text)| Comment {
                line: line + offset,
                doc,
                text: text
                    .trim_start_matches([' ', '\t', '*'])
                    .trim_end()
                    .to_owned(),
            });
        if doc {
            self.found.extend(lines);
        } else {
            self.blocks.extend(lines);
        }
    }

    fn string(&mut self) -> Result<(), Unterminated> {
        let line = self.line;
        self.skip(1);
        while let Some(next) = self.peek() {
            self.skip(next.len_utf8());
            match next {
                '"' => return Ok(()),
                '\\' => self.skip(self.peek().map_or(0, char::len_utf8)),
                _ => {}
            }
        }
        let what = "string";
        Err(Unterminated { line, what })
    }

    /// A character (`'"'`, `'\''`, `'\u{1F980}'`) or the quote of a lifetime (`'a`).
    fn quote(&mut self) {
        self.skip(1);
        let mut ahead = self.rest().chars();
        match (ahead.next(), ahead.next()) {
            (Some('\\'), Some(escaped)) => {
                self.skip(1 + escaped.len_utf8());
                // Unterminated: not valid Rust, and cargo reports it.
                let _ = self.skip_past("'");
            }
            (Some(char), Some('\'')) => self.skip(char.len_utf8() + 1),
            _ => {}
        }
    }

    /// An identifier, keyword or number; after `r`, `br` or `cr` it may be the beginning of a raw string.
    fn word(&mut self) -> Result<(), Unterminated> {
        let rest = self.rest();
        let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric());
        let word = &rest[..end.unwrap_or(rest.len())];
        self.skip(word.len());
        if !matches!(word, "r" | "br" | "cr") {
            return Ok(());
        }
        let rest = self.rest();
        let hashes = &rest[..rest.len() - rest.trim_start_matches('#').len()];
        if !rest[hashes.len()..].starts_with('"') {
            return Ok(());
        }
        let line = self.line;
        let what = "string";
        self.skip(hashes.len() + 1);
        self.skip_past(&format!("\"{hashes}"))
            .ok_or(Unterminated { line, what })
    }
}

#[cfg(test)]
mod tests;
