//! Edits of a text of TOML: what stays keeps its comments, its order and its line ends.

use std::ops::Range;

use crate::tables::lines;

const BLANK: [char; 2] = [' ', '\t'];

/// Replacements of parts of a text.
#[derive(Debug, Default)]
pub struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    pub fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.0.push((range, text.into()));
    }

    pub fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    /// Removes an item of a list and a comma next to it, or its line if nothing else is on it.
    pub fn remove_item(&mut self, text: &str, item: &Range<usize>) {
        self.replace(with_comma(text, item), "");
    }

    /// Removes a key with its value. Its line goes, unless a comment is on it.
    pub fn remove_entry(&mut self, text: &str, entry: &Range<usize>) {
        let lines = lines(text, entry);
        let rest = &text[entry.end..lines.end];
        let comment = rest.trim_start_matches(BLANK);
        let range = if comment.starts_with('#') {
            entry.start..lines.end - comment.len()
        } else {
            lines
        };
        self.replace(range, "");
    }

    /// The text with all edits.
    pub fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| range.start);
        let (mut result, mut done) = (String::with_capacity(text.len()), 0);
        for (range, new) in self.0 {
            // Two items that are removed may share a comma.
            let start = range.start.max(done);
            result += &text[done..start];
            result += &new;
            done = range.end.max(start);
        }
        result + &text[done..]
    }
}

/// The span of an item with the comma that goes with it.
fn with_comma(text: &str, item: &Range<usize>) -> Range<usize> {
    let (before, after) = (&text[..item.start], &text[item.end..]);
    let before = before.trim_end_matches(BLANK);
    let is_first = before.is_empty() || before.ends_with('\n');
    let after = after.trim_start_matches(BLANK);
    let (end, is_followed) = match after.strip_prefix(',') {
        Some(rest) => (text.len() - rest.len(), true),
        None => (item.end, false),
    };
    let rest = text[end..].trim_start_matches(BLANK);
    let is_last = rest.starts_with(['\n', '\r']) || rest.is_empty();
    if is_first && is_last {
        lines(text, item)
    } else if is_followed && !is_first && (is_last || rest.starts_with(['#', ']', '}'])) {
        before.len()..end
    } else if is_followed {
        item.start..text.len() - rest.len()
    } else if before.ends_with(',') {
        before.len() - 1..end
    } else {
        item.start..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        for [text, expected] in [
            [text.to_owned(), expected.to_owned()],
            [text, expected].map(|it| it.replace('\n', "\r\n")),
        ] {
            let mut edits = Edits::default();
            for (at, item) in text.match_indices('x') {
                edits.remove_item(&text, &(at..at + item.len()));
            }
            assert_eq!(edits.apply(&text), expected);
        }
    }

    #[test]
    fn a_comma_goes_with_its_item() {
        check("[x]", "[]");
        check("[ x, a ]", "[ a ]");
        check("[a, x, b]", "[a, b]");
        check("[a, x]", "[a]");
        check("[a, x,]", "[a,]");
        check("[x, x]", "[]");
    }

    #[test]
    fn a_line_goes_with_its_only_item_and_a_comment_stays() {
        check("[\n  a,\n  x,\n  b,\n]", "[\n  a,\n  b,\n]");
        check("[\n  a,\n  x\n]", "[\n  a,\n]");
        check("[\n  x, # why\n  a,\n]", "[\n  # why\n  a,\n]");
        check("[\n  a, x, # why\n  b\n]", "[\n  a, # why\n  b\n]");
        check("[\n  x, a,\n]", "[\n  a,\n]");
    }
}
