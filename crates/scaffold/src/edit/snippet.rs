//! Snippets: a line, or a block with the comments and attributes above it, inserted as one unit.

/// Lines that are inserted together or not at all.
#[derive(Debug, PartialEq, Eq)]
pub struct Snippet<'a> {
    /// Never empty.
    pub lines: Vec<&'a str>,
    key: usize,
}

impl<'a> Snippet<'a> {
    /// The line that identifies the snippet when it is searched for: its only line, or the line that opens the block.
    pub fn key(&self) -> &'a str {
        self.lines[self.key]
    }

    /// The number of lines above [`Snippet::key`].
    pub fn lines_above_key(&self) -> usize {
        self.key
    }

    /// Whether it has several lines.
    pub fn is_block(&self) -> bool {
        self.lines.len() > 1
    }
}

/// Splits `lines`. Comments and attributes directly above a block belong to it; blank lines between snippets are dropped.
pub fn snippets(lines: &str) -> Vec<Snippet<'_>> {
    let lines: Vec<&str> = lines.lines().collect();
    let mut snippets = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let head = lines[at..].iter().take_while(|line| is_head(line)).count();
        let opens = at + head;
        let end = closing(&lines, opens);
        let (first, last) = match end {
            Some(end) => (at, end),
            None => (at, at),
        };
        if !lines[first].trim().is_empty() {
            snippets.push(Snippet {
                lines: lines[first..=last].to_vec(),
                key: if end.is_some() { head } else { 0 },
            });
        }
        at = last + 1;
    }
    snippets
}

/// Whether the line may precede an item: a comment or an attribute.
pub fn is_head(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("//") || line.starts_with("#[")
}

/// The last line of the block that begins at `opens`: the next closing bracket with the same indentation that does not open another
/// block like `) -> Self {`.
pub fn closing(lines: &[&str], opens: usize) -> Option<usize> {
    let first = lines.get(opens)?;
    if !first.trim_end().ends_with(['{', '(']) {
        return None;
    }
    let indent = &first[..first.len() - first.trim_start().len()];
    let closes = |line: &str| {
        let rest = line.strip_prefix(indent);
        rest.is_some_and(|rest| rest.starts_with(['}', ')']))
    };
    let after = opens + 1;
    let end = after + lines[after..].iter().position(|line| closes(line))?;
    if lines[end].trim_end().ends_with(['{', '(']) {
        closing(lines, end)
    } else {
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &str, expected: &[(&str, usize)]) {
        let found = snippets(lines);
        let found: Vec<_> = found
            .iter()
            .map(|snippet| (snippet.key(), snippet.lines.len()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_line_is_a_snippet() {
        check("a\n\nb\n", &[("a", 1), ("b", 1)]);
        check("// a\n# b\n", &[("// a", 1), ("# b", 1)]);
    }

    #[test]
    fn a_block_is_a_snippet_with_the_comments_above_it() {
        check(
            "/// A.\n#[a]\nimpl A {\n    fn a() {\n    }\n\n    x\n}\nb\n",
            &[("impl A {", 8), ("b", 1)],
        );
        check(
            "impl A {\n}\nimpl B {\n}\n",
            &[("impl A {", 2), ("impl B {", 2)],
        );
    }

    #[test]
    fn a_block_may_begin_with_a_list_of_parameters() {
        check(
            "fn a(\n    b: B,\n) -> C {\n    d\n}\ne\n",
            &[("fn a(", 5), ("e", 1)],
        );
    }

    #[test]
    fn an_unclosed_block_is_not_a_block() {
        check("a {\n  b\n", &[("a {", 1), ("  b", 1)]);
    }
}
