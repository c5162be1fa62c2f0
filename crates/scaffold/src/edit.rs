//! Inserts lines at a marker and removes them again: text in, text out.

mod marker;
mod order;
mod remove;
mod scope;
mod snippet;

use marker::marked;
pub use marker::{hidden, marker_line, marker_name};
use order::Item;
pub use remove::{cut, emptied, locate};
pub use snippet::{Snippet, snippets};

/// Inserts `lines` above the marker, with the marker's indentation and line ending. Skips blank lines, and lines that the marker's scope
/// (see [`scope`]) contains with any indentation. Sorts `mod` and `use` lines among those directly above the marker as rustfmt would. A block,
/// which begins on a line that ends with `{` or `(` and ends on the line that closes it, is one snippet: it counts as present if its first line is, and
/// gets a blank line around it.
///
/// # Errors
/// The numbers (from 1) of the marker's lines if there is not exactly one: empty, or two and more.
pub fn insert(path: &str, source: &str, marker: &str, lines: &str) -> Result<String, Vec<usize>> {
    let text = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut out: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let mut at = only_marker(path, text, marker)?;
    let indent: String = out[at]
        .chars()
        .take_while(|c| matches!(c, ' ' | '\t'))
        .collect();
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let full = |line: &str| match line.trim_end() {
        "" => ending.to_owned(),
        line => format!("{indent}{line}{ending}"),
    };

    for snippet in snippets(lines) {
        if scope::has(path, &out, at, snippet.key()) {
            continue;
        }
        let mut new: Vec<String> = snippet.lines.iter().map(|line| full(line)).collect();
        let place = if snippet.is_block() {
            if out[..at].last().is_some_and(|above| is_crowded(above)) {
                new.insert(0, ending.to_owned());
            }
            new.push(ending.to_owned());
            at
        } else {
            place(&out[..at], snippet.key())
        };
        at += new.len();
        out.splice(place..place, new);
    }
    let mark = &source[..source.len() - text.len()];
    Ok(format!("{mark}{}", out.concat()))
}

/// Whether a block directly below this line needs a blank line between.
fn is_crowded(above: &str) -> bool {
    let above = above.trim();
    !(above.is_empty() || above.ends_with('{'))
}

/// The line of the marker, from 1, and whether it is at the margin; `None` unless it occurs exactly once.
pub fn position(path: &str, source: &str, marker: &str) -> Option<(usize, bool)> {
    let text = source.strip_prefix('\u{feff}').unwrap_or(source);
    let at = only_marker(path, text, marker).ok()?;
    let line = text.lines().nth(at)?;
    Some((at + 1, !line.starts_with([' ', '\t'])))
}

/// The name of the TOML table that contains the marker, if it occurs exactly once and in a table.
pub fn table(path: &str, source: &str, marker: &str) -> Option<String> {
    let (_, format) = path.rsplit_once('.')?;
    if format != "toml" {
        return None;
    }
    let at = only_marker(path, source, marker).ok()?;
    let lines: Vec<String> = source.split_inclusive('\n').map(str::to_owned).collect();
    scope::header(&lines, at)
}

fn only_marker(path: &str, text: &str, marker: &str) -> Result<usize, Vec<usize>> {
    let found = marked(path, text, marker);
    match found[..] {
        [at] => Ok(at),
        _ => Err(found.iter().map(|at| at + 1).collect()),
    }
}

/// The index at which to insert `line` among the lines `above` the marker: at the end, or further up if rustfmt would sort it there.
fn place(above: &[String], line: &str) -> usize {
    let mut place = above.len();
    let Some(new) = Item::parse(line) else {
        return place;
    };
    let mut end = above.len();
    while let Some((start, item)) = last_item(&above[..end]) {
        match item.partial_cmp(&new) {
            Some(order) if order.is_gt() => place = start,
            Some(_) => {}
            None => break,
        }
        end = start;
    }
    place
}

/// The `mod` or `use` item that ends on the last of `lines`, and the index of its first line, including attributes and doc comments.
fn last_item(lines: &[String]) -> Option<(usize, Item)> {
    let mut start = lines.len().checked_sub(1)?;
    if lines[start].trim() == "};" {
        start = lines[..start]
            .iter()
            .rposition(|line| line.trim_end().ends_with('{'))?;
    }
    let item = Item::parse(&lines[start..].concat())?;
    let attributes = lines[..start]
        .iter()
        .rev()
        .take_while(|line| is_attribute(line))
        .count();
    Some((start - attributes, item))
}

fn is_attribute(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("#[") || line.starts_with("///")
}

#[cfg(test)]
mod tests;
