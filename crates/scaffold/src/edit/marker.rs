//! Markers: comments on a separate line, in the language of the file.

use crate::rust::comments::lex;
use crate::rust::is_rust;

/// The full line of the marker `name` in the file at `path`: `// +kbr:scaffold:<name>` in Rust, `# …` elsewhere.
pub fn marker_line(path: &str, name: &str) -> String {
    format!("{} +kbr:scaffold:{name}", sign(path))
}

/// The name in a marker's line, or `None` for any other line. A marker is a comment on a separate line, indented or not.
pub fn marker_name(line: &str) -> Option<&str> {
    let line = line.trim();
    let comment = line.strip_prefix("//").or_else(|| line.strip_prefix('#'))?;
    comment.trim_start().strip_prefix("+kbr:scaffold:")
}

fn sign(path: &str) -> &'static str {
    if is_rust(path) { "//" } else { "#" }
}

/// The lines of the marker, from 0. In Rust, text in strings, block comments and doc comments is not a marker.
pub fn marked(path: &str, text: &str, marker: &str) -> Vec<usize> {
    let lines = (0..).zip(text.lines());
    let is_marker =
        |line: &str| line.trim_start().starts_with(sign(path)) && marker_name(line) == Some(marker);
    let found = lines.filter(|(_, line)| is_marker(line)).map(|(at, _)| at);
    if !is_rust(path) {
        return found.collect();
    }
    match lex(text) {
        Ok(lexed) => {
            let plain = |at: &usize| {
                lexed
                    .comments
                    .iter()
                    .any(|comment| comment.line == at + 1 && !comment.doc)
            };
            found.filter(plain).collect()
        }
        // cargo reports unterminated strings.
        Err(_) => found.collect(),
    }
}

/// For a Rust file without the marker: the line (from 1) of text that looks like it, and why it is not a marker.
pub fn hidden(path: &str, text: &str, marker: &str) -> Option<(usize, &'static str)> {
    let lexed = lex(text).ok().filter(|_| is_rust(path))?;
    let looks = |line: &str| {
        let words = line.trim().trim_start_matches(['/', '!', '*', '#', ' ']);
        let words = words.trim_end_matches(['/', '*', ' ']);
        words.strip_prefix("+kbr:scaffold:") == Some(marker)
    };
    let (at, _) = (1..).zip(text.lines()).find(|(_, line)| looks(line))?;
    let doc = lexed
        .comments
        .iter()
        .any(|comment| comment.line == at && comment.doc);
    let why = if doc {
        "a doc comment, which is documentation"
    } else {
        "a string or a block comment"
    };
    Some((at, why))
}
