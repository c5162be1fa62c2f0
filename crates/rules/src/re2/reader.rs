//! The state of reading a pattern.

use std::collections::BTreeSet;

/// The remaining pattern, and the translation so far.
pub struct Reader<'a> {
    pub rest: &'a str,
    pub out: String,
    pub names: BTreeSet<&'a str>,
}

impl<'a> Reader<'a> {
    pub fn new(pattern: &'a str) -> Self {
        Self {
            rest: pattern,
            out: String::new(),
            names: BTreeSet::new(),
        }
    }

    pub fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    pub fn eat(&mut self, start: &str) -> bool {
        let rest = self.rest.strip_prefix(start);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}
